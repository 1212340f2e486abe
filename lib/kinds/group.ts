import { createHash } from 'node:crypto';
import { ConfigError } from '../errors';
import type { ScriptArg } from '../scripts/Script';
import { describe } from '../util/describe';
import { highwayHash128 } from '../util/highwayHash';
import type { WakeRule } from '../waiters/WaitQueue';
import type { GroupValues, Ownership } from '../watchdog/Ownership';
import {
  acquireValues,
  areValuesLocked,
  countValues,
  findValues,
  forceReleaseValues,
  releaseValues,
  renewValues,
} from './groupScripts';
import { lockDescriptor } from './Kind';
import { LOCK } from './reentrant';

/**
 * `0` = some value is free; the message does not say which. All waiters may try, since they wait for different values.
 */
const groupWakeRule: WakeRule = (message) => (message === '0' || message === '1' ? 'all' : 'none');

/** Half of a surrogate pair: UTF-8 cannot encode it, so different values would get the same hash. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The values that a group lock covers.
 *
 * @param values - as given by the user; a value given twice counts once, and the order does not matter
 * @throws ConfigError unless it is a non-empty list of strings without lone surrogates
 */
export function groupValues(values: readonly string[]): GroupValues {
  const given: unknown = values;
  if (!Array.isArray(given) || given.length === 0) {
    throw new ConfigError(`A lock of a group needs a list of at least one value, not ${describe(given)}`);
  }
  for (const value of given as unknown[]) {
    if (typeof value === 'string' && !LONE_SURROGATE.test(value)) continue;
    throw new ConfigError(
      `The values of a group must be strings of well-formed Unicode, not ${describe(value)}: turn them into text, ` +
        'the same in all clients',
    );
  }
  // The values are sorted and not their fields: often they are sorted already.
  const fields = [...new Set(values)].sort().map(fieldOf);
  return Object.freeze({ fields: Object.freeze(fields), key: keyOf(fields) });
}

/** The field of a value in the hash: its encoding by Redisson's StringCodec, hashed, in base64 without padding. */
function fieldOf(value: string): string {
  return highwayHash128(Buffer.from(value)).toString('base64').slice(0, 22);
}

/** The field of one value; a hash of the fields of several. */
function keyOf(fields: readonly string[]): string {
  return fields.length === 1 ? fields[0]! : createHash('sha256').update(fields.join(' ')).digest('base64');
}

/**
 * The values of an ownership as script arguments: for each portion the numbers, its length and its values.
 * @param numbers - of values that these other ownerships cover, too
 */
function portions(
  ownership: Ownership,
  numbers: (others: readonly Ownership[]) => readonly number[],
): readonly ScriptArg[] {
  const args: ScriptArg[] = [];
  for (const { others, fields } of ownership.owned!.portionsOf(ownership)) {
    args.push(...numbers(others), fields.length);
    for (const field of fields) args.push(field);
  }
  return args;
}

/**
 * The lock of several values of one group (Redisson: RedissonFasterMultiLock), all of them by one script. Its data is
 * described in `groupScripts.ts`.
 *
 * Each waiter attempts for itself, since they may wait for different values. There is no hand-over: a waiter may need
 * only some of the released values, or others as well.
 */
export const GROUP = lockDescriptor({
  name: 'group',
  noun: 'group lock',
  report: 'group',
  data: 'values',
  keysOf: LOCK.keysOf,
  channelOf: LOCK.channelOf,
  waitOrder: 'shared',
  wakeRule: groupWakeRule,
  renewal: 'group',
  acquire: acquireValues,
  release: releaseValues,
  forceRelease: forceReleaseValues,
  isLocked: areValuesLocked,
  holdCount: countValues,
  find: findValues,
  renew: renewValues,
  portions: {
    toAcquire: ({ ownership, count }) =>
      portions(ownership, (others) => [others.reduce((sum, { holds }) => sum + holds.length, count)]),
    toRelease: ({ ownership, left, remainingMs }) =>
      portions(ownership, (others) => {
        const all = [{ left, remainingMs }, ...others.map((other) => other.remainder())];
        return [all.reduce((sum, one) => sum + one.left, 0), Math.max(...all.map((one) => one.remainingMs))];
      }),
  },
  commands: [],
});
