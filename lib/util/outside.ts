import { AsyncResource } from 'node:async_hooks';

/**
 * The async context in which this module was loaded: no request, no span, no thread. Work that a client does for no
 * caller runs in it. A timer or a socket otherwise keeps the context of the caller that happened to make it, for as
 * long as it lives.
 */
export const OUTSIDE: Context = new AsyncResource('ioredisson');

/** An async context to come back to. */
export type Context = AsyncResource;

/** The context of the caller: spans, `AsyncLocalStorage`, thread scopes. */
export function callerContext(): Context {
  return new AsyncResource('ioredisson');
}

/** Runs `fn` outside any caller's context: what it starts and sends belongs to no caller. */
export function runOutside<T>(fn: () => T): T {
  return OUTSIDE.runInAsyncScope(fn);
}
