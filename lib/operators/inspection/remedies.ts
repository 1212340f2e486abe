import type { RedissonClient } from '../../api';
import { UnsupportedOperationError } from '../../errors';
import { hasNumber, hasPermits } from './describe';
import type { ObjectReport } from './reports';

/**
 * What an operator can do when permits do not come back, or a latch is no longer counted down. Holders are not asked.
 */
export type Remedy =
  | { readonly action: 'addPermits'; readonly permits: number }
  /** @param id - of the permit, 32 hex characters */
  | { readonly action: 'releasePermit'; readonly id: string }
  | { readonly action: 'openLatch' };

/** What an operator can do by force: take a lock from its holders, give permits back, or open a latch. */
export type ForcedAction = 'forceUnlock' | Remedy['action'];

/** What can be done by force about an object of this kind, whatever its state. */
export function forcedActionsOf(kind: ObjectReport['kind']): readonly ForcedAction[] {
  // Without waiters or permits a semaphore and a latch look like any number. A semaphore may have never been set.
  if (kind === 'number') return ['addPermits', 'openLatch'];
  if (kind === 'none') return ['addPermits'];
  if (kind === 'other') return [];
  if (!hasNumber(kind)) return ['forceUnlock'];
  if (!hasPermits(kind)) return ['openLatch'];
  return kind === 'permitExpirableSemaphore' ? ['addPermits', 'releasePermit'] : ['addPermits'];
}

/**
 * Gives permits back, or opens a latch, for whoever should have done it. Waiters are woken as by any client.
 *
 * @param redisson - it sends the command
 * @param report - of the object
 * @returns whether it changed anything: a latch may be open
 * @throws UnsupportedOperationError if objects of that kind do not have it
 * @throws PermitNotFoundError if there is no such permit
 * @throws ConnectionError, CommandTimeoutError if Redis does not reply: it may have been done. Look before you repeat
 *   it
 */
export async function applyRemedy(
  redisson: Pick<RedissonClient, 'getSemaphore' | 'getPermitExpirableSemaphore' | 'getCountDownLatch'>,
  { name, kind }: Pick<ObjectReport, 'name' | 'kind'>,
  remedy: Remedy,
): Promise<boolean> {
  if (!forcedActionsOf(kind).includes(remedy.action)) throw new UnsupportedOperationError(kind, remedy.action);
  switch (remedy.action) {
    case 'addPermits': {
      const isLeased = kind === 'permitExpirableSemaphore';
      const semaphore = isLeased ? redisson.getPermitExpirableSemaphore(name) : redisson.getSemaphore(name);
      await semaphore.addPermits(remedy.permits);
      return true;
    }
    case 'releasePermit':
      await redisson.getPermitExpirableSemaphore(name).release(remedy.id);
      return true;
    case 'openLatch':
      return redisson.getCountDownLatch(name).delete();
  }
}
