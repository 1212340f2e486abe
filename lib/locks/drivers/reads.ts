import type { CommandExecutor } from '../../connection/CommandExecutor';
import { lockTimeToLive } from '../../scripts/lock';

/** The observers every lock has in common: reads of the lock's hash. Each is one command. */

/** HLEN: whether anybody holds it. EXISTS, as Redisson asks, would take a key of another type for a lock. */
export async function isHeld(executor: CommandExecutor, rawName: string, name: string): Promise<boolean> {
  return Number(await executor.call('hlen', [rawName], { what: 'look at lock', name })) > 0;
}

/** HGET: the holds of an owner, 0 for none. */
export async function holds(executor: CommandExecutor, rawName: string, owner: string, name: string): Promise<number> {
  const count = await executor.call('hget', [rawName, owner], { what: 'look at lock', name });
  return count === null ? 0 : Number(count);
}

/** PTTL of a lock, as {@link lockTimeToLive} reads it: -2 = no such key, -1 = without expiry. */
export function timeToLive(executor: CommandExecutor, rawName: string, name: string): Promise<number> {
  return executor.run(lockTimeToLive, { name: rawName }, {}, { what: 'look at lock', name });
}
