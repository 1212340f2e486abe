/**
 * What one attempt to acquire came to: the value, or how long to sleep unless woken before.
 * `retryInMs` is `Infinity` where time alone changes nothing.
 */
export type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly retryInMs: number };
