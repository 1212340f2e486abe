import { setTimeout as sleep } from 'node:timers/promises';
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
