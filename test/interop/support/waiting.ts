import { setTimeout as sleep } from 'node:timers/promises';
import { sleepUntil } from '../../support/sleepUntil';
import type { LockKind } from './kinds';
import type { PeerThread } from './PeerThread';
import type { Probe } from './Probe';

/** The outcome of a call and its times, epoch ms. */
export interface Timed<T> {
  readonly result: T;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** A call that waits. Not a promise itself, so that `await startWaiting()` does not wait for its end. */
export interface Waiting<T> {
  readonly done: Promise<Timed<T>>;
}

/**
 * A wake-up is a message, not the end of a lease: far below the leases of the tests that bound it, far above the
 * pauses of a busy machine.
 */
export const WOKEN_MS = 3000;

/**
 * A watchdog time-out for suites: short, so that renewals are soon seen, and long enough for a machine that stands
 * still for two seconds just before one.
 */
export const WATCHDOG_MS = 4500;

/** A watchdog renews every third of its time-out. */
export const RENEWAL_MS = WATCHDOG_MS / 3;

/**
 * Resolves once the remaining time to live has risen that often; rejects as soon as the lease has ended.
 *
 * @param remaining - gives it, in ms
 */
export async function untilRenewed(remaining: () => Promise<number>, times = 2): Promise<void> {
  let last = Infinity;
  let renewals = 0;
  const seen = async (): Promise<boolean> => {
    const now = await remaining();
    if (now < 0) throw new Error(`the lease ended after ${renewals} renewals`);
    if (now > last) renewals++;
    last = now;
    return renewals >= times;
  };
  await sleepUntil(seen, { timeout: 20_000, interval: 50, message: () => `only ${renewals} renewals` });
}

/** Starts a waiting call and resolves once a message can wake it. */
export async function startWaiting<T = unknown>(
  probe: Probe,
  kind: LockKind,
  name: string,
  thread: PeerThread,
  method = 'lock',
  ...args: readonly unknown[]
): Promise<Waiting<T>> {
  // First, because a waiting thread answers no other question.
  const channel = await kind.channel(name, thread);
  const before = channel === undefined ? 0 : await probe.subscribers(channel);
  const done = thread.timed<T>(kind.path(name), method, ...args);
  done.catch(() => undefined);
  // A spin lock cannot be seen waiting; soon it will be.
  await (channel === undefined ? sleep(100) : probe.untilSubscribed(channel, before + 1));
  return { done };
}
