import { newCallToken } from '../connection/CommandExecutor';
import { confirmedUntil, type Grip } from '../renewal/Hold';
import type { LockEngine } from './LockEngine';

/**
 * Gives a grip another lease, counted from now, whatever it had.
 * @param leaseMs - in ms
 * @returns whether it is still held
 * @throws errors of the connection; the lease is then in doubt, and nobody believes in more than it
 */
export async function setLease(lock: LockEngine, threadId: number, grip: Grip, leaseMs: number): Promise<boolean> {
  const { driver, name, rawName } = lock;
  const { holds } = lock.context;
  let hold = lock.holdOf(threadId);
  while (hold?.acquiring === true && hold.grips.includes(grip)) {
    await hold.whenIdle();
    hold = lock.holdOf(threadId);
  }
  if (hold?.grips.includes(grip) !== true) return false;
  const sentAt = performance.now();
  // Before anything is sent: a renewal behind it would undo it.
  holds.relet(hold, grip, leaseMs, confirmedUntil(sentAt, leaseMs));
  const remainingMs = Math.max(leaseMs, hold.remainingMs(sentAt));
  const left = hold.grips.length;
  const { owner } = hold;
  // A release that leaves everything; as any other, it must not be repeated behind an acquisition.
  hold.beginRelease();
  try {
    const reply = await driver.release({ name, rawName, threadId, owner, left, remainingMs, token: newCallToken() });
    if (reply.kind === 'notHeld') holds.lose(hold, 'it was gone when its lease was set (expired or deleted)');
    else holds.confirm(hold, Math.min(hold.leaseEnd, confirmedUntil(sentAt, remainingMs)));
  } finally {
    hold.endRelease();
    holds.tidy(hold);
  }
  return hold.grips.includes(grip);
}
