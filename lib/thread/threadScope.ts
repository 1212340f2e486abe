import { AsyncLocalStorage } from 'node:async_hooks';

/** Automatic thread ids start here, above every id a caller may give (Redisson: the Java thread id). */
export const FIRST_AUTOMATIC_THREAD_ID = 2 ** 32;

/** One storage for all clients of the process: a logical thread is the same thread for every client, as in Java. */
const storage = new AsyncLocalStorage<number | undefined>();
// The first one is left out, so that the smallest id that is too large for a caller is always refused.
let nextId = FIRST_AUTOMATIC_THREAD_ID + 1;

/** A thread id nobody has had in this process. */
export function newThreadId(): number {
  return nextId++;
}

/** Whether the id is one of {@link newThreadId}: callers may pass on what a hold told them. */
export function isAutomaticThreadId(threadId: number): boolean {
  return threadId > FIRST_AUTOMATIC_THREAD_ID && threadId < nextId;
}

/** The id of the running thread scope, or `undefined` outside one. */
export function currentThreadId(): number | undefined {
  return storage.getStore();
}

/** Runs `fn` as the given logical thread; the scope follows `await`, timers and callbacks started in it. */
export function runAsThread<T>(threadId: number, fn: () => T): T {
  return storage.run(threadId, fn);
}
