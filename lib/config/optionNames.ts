import { ConfigError } from '../errors';
import { describe, nearest, suggestion } from '../util/describe';
import { checkUnit } from '../util/duration';

/** The options of an operation of a lock or a synchronizer: see `ThreadOptions`. */
export const THREAD_OPTIONS: ReadonlySet<string> = new Set(['threadId', 'signal']);

/** The options of `acquire`, `tryAcquireHold` and `withLock`: see `AcquireOptions`. */
export const ACQUIRE_OPTIONS: ReadonlySet<string> = new Set([
  ...THREAD_OPTIONS,
  'waitTime',
  'leaseTime',
  'unit',
  'maxRenewTimes',
  'watchdogThread',
]);

/** The options of `withLock`, `tryWithLock` and `runOnce`: see `RunOptions`. */
export const RUN_OPTIONS: ReadonlySet<string> = new Set([...ACQUIRE_OPTIONS, 'atLeast']);

/** The options of `withPermits`: see `PermitRunOptions`. */
export const PERMIT_RUN_OPTIONS: ReadonlySet<string> = new Set([...THREAD_OPTIONS, 'waitTime', 'unit']);

/** The options of `acquireHold` of a semaphore: see `PermitHoldOptions`. */
export const PERMIT_HOLD_OPTIONS: ReadonlySet<string> = new Set([...PERMIT_RUN_OPTIONS, 'permits', 'leaseTime']);

/** The options of `detach` and `attach`. */
export const LEASE_OPTIONS: ReadonlySet<string> = new Set(['leaseTime', 'unit']);

/** The options of `getSemaphore` and `getPermitExpirableSemaphore`: see `PermitsOptions`. */
export const PERMITS_OPTIONS: ReadonlySet<string> = new Set(['permits']);

/** The options of `ping`: see `PingOptions`. */
export const PING_OPTIONS: ReadonlySet<string> = new Set(['timeout', 'signal']);

/** The options of `shutdown`. */
export const SHUTDOWN_OPTIONS: ReadonlySet<string> = new Set(['drain']);

/** The options of an inspector's `forceUnlock`. */
export const FORCE_UNLOCK_OPTIONS: ReadonlySet<string> = new Set(['holders']);

/** The options of an inspector. */
export const INSPECTOR_OPTIONS: ReadonlySet<string> = new Set(['expectedWaits']);

/** The options of an inspector's `watch`. */
export const WATCH_OPTIONS: ReadonlySet<string> = new Set(['interval']);

/**
 * Refuses a misspelt option. If it were ignored, a call could for example acquire without the intended `leaseTime`.
 * So it refuses a list, a Map or an Error, which have no options at all. It also refuses a wrong `unit`, which would
 * not be read where no time is given.
 *
 * @param options - the options of the caller
 * @param known - the known names
 * @throws ConfigError for any other name; it suggests what was probably meant
 * @throws TypeError when `unit` is not a `TimeUnit`
 */
export function checkOptionNames(options: object, known: ReadonlySet<string>): void {
  if (Object.prototype.toString.call(options) !== '[object Object]') {
    throw new ConfigError(`options must be an object with ${[...known].join(', ')}, got ${describe(options)}`);
  }
  // Inherited names are read as well. This is faster than a list of the names.
  for (const name in options) {
    if (!known.has(name)) throw unknownOption(name, known);
    if (name === 'unit') checkUnit((options as { readonly unit?: unknown }).unit, 'the options');
  }
}

function unknownOption(name: string, known: ReadonlySet<string>): ConfigError {
  const names = [...known];
  const meant = nearest(name, ACQUIRE_OPTIONS);
  if (known === THREAD_OPTIONS && meant !== undefined && !known.has(meant)) {
    const why = `here times are arguments before the options, which are ${names.join(' and ')}`;
    return new ConfigError(`Unknown option '${name}': ${why}`);
  }
  return new ConfigError(`Unknown option '${name}'${suggestion(name, names, `; there is ${names.join(', ')}`)}`);
}
