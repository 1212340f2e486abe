import type { CommandExecutor } from '../../connection/pending/CommandExecutor';
import { ConfigError } from '../../errors';
import { PUBLISH_COMMAND, type ScriptArg, SEND_TIME } from '../../scripts/Script';
import { describe } from '../../util/describe';
import { highwayHash128 } from '../../util/highwayHash';
import { remembered } from '../../util/names';
import type { Search } from '../../wait/Rollback';
import type { WakeRule } from '../../waiters/WaitQueue';
import { holdsOfValue, sharesValue, valueRemainingMs } from '../../watchdog/groupValues';
import type { GroupValues, Hold, Renewable, Renewal, Renewed } from '../../watchdog/Ownership';
import {
  acquireValues,
  areValuesLocked,
  countValues,
  findValues,
  forceReleaseValues,
  releaseValues,
  renewValues,
} from './groupScripts';
import type { LockKind } from './LockKind';
import { commonKind, UNLOCK_MESSAGE } from './reentrant';

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
  const fields = [...new Set(values)].map(fieldOf).sort();
  return Object.freeze({ fields: Object.freeze(fields), key: fields.join(' ') });
}

/**
 * The field of a value in the hash: its encoding by Redisson's StringCodec, hashed, in base64 without padding. The hash
 * takes longer than all else that is done for a value here.
 */
const fieldOf = remembered((value) => highwayHash128(Buffer.from(value)).toString('base64').replace(/=+$/, ''));

/**
 * The lock of several values of one group (Redisson: RedissonFasterMultiLock), all of them by one script. Its data is
 * described in `groupScripts.ts`.
 *
 * Each waiter attempts for itself, since they may wait for different values. There is no hand-over: a waiter may need
 * only some of the released values, or others as well.
 *
 * @param renewal - `groupRenewal`, one for all group locks of the client
 */
export function groupKind(
  executor: CommandExecutor,
  clientId: string,
  renewal: Renewal,
  values: GroupValues,
): LockKind {
  const { fields } = values;
  const common = commonKind(executor, clientId, renewal);
  return {
    ...common,
    name: 'group',
    values,
    waitOrder: 'shared',
    wakeRule: groupWakeRule,
    search: valueSearch(executor, fields),
    attempt: ({ rawName, owner, leaseMs, holds, name, sendRecord }) =>
      executor.run(
        acquireValues,
        { name: rawName },
        { lease: leaseMs, now: SEND_TIME, owner },
        {
          what: 'acquire group lock',
          name,
          sendRecord,
          moreArgs: fields.flatMap((field) => [field, holdsOfValue(holds, field) + 1]),
        },
      ),
    release: ({ rawName, owner, holds, left, name, sendRecord }) => {
      const now = performance.now();
      const leave = (field: string): ScriptArg[] =>
        holds.length === 0
          ? [field, left, 0]
          : [field, holdsOfValue(holds, field), valueRemainingMs(holds, field, now)];
      return executor.run(
        releaseValues,
        { name: rawName, channel: common.channelOf(rawName, owner) },
        { message: UNLOCK_MESSAGE, now: SEND_TIME, owner, publish: PUBLISH_COMMAND },
        { what: 'release group lock', name, sendRecord, moreArgs: fields.flatMap(leave) },
      );
    },
    forceRelease: (rawName, name) =>
      executor.run(
        forceReleaseValues,
        { name: rawName, channel: common.channelOf(rawName, '') },
        { message: UNLOCK_MESSAGE, now: SEND_TIME, publish: PUBLISH_COMMAND },
        { what: 'force the release of group lock', name, moreArgs: fields },
      ),
    isLocked: (rawName, name) =>
      executor.run(
        areValuesLocked,
        { name: rawName },
        { now: SEND_TIME },
        { what: 'look at group lock', name, moreArgs: fields },
      ),
    holdCount: (rawName, owner, name) =>
      executor.run(
        countValues,
        { name: rawName },
        { now: SEND_TIME, owner },
        { what: 'look at group lock', name, moreArgs: fields },
      ),
  };
}

/** Looks for values that Redis has for an owner although no caller owns them. */
function valueSearch(executor: CommandExecutor, fields: readonly string[]): Search {
  return {
    batchOf: (key) => executor.slotOf(key),
    find: (places) =>
      executor.run(
        findValues,
        {},
        {},
        {
          what: 'look for group locks',
          moreKeys: places.map(({ key }) => key),
          moreArgs: [...places.map(({ member }) => member), ...fields],
        },
      ),
  };
}

/**
 * Renews the holds of group locks without a lease: all sets of values of each owner (Redisson renews only the first
 * set).
 */
export function groupRenewal(executor: CommandExecutor): Renewal {
  return {
    async renew(batch, leaseMs) {
      const fields = batch.map(({ holds }) => fieldsToRenew(holds, leaseMs === 0));
      const alive = await executor.run(
        renewValues,
        {},
        { lease: leaseMs, now: SEND_TIME },
        {
          what: 'renew group locks',
          moreKeys: batch.map(({ rawName }) => rawName),
          moreArgs: batch.flatMap(({ owner }, i) => [owner, fields[i]!.length, ...fields[i]!]),
        },
      );
      let at = 0;
      return batch.map((one, i) => {
        const gone = fields[i]!.filter(() => alive[at++] !== true);
        return gone.length === 0 ? true : lostHolds(one, gone);
      });
    },
    batchOf: (one) => executor.slotOf(one.rawName),
  };
}

/** @param all - a check: those with a lease, too */
function fieldsToRenew(holds: readonly Hold[], all: boolean): string[] {
  const fields = new Set<string>();
  for (const { leaseMs, values } of holds)
    if (all || leaseMs === -1) for (const field of values!.fields) fields.add(field);
  return [...fields];
}

function lostHolds({ holds }: Renewable, gone: readonly string[]): Renewed {
  return holds.filter((hold) => sharesValue(hold, gone));
}
