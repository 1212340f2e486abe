import type { CommandExecutor } from '../connection/CommandExecutor';
import { ConfigError } from '../errors';

/**
 * Refuses a name that cannot work on a cluster, before anything is sent. Redisson puts a name without `{` in braces and
 * leaves any other as it is, so a name whose own braces are no hash tag gets its keys on different slots. Without a
 * cluster every name works.
 *
 * @param name - as given by the user
 * @param keys - every key and channel of the object
 * @throws ConfigError when they are not on one slot
 */
export function checkSlots(executor: CommandExecutor, name: string, keys: readonly string[]): void {
  const [slot, ...others] = keys.map((key) => executor.slotOf(key));
  if (others.every((other) => other === slot)) return;
  throw new ConfigError(
    `The name '${name}' cannot be used on a cluster: its keys (${keys.join(', ')}) belong to different slots. ` +
      'Use a name without braces, or with one balanced, non-empty pair.',
  );
}
