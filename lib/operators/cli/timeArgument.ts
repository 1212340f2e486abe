import { InvalidArgumentError } from 'commander';
import { TimeUnit } from '../../index';

const UNITS: ReadonlyMap<string, TimeUnit> = new Map([
  // As flock(1) and sleep(1) have it.
  ['', TimeUnit.SECONDS],
  ['ms', TimeUnit.MILLISECONDS],
  ['s', TimeUnit.SECONDS],
  ['m', TimeUnit.MINUTES],
  ['h', TimeUnit.HOURS],
  ['d', TimeUnit.DAYS],
]);

/**
 * Reads a time of the command line: `500ms`, `10s`, `1.5s`, `2m`, `1h`, `1d`, or `10`, which is seconds.
 *
 * @returns whole milliseconds
 * @throws InvalidArgumentError (commander's) for anything else
 */
export function timeArgument(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)([a-z]*)$/.exec(text) ?? [];
  if (number === undefined || unit === undefined) throw new InvalidArgumentError(`'${text}' is no time like 10s.`);
  const known = UNITS.get(unit);
  if (known === undefined) {
    throw new InvalidArgumentError(
      `The units are ${[...UNITS.keys()].filter(Boolean).join(', ')}; without one: seconds.`,
    );
  }
  const ms = Math.ceil(known.toMillis(Number(number)));
  if (ms > Number.MAX_SAFE_INTEGER) throw new InvalidArgumentError(`'${text}' is too long.`);
  return ms;
}

/** As {@link timeArgument}, but not 0. */
export function positiveTimeArgument(text: string): number {
  const ms = timeArgument(text);
  if (ms === 0) throw new InvalidArgumentError('It must be longer than 0.');
  return ms;
}

/** An exit code, 0 to 255. @throws InvalidArgumentError for anything else */
export function exitCodeArgument(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 255) throw new InvalidArgumentError('It must be 0 to 255.');
  return Number(text);
}

/** A port, 0 to 65535. @throws InvalidArgumentError for anything else */
export function portArgument(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('It must be 0 to 65535.');
  return Number(text);
}

/** A number from 1 on. @throws InvalidArgumentError for anything else */
export function countArgument(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 on.');
  return Number(text);
}
