import { type Script, type ScriptArg, PUBLISH_COMMAND, RESEND_FLAG } from '../../../lib/scripts/Script';
import * as inspectedPermits from '../../../lib/operators/inspection/describe';
import * as peek from '../../../lib/operators/inspection/peek';
import { LATCH } from '../../../lib/kinds/latch';
import * as fairLock from '../../../lib/kinds/fair';
import * as fencedLock from '../../../lib/kinds/fenced';
import * as groupLock from '../../../lib/kinds/group';
import * as lock from '../../../lib/kinds/reentrant';
import * as nonReentrantLock from '../../../lib/kinds/nonReentrant';
import { PERMIT } from '../../../lib/kinds/permit';
import * as readLock from '../../../lib/kinds/readWrite';
import { SEMAPHORE } from '../../../lib/kinds/semaphore';
import * as spinLock from '../../../lib/kinds/spin';
import * as writeLock from '../../../lib/kinds/readWrite';
import { prefixName, suffixName } from '../../../lib/util/names';
import type { ScriptBench } from './ScriptBench';

/** A write command that lays data out. */
export type Layout = readonly [command: string, key: string, ...args: (string | number)[]];

/** Data on which a script has as much to write as it ever has, and a call of it. */
export interface Sample {
  readonly script: Script<string, string, unknown>;
  readonly layout: (name: string) => readonly Layout[];
  readonly args: Readonly<Record<string, ScriptArg>>;
  readonly moreKeys?: (name: string) => readonly string[];
  readonly moreArgs?: readonly ScriptArg[] | ((name: string) => readonly ScriptArg[]);
  /** Roles of keys that hold data: of another type, they must be an error. */
  readonly guarded: readonly string[];
}

/** Its arguments behind the named ones. */
export function moreArgsOf({ moreArgs = [] }: Sample, name: string): readonly ScriptArg[] {
  return typeof moreArgs === 'function' ? moreArgs(name) : moreArgs;
}

/** The server's time in the samples, epoch ms. */
export const NOW = 1_800_000_000_000;
const OWNER = 'uuid:1';
const HOLD = `${OWNER}:rwlock_timeout`;
const ID = '0123456789abcdef';
const VALUES = ['a', 'b'];

/** Every argument a script may ask for, and what it is in the samples. */
const ARGS: Readonly<Record<string, ScriptArg>> = {
  lease: 30_000,
  owner: OWNER,
  writer: `${OWNER}:write`,
  heir: 'uuid:9',
  count: 1,
  repeated: RESEND_FLAG,
  wait: 5_000,
  slept: 0,
  now: NOW,
  message: '0',
  left: 0,
  remaining: 0,
  publish: PUBLISH_COMMAND,
  permits: 1,
  existing: 0,
  old: 0,
  ttl: 0,
  total: 7,
  added: 2,
  id: ID,
  expiry: NOW + 1_000,
  last: 9,
};

/** The key or channel that plays a role for the object `name`. */
export function keyOf(role: string, name: string): string {
  switch (role) {
    case 'name':
      return name;
    case 'queue':
      return prefixName('redisson_lock_queue', name);
    case 'timeouts':
      return prefixName('redisson_lock_timeout', name);
    case 'claims':
      return prefixName('redisson_lock_claim', name);
    case 'channel':
    case 'channelBase':
      return prefixName('redisson_lock__channel', name);
    case 'token':
      return prefixName('redisson_lock_token', name);
    case 'timeoutPrefix':
      return suffixName(name, HOLD);
    case 'hold':
      return `${suffixName(name, HOLD)}:1`;
    case 'keyPrefix':
      return name.includes('{') ? name : `{${name}}`;
    case 'permits':
      return suffixName(name, 'timeout');
    default:
      throw new Error(`no such role: ${role}`);
  }
}

const none = () => [];
const held = (name: string): Layout[] => [['hset', name, OWNER, 1]];
/** Two holds of one owner. */
const twice = (name: string, owner = OWNER): Layout[] => [
  ['hset', name, owner, 2],
  ['pexpire', name, 60_000],
];
const number = (name: string): Layout[] => [['set', name, 3]];
const fenced = (name: string): Layout[] => [...held(name), ['set', keyOf('token', name), 5]];
/** A dead head, one whose claim is over, a patient waiter, one behind that may be of Java and has a claim. */
const queue = (name: string): Layout[] => [
  ['rpush', keyOf('queue', name), 'dead', 'gone', OWNER, 'uuid:2'],
  ['zadd', keyOf('timeouts', name), NOW - 1, 'dead', NOW + 9, 'gone', NOW, OWNER, NOW + 1, 'uuid:2'],
  ['hset', keyOf('claims', name), 'gone', `${NOW + 9}:${NOW}:1`, 'uuid:2', `${NOW + 1}:${NOW + 2}:1`],
  ['pexpire', keyOf('claims', name), 10_000],
];
const fair = (name: string): Layout[] => [...held(name), ...queue(name)];
const fairOfOther = (name: string): Layout[] => [['hset', name, 'uuid:3', 1], ...queue(name)];
const reading = (name: string): Layout[] => [
  ['hset', name, 'mode', 'read', OWNER, 1, 'uuid:2', 1],
  ['set', keyOf('hold', name), 1],
];
const writing = (name: string): Layout[] => [
  ['hset', name, 'mode', 'write', `${OWNER}:write`, 1, OWNER, 1],
  ['set', keyOf('hold', name), 1],
];
/** Two read holds of one owner, beside another reader; the key of the second one has expired. */
const readingTwice = (name: string): Layout[] => [
  ['hset', name, 'mode', 'read', OWNER, 2, 'uuid:2', 1],
  ['set', keyOf('hold', name), 1, 'px', 60_000],
  ['pexpire', name, 60_000],
];
/** Two values that are ours, and one of another owner whose time is over. */
const group = (name: string): Layout[] => [
  ...[...VALUES, 'c'].map((value): Layout => {
    const owner = value === 'c' ? 'uuid:9' : OWNER;
    const prefix = `${value}:${owner}`;
    const until = value === 'c' ? NOW - 1 : NOW + 5_000;
    return ['hset', name, value, owner, `${prefix}:expire_time`, until, `${prefix}:lock_count`, 2];
  }),
  ['pexpire', name, 30_000],
];

/** One permit that has expired, and ours. */
const leased = (name: string): Layout[] => [
  ...number(name),
  ['zadd', keyOf('permits', name), 1, 'expired permit ..', NOW + 1, ID],
];

function sample(
  script: unknown,
  layout: Sample['layout'],
  guarded: string,
  more: Partial<Pick<Sample, 'args' | 'moreKeys' | 'moreArgs'>> = {},
): Sample {
  return {
    script: script as Sample['script'],
    layout,
    guarded: guarded.split(' ').filter((role) => role !== ''),
    ...more,
    args: { ...ARGS, ...more.args },
  };
}

const WRITER = { args: { owner: `${OWNER}:write` } };
const WRITER_NAME = WRITER.args.owner;
/** A release that leaves a hold, with the lease as it is, and with another one; and one that only sets a lease. */
const PARTLY = [
  { left: 1, remaining: 0 },
  { left: 1, remaining: 5_000 },
  { left: 2, remaining: 5_000 },
];
/** The samples of such releases. */
const partly = (script: unknown, layout: Sample['layout'], guarded = 'name', more: Sample['args'] = {}): Sample[] =>
  PARTLY.map((args) => sample(script, layout, guarded, { args: { ...args, ...more } }));
/** Of groups. */
const WANTED = { moreArgs: [3, 1, 'a', 3, 1, 'b', 1, 1, 'c'] };
const IDS = { moreArgs: [ID] };
const QUEUE = 'name queue timeouts claims';

/** At least one for every script of the library. */
export const SAMPLES: readonly Sample[] = [
  sample(lock.acquireLock, none, 'name'),
  sample(lock.acquireLock, held, 'name', { args: { count: 2 } }),
  sample(lock.releaseLock, held, 'name'),
  ...partly(lock.releaseLock, twice),
  sample(lock.handOverLock, held, 'name'),
  sample(lock.lockTimeToLive, held, 'name'),
  sample(lock.findHolds, held, '', { moreKeys: (name) => [name], moreArgs: [OWNER] }),
  sample(lock.forceReleaseLock, held, 'name'),
  sample(lock.renewLocks, held, '', { moreKeys: (name) => [name], moreArgs: [OWNER] }),
  sample(fairLock.acquireFairLock, queue, QUEUE),
  sample(fairLock.acquireFairLock, fairOfOther, QUEUE),
  sample(fairLock.acquireFairLock, fairOfOther, QUEUE, { args: { owner: 'uuid:7' } }),
  sample(fairLock.tryAcquireFairLock, queue, QUEUE),
  sample(fairLock.releaseFairLock, fair, QUEUE),
  sample(fairLock.releaseFairLock, queue, QUEUE),
  ...partly(fairLock.releaseFairLock, (name) => [...twice(name), ...queue(name)], QUEUE),
  // With nobody queued, there is no claim to read.
  ...partly(fairLock.releaseFairLock, twice, 'name queue timeouts'),
  sample(fairLock.abandonFairLock, queue, QUEUE),
  sample(fairLock.forceReleaseFairLock, fair, QUEUE),
  sample(fairLock.checkFairTurn, queue, QUEUE, { args: { told: 0, client: '' } }),
  sample(fairLock.checkFairTurn, fair, QUEUE, { args: { told: 500, client: 'uuid' } }),
  sample(fencedLock.acquireFencedLock, none, 'name token'),
  sample(fencedLock.acquireFencedLock, fenced, 'name token', { args: { count: 2 } }),
  sample(fencedLock.handOverFencedLock, fenced, 'name token'),
  sample(readLock.acquireReadLock, none, 'name hold'),
  sample(readLock.acquireReadLock, reading, 'name hold'),
  sample(readLock.releaseReadLock, reading, 'name'),
  ...partly(readLock.releaseReadLock, readingTwice),
  sample(readLock.forceReleaseReadLock, reading, 'name'),
  sample(readLock.isReadLocked, reading, 'name'),
  ...[reading, readingTwice].map((layout) =>
    sample(readLock.renewReadLocks, layout, '', {
      moreKeys: (name) => [name, keyOf('keyPrefix', name)],
      moreArgs: [OWNER],
    }),
  ),
  sample(writeLock.acquireWriteLock, none, 'name', WRITER),
  sample(writeLock.releaseWriteLock, writing, 'name', WRITER),
  sample(
    writeLock.releaseWriteLock,
    (name) => [...writing(name), ['pexpire', keyOf('hold', name), 60_000]],
    'name',
    WRITER,
  ),
  ...partly(
    writeLock.releaseWriteLock,
    (name) => [...twice(name, WRITER_NAME), ['hset', name, 'mode', 'write']],
    'name',
    WRITER.args,
  ),
  sample(writeLock.forceReleaseWriteLock, writing, 'name', WRITER),
  sample(writeLock.isWriteLocked, writing, 'name'),
  sample(groupLock.acquireValues, none, 'name', { moreArgs: [1, 2, 'a', 'b'] }),
  sample(groupLock.acquireValues, group, 'name', WANTED),
  sample(groupLock.releaseValues, group, 'name', { moreArgs: [0, 0, 1, 'a', 1, 1_000, 1, 'b', 0, 0, 1, 'c'] }),
  ...PARTLY.map(({ left, remaining }) =>
    sample(groupLock.releaseValues, group, 'name', { moreArgs: [left, remaining, 2, ...VALUES] }),
  ),
  sample(groupLock.handOverValues, group, 'name', { moreArgs: VALUES }),
  sample(groupLock.handOverValues, group, 'name', { moreArgs: [...VALUES, 'c'] }),
  sample(groupLock.forceReleaseValues, group, 'name', { moreArgs: VALUES }),
  sample(groupLock.renewValues, group, '', { moreKeys: (name) => [name], moreArgs: [OWNER, 2, ...VALUES] }),
  sample(groupLock.findValues, group, '', { moreKeys: (name) => [name], moreArgs: [OWNER, ...VALUES] }),
  sample(groupLock.areValuesLocked, group, 'name', { moreArgs: VALUES }),
  sample(groupLock.countValues, group, 'name', { moreArgs: VALUES }),
  sample(spinLock.releaseSpinLock, held, 'name'),
  ...partly(spinLock.releaseSpinLock, twice),
  sample(spinLock.forceReleaseSpinLock, held, 'name'),
  sample(nonReentrantLock.acquireNonReentrantLock, none, 'name'),
  sample(nonReentrantLock.acquireNonReentrantFairLock, queue, QUEUE),
  sample(nonReentrantLock.acquireNonReentrantFairLock, fairOfOther, QUEUE),
  sample(nonReentrantLock.tryAcquireNonReentrantFairLock, queue, QUEUE),
  sample(SEMAPHORE.acquire, number, 'name'),
  sample(SEMAPHORE.release, number, 'name'),
  sample(SEMAPHORE.release, number, 'name', { args: { existing: 1 } }),
  sample(SEMAPHORE.trySetPermits, none, 'name'),
  sample(SEMAPHORE.addPermits, number, 'name'),
  sample(SEMAPHORE.drain, number, 'name'),
  sample(SEMAPHORE.available, number, 'name'),
  sample(SEMAPHORE.delete, number, 'name'),
  sample(PERMIT.acquire, leased, 'name permits', { moreArgs: ['another permit..'] }),
  sample(PERMIT.release, leased, 'name permits'),
  sample(PERMIT.releaseMany, leased, 'name permits', IDS),
  sample(PERMIT.find, leased, '', { moreKeys: (name) => [keyOf('permits', name)], moreArgs: [ID] }),
  sample(PERMIT.updateLeases, leased, '', {
    args: { renewal: 0, lease: 30_000 },
    moreKeys: (name) => [name, keyOf('permits', name)],
    moreArgs: (name) => [prefixName('redisson_sc', name), 1, ID],
  }),
  sample(PERMIT.getLease, leased, 'name permits'),
  sample(PERMIT.delete, leased, 'name permits'),
  sample(PERMIT.available, leased, 'name permits'),
  sample(PERMIT.total, leased, 'name permits'),
  sample(PERMIT.acquired, leased, 'name permits'),
  sample(PERMIT.setPermits, leased, 'name permits'),
  sample(PERMIT.addPermits, leased, 'name'),
  sample(inspectedPermits.readPermits, leased, 'permits'),
  { ...sample(peek.peekAtKeys, fair, ''), moreArgs: ['lock', 'queue', 'token', 'permits', 'x', 'x', 'x', 'x'] },
  sample(LATCH.trySetCount, none, 'name'),
  sample(LATCH.countDown, number, 'name'),
  sample(LATCH.countDown, (name) => [['set', name, 1]], 'name'),
  sample(LATCH.getCount, number, 'name'),
  sample(LATCH.delete, number, 'name'),
];

/** Runs it, as a later send of the same call where it is `resent`. */
export function runSample(bench: ScriptBench, sample: Sample, name: string, resent = false) {
  const { script, args, moreKeys } = sample;
  bench.now = NOW;
  const keys = Object.fromEntries(script.keys.map((role) => [role, keyOf(role, name)]));
  return bench.run(script, keys, args, {
    moreKeys: moreKeys?.(name) ?? [],
    moreArgs: moreArgsOf(sample, name),
    resent,
  });
}

/** The name of the script, and which of its samples it is. */
export function titleOf(sample: Sample): string {
  return `${sample.script.name} (${SAMPLES.filter(({ script }) => script === sample.script).indexOf(sample) + 1})`;
}

/** Writes its data. */
export async function layOut(bench: ScriptBench, { layout }: Sample, name: string): Promise<void> {
  for (const [command, ...args] of layout(name)) await bench.redis.call(command, ...args);
}
