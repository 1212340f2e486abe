import type { RedissonClient, RLock } from '../api';
import { ALL_KINDS, KINDS } from '../kinds/allKinds';

/** An object as the inspector reports it. */
interface Reported {
  readonly name: string;
  readonly kind: string;
  readonly mode?: 'read' | 'write' | undefined;
}

/**
 * The lock that releases an object by force, and wakes those who wait for it.
 *
 * @returns `undefined` for what has no owner to take it from
 */
export function lockToRelease(client: RedissonClient, { name, kind, mode = 'write' }: Reported): RLock | undefined {
  const [first, ...others] = ALL_KINDS.filter(({ report }) => report === kind);
  if (kind === 'other' || kind === 'number' || first?.data === 'number') return undefined;
  const half = [first, ...others].find((one) => one?.data !== 'mode' || one.name === mode);
  // The plain lock deletes the key of a group and calls the same channel, which frees all values.
  return (half?.lockOf ?? KINDS.lock.lockOf)(client, name);
}
