import { ConfigError } from '../errors';
import { nearest } from '../util/describe';

/** The options of an operation of a lock or a synchronizer: see `ThreadOptions`. */
export const THREAD_OPTIONS: ReadonlySet<string> = new Set(['threadId', 'signal']);

/** The options of `acquire`, `tryAcquireHold` and `withLock`: see `AcquireOptions`. */
export const ACQUIRE_OPTIONS: ReadonlySet<string> = new Set([
  ...THREAD_OPTIONS,
  'waitTime',
  'leaseTime',
  'unit',
  'maxRenewTimes',
]);

/** The options of `shutdown`. */
export const SHUTDOWN_OPTIONS: ReadonlySet<string> = new Set(['drain']);

/**
 * Refuses a misspelt option: without its `leaseTime` a call would take another lock than the one that was meant.
 *
 * @param options - what the caller gave
 * @param known - the names there are
 * @throws ConfigError for any other name, with the nearest one there is
 */
export function checkOptionNames(options: object, known: ReadonlySet<string>): void {
  // Inherited ones are read as well. Faster than a list of the names.
  for (const name in options) if (!known.has(name)) throw unknownOption(name, known);
}

function unknownOption(name: string, known: ReadonlySet<string>): ConfigError {
  if (known === THREAD_OPTIONS && ACQUIRE_OPTIONS.has(name)) {
    const why = `here times are arguments before the options, which are ${[...known].join(' and ')}`;
    return new ConfigError(`Unknown option '${name}': ${why}`);
  }
  return new ConfigError(`Unknown option '${name}'; did you mean '${nearest(name, known)}'?`);
}
