import { expect } from 'chai';
import { createHook } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { useFakeTimers } from 'sinon';
import {
  CommandError,
  ConfigError,
  ConnectionError,
  type LockHold,
  LockLostError,
  type LockLostEvent,
  PrefixNameMapper,
  RedissonError,
  type RLock,
  ShutdownError,
} from '../../lib';
import { Inspector } from '../../lib/operators/inspection';
import { defineScript, lua, SERVER_TIME } from '../../lib/scripts/Script';
import { MemoryServer } from '../../lib/testing/MemoryServer';
import { createTestRedisson, type TestRedisson, type TestRedissonOptions } from '../../lib/testing';
import { rejection } from '../redis/synchronizers/support';
import { fakeClock, trackClient, turn } from '../support';

function newClient(options?: TestRedissonOptions): TestRedisson {
  return trackClient(createTestRedisson(options));
}

describe('createTestRedisson', () => {
  let redisson: TestRedisson;

  beforeEach(() => {
    redisson = newClient();
  });

  it('is ready at once, tells so, and answers a ping', async () => {
    const states: string[] = [];
    redisson.onConnectionChange(({ state }) => states.push(state));
    expect(await redisson.ping()).to.be.at.least(0);
    expect(redisson.state).to.equal('ready');
    await redisson.shutdown();
    expect(states).to.deep.equal(['ready', 'closed']);
  });

  it('opens no socket, not even while somebody waits', async () => {
    const made: string[] = [];
    const hook = createHook({ init: (_id, type) => made.push(type) }).enable();
    try {
      const client = newClient();
      const first = await client.getLock('a').acquire();
      const second = client.getLock('a').acquire();
      await first.unlock();
      await (await second).unlock();
    } finally {
      hook.disable();
    }
    expect(made.filter((type) => /TCP|PIPE|TLS|GETADDRINFO|UDP/.test(type))).to.deep.equal([]);
  });

  it('gives scripts a time that fake timers advance, and that nobody sets back', () => {
    const clock = fakeClock(1_790_000_000_500);
    const server = new MemoryServer();
    const script = defineScript({
      ...{ name: 'test.time', keys: [], args: [], resend: 'always', decode: Number },
      lua: lua`${SERVER_TIME}return now`,
    });
    const time = (): unknown => server.run('eval', [script.lua, '0']);
    expect(time()).to.equal(1_790_000_000_500);
    clock.tick(700);
    expect(time()).to.equal(1_790_000_001_200);
    clock.setSystemTime(5);
    expect(time()).to.equal(1_790_000_001_200);
  });

  it('has settings, their defaults, and refuses what makes no sense', () => {
    expect(newClient({ lockWatchdogTimeout: 900 }).getConfig().lockWatchdogTimeout).to.equal(900);
    expect(redisson.getConfig().lockWatchdogTimeout).to.equal(30_000);
    for (const [options, text] of [
      [{ lockWatchdogTimeuot: 1 }, 'lockWatchdogTimeout'],
      [{ url: 'redis://localhost' }, 'leave out url'],
      [{ client: {} }, 'leave out client'],
      [{ watchdogThread: true }, 'leave out watchdogThread'],
      [{ trackHolds: true }, 'leave out trackHolds'],
      [{ store: 'mine' }, 'store must be an object'],
      [{ store: null }, 'store must be an object'],
      [{ lockWatchdogTimeout: -1 }, 'lockWatchdogTimeout'],
      [new Map(), 'plain object'],
      ['redis://localhost', 'plain object'],
      [null, 'plain object'],
    ] as const) {
      expect(() => createTestRedisson(options as never), text)
        .to.throw(ConfigError)
        .with.property('message')
        .that.contains(text);
    }
  });

  it('ignores REDIS_URL', () => {
    const before = process.env['REDIS_URL'];
    process.env['REDIS_URL'] = 'nonsense';
    try {
      newClient();
    } finally {
      if (before === undefined) delete process.env['REDIS_URL'];
      else process.env['REDIS_URL'] = before;
    }
  });

  it('shares its store with the clients that are given the same object, or the client itself', async () => {
    const store = {};
    const [one, two] = [newClient({ store }), newClient({ store })];
    const three = newClient({ store: one });
    const hold = await one.getLock('a').acquire();
    for (const client of [two, three]) {
      expect(await client.getLock('a').tryLock()).to.equal(false);
      expect(client.holders('a')).to.deep.equal([{ clientId: one.getId(), threadId: hold.threadId, count: 1 }]);
    }
    expect(await redisson.getLock('a').isLocked()).to.equal(false);
    const waiting = three.getLock('a').acquire();
    await hold.unlock();
    await (await waiting).unlock();
  });

  it('wakes the waiters of x and of {x} apart', async () => {
    for (const name of ['x', '{x}', 'a{x}b', 'клю{ч']) {
      const hold = await redisson.getLock(name).acquire();
      const waiting = redisson.getLock(name).acquire();
      await hold.unlock();
      await (await waiting).unlock();
    }
  });

  it('is no client that an Inspector could ask, and is told so', () => {
    expect(() => new Inspector(redisson)).to.throw(ConfigError, 'connected to Redis');
  });

  it('publishes to the channels of node:diagnostics_channel', async () => {
    const outcomes: unknown[] = [];
    const listener = (message: unknown): void => void outcomes.push((message as { outcome?: unknown }).outcome);
    subscribe('tracing:ioredisson:acquire:asyncEnd', listener);
    try {
      await redisson.getLock('a').withLock(() => undefined);
    } finally {
      unsubscribe('tracing:ioredisson:acquire:asyncEnd', listener);
    }
    expect(outcomes).to.have.lengthOf(1);
  });

  it('drains: holders get their time, and it resolves as soon as all is given back', async () => {
    const clock = fakeClock();
    const hold = await redisson.getLock('a').acquire();
    const closing = redisson.shutdown({ drain: 10_000 });
    expect(await rejection(redisson.getLock('b').lock())).to.be.instanceOf(ShutdownError);
    await clock.tickAsync(100);
    await hold.unlock();
    await closing;
    expect(hold.signal.aborted).to.equal(false);
    expect(clock.now).to.equal(100);
  });

  describe('time', () => {
    it('a lease of 30 s ends, and its waiter gets in, without any real time', async () => {
      const clock = fakeClock(Date.now());
      const hold = await redisson.getLock('a').acquire({ leaseTime: 30_000 });
      const waiting = redisson.getLock('a').acquire();
      await clock.tickAsync(29_000);
      expect(hold.isHeld).to.equal(true);
      await clock.tickAsync(1_000);
      expect(hold.signal.reason).to.be.instanceOf(LockLostError);
      await (await waiting).unlock();
    });

    it('the watchdog renews for as long as time is let go by, and a lease ends on the dot', async () => {
      const clock = fakeClock(Date.now());
      const lock = redisson.getLock('a');
      await lock.lock();
      await clock.tickAsync(3_600_000);
      expect(await lock.remainTimeToLive()).to.be.within(20_000, 30_000);
      await lock.unlock();
      await lock.lock(5_000);
      await clock.tickAsync(4_999);
      expect(await lock.isLocked()).to.equal(true);
      await clock.tickAsync(1);
      expect(await lock.isLocked()).to.equal(false);
    });

    it('the watchdog renews though timers that hold nextTick back were taken away while it was armed', async () => {
      // As sinon and jest fake by default: nextTick, too.
      const first = useFakeTimers();
      await redisson.getLock('a').lock();
      first.restore();
      redisson.reset();
      const second = useFakeTimers();
      try {
        const hold = await redisson.getLock('a').acquire();
        await second.tickAsync(100_000);
        expect(hold.isHeld).to.equal(true);
        await hold.unlock();
      } finally {
        second.restore();
      }
    });

    it('a clock that is set ends no lease, and makes none longer: the clock of a server is another', async () => {
      const clock = fakeClock(Date.now());
      const hold = await redisson.getLock('a').acquire();
      await redisson.getLock('b').lock(5_000);
      for (const now of [new Date('2040-01-01'), 0]) {
        clock.setSystemTime(now);
        expect([hold.isHeld, redisson.holders('a').length, redisson.holders('b').length]).to.deep.equal([true, 1, 1]);
      }
      await clock.tickAsync(5_000);
      expect(redisson.holders('b')).to.deep.equal([]);
      await clock.tickAsync(60_000);
      expect(hold.isHeld).to.equal(true);
      await hold.unlock();
    });

    it('a timed wait ends with its time', async () => {
      const clock = fakeClock(Date.now());
      const hold = await redisson.getLock('a').acquire();
      const waiting = redisson.getLock('a').tryLock(2_000);
      await clock.tickAsync(2_000);
      expect(await waiting).to.equal(false);
      await hold.unlock();
    });
  });

  describe('loseLock', () => {
    it('aborts the signals of whoever holds it, tells the listeners, and lets who waits in', async () => {
      const store = {};
      const [one, two] = [newClient({ store }), newClient({ store })];
      const lost: LockLostEvent[] = [];
      one.onLockLost((event) => lost.push(event));
      for (const kind of ['getLock', 'getFairLock', 'getFencedLock'] as const) {
        lost.length = 0;
        const hold = await one[kind](kind).acquire();
        const waiting = two[kind](kind).acquire();
        await two.ping();
        expect(two.loseLock(kind)).to.equal(true);
        expect(hold.signal.reason).to.be.instanceOf(LockLostError);
        expect(hold.isHeld).to.equal(false);
        expect(lost.map(({ name, threadId }) => [name, threadId])).to.deep.equal([[kind, hold.threadId]]);
        await (await waiting).unlock();
        expect(await rejection(hold.unlock())).to.be.instanceOf(LockLostError);
        expect(two.loseLock(kind)).to.equal(false);
      }
    });

    it('takes both halves of a read/write lock, and withLock rejects', async () => {
      const both = redisson.getReadWriteLock('rw');
      const error = await rejection(
        both.readLock().withLock(async ({ signal }) => {
          redisson.loseLock('rw');
          expect(signal.aborted).to.equal(true);
          await both.writeLock().withLock(() => undefined);
        }),
      );
      expect(error).to.be.instanceOf(LockLostError);
    });

    it('takes no semaphore and no latch, and refuses what is no name', async () => {
      await redisson.getSemaphore('s').trySetPermits(1);
      expect(redisson.loseLock('s')).to.equal(false);
      expect(await redisson.getSemaphore('s').availablePermits()).to.equal(1);
      for (const name of ['', undefined, 1] as never[]) {
        expect(() => redisson.loseLock(name)).to.throw(ConfigError);
        expect(() => redisson.holders(name)).to.throw(ConfigError);
      }
    });
  });

  describe('failNext', () => {
    it('fails the next commands with the very error, and does not run them', async () => {
      for (const error of [
        new Error('boom'),
        new ConnectionError('gone', false),
        new ConnectionError('gone', true),
        new CommandError('acquire', new Error('OOM no memory')),
      ]) {
        redisson.failNext(error);
        expect(await rejection(redisson.getLock('a').lock())).to.equal(error);
        expect(redisson.holders('a')).to.deep.equal([]);
        expect(await redisson.getLock('a').tryLock()).to.equal(true);
        redisson.failNext(error);
        expect(await rejection(redisson.getLock('a').isLocked())).to.equal(error);
        expect(await redisson.getLock('a').forceUnlock()).to.equal(true);
      }
    });

    it('as often as it is told, in the order it was told, until 0', async () => {
      const [first, second] = [new Error('first'), new Error('second')];
      redisson.failNext(first, 2);
      redisson.failNext(second, Infinity);
      for (const expected of [first, first, second, second]) {
        expect(await rejection(redisson.ping())).to.equal(expected);
      }
      redisson.failNext(second, 0);
      await redisson.ping();
    });

    it('fails the renewals, until the hold is lost', async () => {
      const clock = fakeClock(Date.now());
      const hold = await redisson.getLock('a').acquire();
      const error = new ConnectionError('gone', false);
      redisson.failNext(error, Infinity);
      await clock.tickAsync(29_000);
      expect(hold.isHeld).to.equal(true);
      await clock.tickAsync(1_000);
      expect(hold.signal.reason).to.be.instanceOf(LockLostError);
      expect((hold.signal.reason as LockLostError).cause).to.equal(error);
      redisson.reset();
    });

    it('is of one client, and refuses what is no error and no number', async () => {
      redisson.failNext(new Error('boom'));
      await newClient({ store: redisson }).ping();
      for (const error of [undefined, null, 'boom', {}] as never[])
        expect(() => redisson.failNext(error)).to.throw(TypeError);
      for (const times of [-1, 0.5, NaN, '1'] as never[])
        expect(() => redisson.failNext(new Error('boom'), times)).to.throw(RangeError);
    });

    const LEAVING: Readonly<Record<string, (client: TestRedisson) => RLock>> = {
      lock: (client) => client.getLock('a'),
      fair: (client) => client.getFairLock('a'),
      fenced: (client) => client.getFencedLock('a'),
      spin: (client) => client.getSpinLock('a'),
      nonReentrant: (client) => client.getNonReentrantLock('a'),
      nonReentrantFair: (client) => client.getNonReentrantFairLock('a'),
      write: (client) => client.getReadWriteLock('a').writeLock(),
    };
    for (const [kind, lockOf] of Object.entries(LEAVING)) {
      it(`${kind}: an attach() that fails at any step leaves its ticket valid`, async () => {
        const failedWith = new Set<boolean>();
        for (const error of [new ConnectionError('gone', true), new CommandError('set', new Error('OOM no memory'))]) {
          for (let step = -1; step < 8; step++) {
            const clock = fakeClock(Date.now());
            const client = newClient();
            const other = newClient({ store: client });
            const left = await lockOf(other).acquire();
            const ticket = await left.detach({ leaseTime: 120_000 });
            const [owner] = other.holders('a');
            if (step < 0) client.failNext(error);
            const attaching = client.attach(ticket, { leaseTime: 40_000 }).catch((reason: unknown) => reason);
            for (let i = 0; i < step; i++) await Promise.resolve();
            const moved = other.holders('a')[0]!.clientId !== owner!.clientId;
            if (step >= 0) client.failNext(error);
            await clock.tickAsync(0);
            const outcome = await attaching;
            client.failNext(error, 0);
            await clock.tickAsync(10_000);
            if (outcome === error) {
              failedWith.add(moved);
              const taken = await other.attach(ticket);
              expect(left.token === undefined || taken.token! > left.token).to.equal(true);
              await clock.tickAsync(60_000);
              expect(taken.isHeld, `step ${step}`).to.equal(true);
              await taken.unlock();
            } else {
              await (outcome as LockHold).unlock();
            }
            expect(other.holders('a'), `step ${step}`).to.deep.equal([]);
            await Promise.all([client.shutdown(), other.shutdown()]);
            clock.restore();
          }
        }
        // Before its owner changes, and when only its shorter lease is still to be set.
        expect([...failedWith]).to.have.members([false, true]);
      });
    }

    it('errors at every step leave nothing behind that the next one could meet', async () => {
      for (const error of [new Error('boom'), new ConnectionError('gone', true)]) {
        for (let step = 0; step < 6; step++) {
          const clock = fakeClock(Date.now());
          const client = newClient();
          const other = newClient({ store: client });
          const hold = await other.getLock('a').acquire({ leaseTime: 1_000 });
          const work = (async () => {
            await client.getFairLock('f').withLock(() => undefined);
            await client.getLock('a').withLock(() => undefined);
          })().catch((reason: unknown) => expect(reason).to.equal(error));
          for (let i = 0; i < step; i++) await Promise.resolve();
          client.failNext(error);
          await clock.tickAsync(1_000);
          await work;
          expect(hold.isHeld).to.equal(false);
          await clock.tickAsync(60_000);
          for (const name of ['a', 'f']) expect(other.holders(name), `${name}, step ${step}`).to.deep.equal([]);
          await Promise.all([client.shutdown(), other.shutdown()]);
          clock.restore();
        }
      }
    });
  });

  describe('holders', () => {
    it('tells clients, threads and counts, of every kind', async () => {
      const clientId = redisson.getId();
      await redisson.getLock('a').lock(-1, undefined, 1);
      await redisson.getLock('a').lock(-1, undefined, 1);
      expect(redisson.holders('a')).to.deep.equal([{ clientId, threadId: 1, count: 2 }]);
      const both = redisson.getReadWriteLock('rw');
      for (const threadId of [1, 2]) await both.readLock().lock(-1, undefined, threadId);
      expect(redisson.holders('rw')).to.deep.equal([1, 2].map((threadId) => ({ clientId, threadId, count: 1 })));
      await redisson.getReadWriteLock('w').writeLock().lock(-1, undefined, 3);
      expect(redisson.holders('w')).to.deep.equal([{ clientId, threadId: 3, count: 1 }]);
      await redisson.getMultiLock('g', ['x', 'y']).lock(-1, undefined, 4);
      expect(redisson.holders('g')).to.deep.equal([{ clientId, threadId: 4, count: 1 }]);
      await redisson.getMultiLock(redisson.getLock('m'), redisson.getFairLock('n')).lock(-1, undefined, 5);
      for (const name of ['m', 'n']) expect(redisson.holders(name)[0]?.threadId).to.equal(5);
      expect(redisson.holders('nobody')).to.deep.equal([]);
      const mapped = newClient({ store: redisson, nameMapper: new PrefixNameMapper('app:') });
      expect(mapped.holders('a')).to.deep.equal([]);
      redisson.reset();
    });
  });

  describe('reset', () => {
    it('empties the store, ends the holds without a report, and rejects who waits', async () => {
      const lost: unknown[] = [];
      redisson.onLockLost((event) => lost.push(event));
      const other = newClient({ store: redisson });
      const hold = await redisson.getLock('a').acquire();
      await redisson.getSemaphore('s').trySetPermits(0);
      await redisson.getCountDownLatch('l').trySetCount(1);
      const waiting = [
        redisson.getLock('a').acquire(),
        other.getLock('a').acquire(),
        redisson.getFairLock('a').lock(),
        redisson.getSpinLock('a').lock(),
        other.getSemaphore('s').acquire(),
        redisson.getCountDownLatch('l').await(),
        redisson.getMultiLock(redisson.getLock('a'), redisson.getLock('b')).lock(),
      ].map((promise) => rejection(promise));
      await turn();
      redisson.failNext(new Error('boom'));
      redisson.reset();
      for (const error of await Promise.all(waiting)) {
        expect(error).to.be.instanceOf(ShutdownError).and.to.be.instanceOf(RedissonError);
      }
      expect([hold.isHeld, hold.signal.aborted, lost]).to.deep.equal([false, true, []]);
      expect(await other.getLock('a').tryLock()).to.equal(true);
      expect(await redisson.getLock('a').tryLock()).to.equal(false);
      expect(await redisson.getCountDownLatch('l').getCount()).to.equal(0);
      other.reset();
      expect(await redisson.getLock('a').tryLock()).to.equal(true);
    });
  });
});
