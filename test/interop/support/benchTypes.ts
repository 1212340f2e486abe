import type { Path } from './paths';

/** See `java/…/Bench.java`, which describes the four kinds. */
export type BenchKind = keyof BenchParameters;

interface OnLock {
  /** The lock; `%d` in its name becomes the number of the thread. */
  readonly object: Path;
}

/** What each kind takes. */
export interface BenchParameters {
  sequential: OnLock & { readonly n: number; readonly warmup?: number };
  hot: OnLock & {
    readonly threads: number;
    readonly durationMs: number;
    /** How long each stays inside. Default 0. */
    readonly insideMs?: number;
    /** Epoch ms: processes that start together. Default now. */
    readonly startAt?: number;
    /** Proves over another client's connections that each is alone inside. */
    readonly check?: { readonly client: string; readonly counter: string; readonly holder: string };
  };
  wakeup: OnLock & {
    readonly rounds: number;
    readonly warmup?: number;
    readonly settleMs?: number;
    /** The client of the waiter. Default: the holder's own. */
    readonly waiterClient?: string;
  };
  drain: OnLock & { readonly waiters: number; readonly rounds?: number; readonly settleMs?: number };
}

/** What each kind gives. Times are milliseconds. */
export interface BenchResults {
  sequential: { readonly n: number; readonly elapsedMs: number; readonly perSecond: number };
  hot: {
    readonly threads: number;
    readonly elapsedMs: number;
    /** From the deadline until the last waiter had passed. */
    readonly drainMs: number;
    /** Of each thread, before the deadline. */
    readonly acquisitions: readonly number[];
    /** Of all threads, after it. */
    readonly late: number;
    readonly longestWaitMs: readonly number[];
    readonly totalWaitMs: number;
    readonly violations: number;
    readonly error: string | null;
  };
  wakeup: {
    readonly n: number;
    readonly p50: number;
    readonly p90: number;
    readonly p99: number;
    readonly max: number;
  };
  drain: { readonly waiters: number; readonly roundsMs: readonly number[] };
}
