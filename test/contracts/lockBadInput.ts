import { expect } from 'chai';
import { CommandError, ConfigError, type RLock, type TimeUnit } from '../../lib';
import { rejection } from '../redis/synchronizers/support';
import { monitor, redisUrl, trackClient } from '../support';
import type { LockUnderTest } from './lockContract';
import { useStage } from './LockStage';
import { onServer } from './world';

type Call = (lock: RLock) => Promise<unknown>;

/** What is no number of milliseconds. */
const BAD_TIMES: unknown[] = [NaN, Infinity, -Infinity, 1e300, 2 ** 53, '10', null, {}, 5n];
const BAD_THREADS: unknown[] = [-1, 1.5, NaN, 2 ** 32, 2 ** 53, '1'];

function badCalls(): [string, Call][] {
  const calls: [string, Call][] = [];
  for (const time of BAD_TIMES as number[]) {
    const text = typeof time === 'object' ? JSON.stringify(time) : String(time);
    calls.push(
      [`lock(${text})`, (lock) => lock.lock(time)],
      [`lockInterruptibly(${text})`, (lock) => lock.lockInterruptibly(time)],
      [`tryLock(1, ${text})`, (lock) => lock.tryLock(1, time)],
      [`acquire({leaseTime: ${text}})`, (lock) => lock.acquire({ leaseTime: time })],
      [`acquire({waitTime: ${text}})`, (lock) => lock.acquire({ waitTime: time })],
      [`tryAcquireHold({waitTime: ${text}})`, (lock) => lock.tryAcquireHold({ waitTime: time })],
      [`withLock({leaseTime: ${text}})`, (lock) => lock.withLock(() => undefined, { leaseTime: time })],
    );
    if (typeof time !== 'object') calls.push([`tryLock(${text})`, (lock) => lock.tryLock(time)]);
  }
  for (const thread of BAD_THREADS as number[]) {
    const text = String(thread);
    calls.push(
      [`lock(thread ${text})`, (lock) => lock.lock(-1, undefined, { threadId: thread })],
      [`tryLock(thread ${text})`, (lock) => lock.tryLock({ threadId: thread })],
      [`acquire(thread ${text})`, (lock) => lock.acquire({ threadId: thread })],
      [`unlock(thread ${text})`, (lock) => lock.unlock({ threadId: thread })],
      [`isHeldByThread(${text})`, (lock) => lock.isHeldByThread(thread)],
    );
  }
  for (const times of [-1, 0.5, NaN, Infinity, '3', null] as number[]) {
    calls.push([`acquire({maxRenewTimes: ${times}})`, (lock) => lock.acquire({ maxRenewTimes: times })]);
  }
  const notUnit = 'SECONDS' as unknown as TimeUnit;
  calls.push(
    ['lock with a unit that is none', (lock) => lock.lock(1, notUnit)],
    ['acquire with a unit that is none', (lock) => lock.acquire({ waitTime: 1, unit: notUnit })],
    ['acquire with nothing but a unit that is none', (lock) => lock.acquire({ unit: notUnit })],
    ['withLock with nothing but a unit that is none', (lock) => lock.withLock(() => 1, { unit: notUnit })],
    ['tryLock(null, 1000)', (lock) => lock.tryLock(null as never, 1_000)],
    ['lock with options that are none', (lock) => lock.lock(-1, undefined, 'me' as never)],
    ['acquire with options that are none', (lock) => lock.acquire('me' as never)],
    ['lock with a signal that is none', (lock) => lock.lock(-1, undefined, { signal: {} as AbortSignal })],
    ['C17: acquire([])', (lock) => lock.acquire([] as never)],
    ['C17: lock with a list', (lock) => lock.lock(-1, undefined, [] as never)],
    ['C17: tryLock([])', (lock) => lock.tryLock([] as never)],
    ['C17: withLock with a Map', (lock) => lock.withLock(() => undefined, new Map() as never)],
    ['C17: unlock with a Date', (lock) => lock.unlock(new Date() as never)],
    ['withLock without work', (lock) => lock.withLock(undefined as never)],
  );
  return calls;
}

/** Options with a misspelt name, and what the error suggests. */
const MISSPELT: readonly (readonly [call: Call, suggestion: string])[] = [
  [(lock) => lock.acquire({ leasTime: 5_000 } as never), "'leaseTime'"],
  [(lock) => lock.acquire({ waitTime: 1, Signal: undefined } as never), "'signal'"],
  [(lock) => lock.tryAcquireHold({ waittime: 100 } as never), "'waitTime'"],
  [(lock) => lock.withLock(() => undefined, { maxRenewTime: 1 } as never), "'maxRenewTimes'"],
  [(lock) => lock.withLock(() => undefined, Object.create({ leaseTimes: 1 }) as never), "'leaseTime'"],
  [(lock) => lock.lock(-1, undefined, { thread: 5 } as never), "'threadId'"],
  [(lock) => lock.lockInterruptibly(-1, undefined, { threadid: 5 } as never), "'threadId'"],
  [(lock) => lock.tryLock({ signals: undefined } as never), "'signal'"],
  [(lock) => lock.tryLock({ leaseTime: 5_000 } as never), 'arguments before the options'],
  [(lock) => lock.tryLock(1, 1, undefined, { treadId: 5 } as never), "'threadId'"],
  [(lock) => lock.tryAcquire(1, undefined, { treadId: 5 } as never), "'threadId'"],
  [(lock) => lock.unlock({ treadId: 5 } as never), "'threadId'"],
];

/** Bad input is refused before anything is sent; a key of another type is left alone. */
export function lockBadInput(kind: LockUnderTest): void {
  const stage = useStage(kind);
  const single = kind.traits.single !== false;

  describe('bad input', () => {
    onServer('misspelt options: refused with the nearest name, and nothing is sent', async () => {
      const lock = stage().lock();
      await lock.isHeldByThread(1);
      const watch = trackClient(await monitor(redisUrl()));
      for (const [call, suggestion] of MISSPELT) {
        const error = await rejection(call(lock));
        expect(error, suggestion).to.be.instanceOf(ConfigError);
        expect(error.message).to.contain(suggestion);
      }
      const sent = (await watch.sent()).filter(({ args }) => args.some((arg) => arg.includes(stage().name)));
      expect(sent).to.deep.equal([]);
    });

    onServer(
      'times, threads, units, options and signals that are none: refused by a promise, and nothing is sent',
      async () => {
        const lock = stage().lock();
        await lock.isHeldByThread(1);
        const watch = trackClient(await monitor(redisUrl()));
        for (const [what, pending] of badCalls()) {
          const error = await rejection(pending(lock)).catch(() => new Error('accepted'));
          const kinds = [RangeError, ConfigError, TypeError].filter((one) => error instanceof one);
          expect(kinds, `${what}: ${error.name}: ${error.message}`).not.to.have.length(0);
        }
        expect((await watch.sent()).filter(({ args }) => args.some((arg) => arg.includes(stage().name)))).to.deep.equal(
          [],
        );
      },
    );

    it('names that are none', () => {
      for (const name of ['', undefined, null, 5, {}, ['a']]) {
        expect(() => kind.make(stage().client, name as string), JSON.stringify(name)).to.throw(ConfigError);
      }
    });

    it('a name that holds a value of another type: WRONGTYPE is the cause, the value stays as it was', async () => {
      stage().leavesKeys = true;
      for (const key of stage().keys) await stage().redis.set(key, 'precious');
      const lock = stage().lock();
      const calls: Promise<unknown>[] = [
        lock.lock(-1, undefined, 1),
        lock.tryLock({ threadId: 2 }),
        lock.tryLock(10_000, 1_000, undefined, 3),
        lock.acquire(),
      ];
      if (single) calls.push(lock.unlock(4), lock.forceUnlock(), lock.isLocked(), lock.isHeldByThread(5));
      if (single && kind.traits.counted !== false) calls.push(lock.remainTimeToLive(), lock.getHoldCount());
      for (const call of calls) {
        const error = await rejection(call);
        expect(error).to.be.instanceOf(CommandError);
        expect((error.cause as Error).message).to.contain('WRONGTYPE');
        expect(error.message).to.contain(stage().name);
      }
      for (const key of stage().keys) expect(await stage().redis.get(key)).to.equal('precious');
      expect((await stage().leftKeys()).sort()).to.deep.equal([...stage().keys].sort());
      await stage().redis.del(...stage().keys);
      await lock.lock(-1, undefined, 1);
      await lock.unlock(1);
    });

    it('names with every kind of character', async () => {
      for (const part of [
        ' ',
        ':',
        '{tag}',
        '{',
        '}',
        'ключ',
        '鎖',
        '🔒',
        '\n',
        '"',
        '\\',
        '%s',
        '*',
        'x'.repeat(500),
      ]) {
        const name = `${stage().name}${part}`;
        const lock = kind.make(stage().client, name);
        await lock.lock(-1, undefined, 1);
        expect(await kind.make(stage().client, name).isHeldByThread(1)).to.equal(true);
        expect(await (kind.blocker ?? kind.make)(stage().other, name).tryLock(20)).to.equal(false);
        await lock.unlock(1);
        if (kind.persistentKeys !== undefined) await stage().redis.del(...kind.persistentKeys(name));
      }
    });
  });
}
