import { InvalidArgumentError } from 'commander';
import { TimeUnit } from '../index';

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

/**
 * A time as people read it, and as the page and the verdicts have it: `0.9 s`, `9.4 s`, `29 s`, `4 m 10 s`, `2 h 5 m`,
 * `3 d 4 h`.
 *
 * @param ms - not negative
 */
export function readableTime(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} m ${whole % 60} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 2_880) return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
  return `${Math.floor(minutes / 1_440)} d ${Math.floor((minutes % 1_440) / 60)} h`;
}
