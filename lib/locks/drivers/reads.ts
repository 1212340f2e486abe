import type { CommandExecutor } from '../../connection/CommandExecutor';

/** The observers every lock has in common: reads of the lock's hash. Each is one command. */

/** EXISTS: whether anybody holds it. */
export async function exists(executor: CommandExecutor, rawName: string, name: string): Promise<boolean> {
  return (await executor.call('exists', [rawName], { what: 'look at lock', name })) === 1;
}

/** HGET: the holds of an owner, 0 for none. */
export async function holds(executor: CommandExecutor, rawName: string, owner: string, name: string): Promise<number> {
  const count = await executor.call('hget', [rawName, owner], { what: 'look at lock', name });
  return count === null ? 0 : Number(count);
}

/** PTTL: -2 = no such key, -1 = without expiry. */
export async function timeToLive(executor: CommandExecutor, rawName: string, name: string): Promise<number> {
  return Number(await executor.call('pttl', [rawName], { what: 'look at lock', name }));
}
