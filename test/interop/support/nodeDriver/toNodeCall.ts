import { TimeUnit } from '../../../../lib';
import type { Step } from '../paths';

/** A method of this package with its arguments. */
export type NodeCall = readonly [method: string, args: readonly unknown[]];

interface Options {
  readonly signal: AbortSignal;
}

type Translate = (args: readonly unknown[], options: Options) => NodeCall | undefined;

const NO_LEASE = -1;
const isUnit = (value: unknown): boolean => value instanceof TimeUnit;

/** `lock()` and `lock(lease, unit)`; the options of this package come last. */
const lock =
  (method: string): Translate =>
  ([lease = NO_LEASE, unit], options) => [method, [lease, unit, options]];

/** `tryLock()`, `tryLock(wait, unit)`, `tryLock(wait, lease, unit)`. */
const tryLock =
  (method: string): Translate =>
  (args, options) => {
    if (args.length === 0) return [method, [options]];
    const [wait, lease, unit] = isUnit(args[1]) ? [args[0], NO_LEASE, args[1]] : args;
    return [method, [wait, lease, unit, options]];
  };

const LOCK: Readonly<Record<string, Translate>> = {
  lock: lock('lock'),
  lockInterruptibly: lock('lockInterruptibly'),
  lockAndGetToken: lock('lockAndGetToken'),
  tryLock: tryLock('tryLock'),
  tryLockAndGetToken: tryLock('tryLockAndGetToken'),
};

const SEMAPHORE: Readonly<Record<string, Translate>> = {
  acquire: ([permits = 1], options) => ['acquire', [permits, options]],
  // (), (n), (wait, unit), (n, wait, unit)
  tryAcquire: (args, options) => {
    if (args.length < 2) return ['tryAcquire', args];
    const [permits, wait, unit] = isUnit(args[1]) ? [1, ...args] : args;
    return ['tryAcquire', [permits, wait, unit, options]];
  },
};

/** Java overloads by the number of permits and by lists; here those are methods of their own. */
const PERMITS: Readonly<Record<string, Translate>> = {
  // (), (n), (lease, unit), (n, lease, unit)
  acquire: (args, options) => {
    if (args.length === 0) return ['acquire', [NO_LEASE, undefined, options]];
    if (isUnit(args[1])) return ['acquire', [...args, options]];
    const [permits, lease = NO_LEASE, unit] = args;
    return ['acquireMany', [permits, lease, unit, options]];
  },
  // (), (n), (wait, unit), (wait, lease, unit), (n, wait, lease, unit)
  tryAcquire: (args, options) => {
    if (args.length === 0) return ['tryAcquire', []];
    if (args.length === 1) return ['tryAcquireMany', args];
    if (isUnit(args[1])) return ['tryAcquire', [args[0], NO_LEASE, args[1], options]];
    return [isUnit(args[2]) ? 'tryAcquire' : 'tryAcquireMany', [...args, options]];
  },
  release: (args) => [Array.isArray(args[0]) ? 'releaseMany' : 'release', args],
  tryRelease: (args) => [Array.isArray(args[0]) ? 'tryReleaseMany' : 'tryRelease', args],
};

const LATCH: Readonly<Record<string, Translate>> = {
  await: ([timeout, unit], options) => ['await', [timeout, unit, options]],
};

/** The call of this package that is Java's `method(...args)` on the object the step gives. */
export function toNodeCall(step: Step, method: string, args: readonly unknown[], options: Options): NodeCall {
  const values = args.map(toNodeValue);
  return tableFor(step[0])[method]?.(values, options) ?? [method, values];
}

function tableFor(factory: string): Readonly<Record<string, Translate>> {
  switch (factory) {
    case 'getSemaphore':
      return SEMAPHORE;
    case 'getPermitExpirableSemaphore':
      return PERMITS;
    case 'getCountDownLatch':
      return LATCH;
    default:
      return LOCK;
  }
}

function toNodeValue(value: unknown): unknown {
  if (typeof value === 'string' && value in TimeUnit) return TimeUnit[value as keyof typeof TimeUnit];
  if (typeof value === 'object' && value !== null && 'durationMs' in value) return value.durationMs;
  return value;
}
