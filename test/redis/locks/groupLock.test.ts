// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import sinon from 'sinon';
import {
  ConfigError,
  IllegalMonitorStateError,
  type LockHold,
  LockLostError,
  PrefixNameMapper,
  type Redisson,
  TimeUnit,
  UnsupportedOperationError,
} from '../../../lib';
import { monitor, monotonicNow, redisUrl, risen, sleep, sleepUntil, trackClient, uniqueName } from '../../support';
import { bareClient, newClient, rejection } from '../synchronizers/support';

/** A renewal every third of it is in time, also on a machine that stands still for two seconds. */
const WATCHDOG_MS = 4_500;
/** The same of a lease that ends within a test. */
const LEASE_MS = 3_000;
/** Field names of values: what Java makes of them with its StringCodec. */
const FIELD = { Jack_001: '7pNoDdizVy2xY792MaFv+w', Mary_002: 'kIX2DFOX4IWct7G7K6tV9A', a: 'qwvAS12pR0CgRitaypEjUw' };

describe('the lock of values of a group', () => {
  let client: Redisson;
  let other: Redisson;
  let redis: Redis;
  let group: string;

  beforeEach(() => {
    client = newClient({ lockWatchdogTimeout: WATCHDOG_MS });
    other = newClient({ lockWatchdogTimeout: WATCHDOG_MS });
    redis = bareClient();
    group = uniqueName('group');
  });
  afterEach(() => redis.del(group));

  const of = (values: string, by = client) => by.getMultiLock(group, values.split(' '));
  const time = async (field: string, owner: string) => Number(await redis.hget(group, `${field}:${owner}:expire_time`));

  /** Resolves when the watchdog has renewed a hold: its lease got longer. */
  async function untilRenewed(hold: LockHold, timeout = 10_000): Promise<void> {
    const longer = risen(() => hold.remainingLeaseMs);
    await sleepUntil(longer, { timeout, message: 'its lease gets longer: it was renewed' });
  }

  describe('on the wire', () => {
    it('FM-01: each value has its owner, its count and its time, under the name that Java gives it', async () => {
      const lock = of('Jack_001 Mary_002');
      const before = Date.now();
      await lock.lock(30, TimeUnit.SECONDS, 7);
      const owner = `${client.getId()}:7`;
      const hash = await redis.hgetall(group);
      for (const field of [FIELD.Jack_001, FIELD.Mary_002]) {
        expect(hash[field]).to.equal(owner);
        expect(hash[`${field}:${owner}:lock_count`]).to.equal('1');
        expect(Number(hash[`${field}:${owner}:expire_time`])).to.be.within(before + 30_000, Date.now() + 30_000);
      }
      expect(Object.keys(hash)).to.have.length(6);
      expect(await redis.pttl(group)).to.be.within(20_000, 30_000);
      await lock.unlock(7);
      expect(await redis.exists(group)).to.equal(0);
    });

    it('FM-02: two handles of one thread count together', async () => {
      const [one, two] = [of('Jack_001 Mary_002'), of('Mary_002 Jack_001 Jack_001')];
      const owner = `${client.getId()}:7`;
      const counts = () =>
        redis.hmget(group, `${FIELD.Jack_001}:${owner}:lock_count`, `${FIELD.Mary_002}:${owner}:lock_count`);
      await one.lock(-1, undefined, 7);
      await two.lock(-1, undefined, 7);
      expect(await counts()).to.deep.equal(['2', '2']);
      await one.unlock(7);
      expect(await counts()).to.deep.equal(['1', '1']);
      expect(await redis.hget(group, FIELD.Jack_001)).to.equal(owner);
      await one.unlock(7);
      expect(await redis.exists(group)).to.equal(0);
    });

    it('a release that frees no value publishes nothing', async () => {
      const watch = trackClient(await monitor(redisUrl(), ({ name }) => name === 'publish'));
      const releases = ['a b', 'a b', 'b'];
      for (const values of releases) await of(values).lock(-1, undefined, 7);
      const published: number[] = [];
      for (const values of releases.reverse()) {
        await watch.clear();
        await of(values).unlock(7);
        published.push((await watch.commands()).length);
      }
      expect(published).to.deep.equal([0, 0, 1]);
    });

    it('FM-03 G-04: force frees values whoever has them, also where one of them is free', async () => {
      await of('a').lock(30, TimeUnit.SECONDS, 1);
      expect(await of('b', other).forceUnlock()).to.equal(false);
      expect(await of('a b', other).forceUnlock()).to.equal(true);
      expect(await redis.exists(group)).to.equal(0);
      expect(await of('a b', other).forceUnlock()).to.equal(false);
      await rejection(of('a').unlock(1));
    });

    it('the key is what the name mapper makes of the group', async () => {
      const mapped = newClient({ nameMapper: new PrefixNameMapper('app:') });
      const lock = of('a', mapped);
      await lock.lock(-1, undefined, 1);
      expect(await redis.hget(`app:${group}`, FIELD.a)).to.equal(`${mapped.getId()}:1`);
      expect(lock.getName()).to.equal(group);
      await lock.unlock(1);
      expect(await redis.exists(`app:${group}`)).to.equal(0);
    });

    it('what a dead owner left of a value goes when another one takes it, and is not counted on', async () => {
      const dead = 'dead:1';
      const mine = `${client.getId()}:1`;
      for (const owner of [dead, mine]) {
        await redis.hset(group, `${FIELD.a}:${owner}:expire_time`, Date.now() - 1, `${FIELD.a}:${owner}:lock_count`, 5);
      }
      await redis.hset(group, FIELD.a, dead);
      await of('a').lock(-1, undefined, 1);
      const hash = await redis.hgetall(group);
      expect(Object.keys(hash).sort()).to.deep.equal(
        [FIELD.a, `${FIELD.a}:${mine}:expire_time`, `${FIELD.a}:${mine}:lock_count`].sort(),
      );
      expect(hash[`${FIELD.a}:${mine}:lock_count`]).to.equal('1');
      await of('a').unlock(1);
      expect(await redis.exists(group)).to.equal(0);
    });

    it('a key without expiry stays without', async () => {
      await redis.hset(group, 'field of somebody', 'x');
      await of('a').lock(-1, undefined, 1);
      expect(await redis.pttl(group)).to.equal(-1);
      await of('a').unlock(1);
      expect(await redis.hgetall(group)).to.deep.equal({ 'field of somebody': 'x' });
    });
  });

  describe('its interface', () => {
    it('refuses what is no list of values', () => {
      const bad = [[], undefined, null, 'a', 5, [1], ['a', null], [['a']], { 0: 'a' }, ['\ud800']];
      for (const values of bad) {
        expect(() => client.getMultiLock(group, values as string[]), JSON.stringify(values)).to.throw(ConfigError);
      }
      expect(() => client.getMultiLock('', ['a'])).to.throw(ConfigError);
    });

    it('any text is a value, the empty one too', async () => {
      const lock = client.getMultiLock(group, ['', 'ключ', 'a b', '💚']);
      await lock.lock(-1, undefined, 1);
      expect(await redis.hlen(group)).to.equal(12);
      expect(await redis.hget(group, 't6rZwibGo2uy1OSmNVe8pg')).to.equal(`${client.getId()}:1`);
      await lock.unlock(1);
    });

    it('FM-05: one attempt of another thread gets nothing, not even the values that are free', async () => {
      expect(await of('a b').tryLock({ threadId: 1 })).to.equal(true);
      expect(await of('b c').tryLock({ threadId: 999 })).to.equal(false);
      expect(await redis.hlen(group)).to.equal(6);
      expect(await of('c d').tryLock({ threadId: 999 })).to.equal(true);
      await of('c d').unlock(999);
      await of('a b').unlock(1);
    });

    it('FM-06: a timed wait gets in when the lease of a value ends', async () => {
      const startedAt = monotonicNow();
      await of('a b').lock(400, undefined, 1);
      // What keeps the hash beyond that.
      await of('z').lock(60_000, undefined, 2);
      expect(await of('b c').tryLock(10_000, 20_000, undefined, 999)).to.equal(true);
      expect(monotonicNow() - startedAt).to.be.within(395, 5_000);
      await of('b c').unlock(999);
      await of('z').unlock(2);
      await redis.del(group);
    });

    it('FM-07 G-04: held and locked: each value counts, also the first and the only one', async () => {
      const [both, one, third] = [of('a b'), of('a'), of('c')];
      await both.lock(-1, undefined, 1);
      expect(await both.isHeldByThread(1)).to.equal(true);
      expect(await one.isHeldByThread(1)).to.equal(true);
      expect(await of('a c').isHeldByThread(1)).to.equal(false);
      expect(await of('c a').isHeldByThread(1)).to.equal(false);
      expect(await third.isHeldByThread(1)).to.equal(false);
      expect(await third.isLocked()).to.equal(false);
      expect(await of('c a', other).isLocked()).to.equal(true);
      expect(await both.isHeldByThread(2)).to.equal(false);
      await both.unlock(1);
      expect(await both.isHeldByThread(1)).to.equal(false);
      expect(await both.isLocked()).to.equal(false);
    });

    it('has no hold count and no time to live of its own', async () => {
      expect(await rejection(of('a').getHoldCount())).to.be.instanceOf(UnsupportedOperationError);
      expect(await rejection(of('a').remainTimeToLive())).to.be.instanceOf(UnsupportedOperationError);
    });

    it('unlock gives back the values that lock took, and refuses other sets', async () => {
      await of('a b').lock(-1, undefined, 1);
      expect(await rejection(of('a').unlock(1))).to.be.instanceOf(IllegalMonitorStateError);
      expect(await rejection(of('a b c').unlock(1))).to.be.instanceOf(IllegalMonitorStateError);
      expect(await of('a b').isHeldByThread(1)).to.equal(true);
      await of('b a').unlock(1);
      expect(await redis.exists(group)).to.equal(0);
    });

    it('is a member of a multi-lock, with the lease of that', async () => {
      const multi = client.getMultiLock(of('a b'), client.getLock(`${group}-plain`));
      const hold = await multi.acquire({ leaseTime: 30_000, waitTime: 5_000 });
      const owner = `${client.getId()}:${hold.threadId}`;
      expect((await time(FIELD.a, owner)) - Date.now()).to.be.within(20_000, 30_000);
      expect(await of('b', other).tryLock()).to.equal(false);
      await hold.unlock();
      expect(await redis.exists(group, `${group}-plain`)).to.equal(0);
    });

    it('what a thread has of a plain lock of that name is no hold of values', async () => {
      const [plain, lock] = [client.getLock(group), of('a')];
      await plain.lock(-1, undefined, 1);
      expect(await lock.isHeldByThread(1)).to.equal(false);
      expect(await lock.isLocked()).to.equal(false);
      expect(await rejection(lock.unlock(1))).to.be.instanceOf(IllegalMonitorStateError);
      await plain.unlock(1);
      expect(await redis.exists(group)).to.equal(0);
    });
  });

  describe('waiters', () => {
    it('for values that have nothing in common all get in by one unlock', async () => {
      await of('a b c').lock(30_000, undefined, 1);
      const waiters = ['a', 'b', 'c', 'b c'].map((values, i) => of(values, other).lock(-1, undefined, i));
      await sleepUntil(async () => (await redis.pubsub('NUMSUB', `redisson_lock__channel:{${group}}`))[1] === 1);
      await sleep(30);
      await of('a b c').unlock(1);
      // Three of them at once; the last one when two of these are done.
      await Promise.all(waiters.slice(0, 3));
      expect(await of('a b c').isLocked()).to.equal(true);
      await of('b', other).unlock(1);
      await of('c', other).unlock(2);
      await waiters[3];
      await of('b c', other).unlock(3);
      await of('a', other).unlock(0);
    });

    it('get in as soon as the values they need are free, whatever else is taken', async () => {
      await of('a').lock(30_000, undefined, 1);
      await of('b').lock(30_000, undefined, 2);
      let inside = false;
      const waiter = of('a c', other)
        .lock(-1, undefined, 1)
        .then(() => (inside = true));
      await sleepUntil(async () => (await redis.pubsub('NUMSUB', `redisson_lock__channel:{${group}}`))[1] === 1);
      await of('b').unlock(2);
      await sleep(30);
      expect(inside).to.equal(false);
      await of('a').unlock(1);
      await waiter;
      await of('a c', other).unlock(1);
    });

    it('many of one process for values that overlap: never two with one value', async () => {
      const names = ['a', 'b', 'c', 'd', 'e'];
      const inside = new Map<string, number>();
      let entries = 0;
      await Promise.all(
        Array.from({ length: 60 }, async (_, i) => {
          const values = [names[i % 5]!, names[(i * 3 + 1) % 5]!];
          const hold = await client.getMultiLock(group, values).acquire();
          for (const value of new Set(values)) {
            expect(inside.get(value) ?? 0).to.equal(0);
            inside.set(value, 1);
          }
          await sleep(1);
          for (const value of values) inside.set(value, 0);
          entries++;
          await hold.unlock();
        }),
      );
      expect(entries).to.equal(60);
      expect(await redis.exists(group)).to.equal(0);
    });
  });

  describe('leases', () => {
    it('FM-04: the watchdog moves the time of every value, of the second set of values too', async () => {
      const owner = `${client.getId()}:1`;
      const first = await of('Jack_001 Mary_002').acquire({ threadId: 1 });
      const second = await of('a Mary_002').acquire({ threadId: 1 });
      const fields = Object.values(FIELD);
      /** Resolves when each of them has moved. */
      const moved = async (...names: string[]): Promise<void> => {
        const times = () => Promise.all(names.map((field) => time(field, owner)));
        const before = await times();
        await sleepUntil(async () => (await times()).every((one, i) => one > before[i]!), { timeout: 10_000 });
      };
      await moved(...fields);
      expect([first.isHeld, second.isHeld]).to.deep.equal([true, true]);
      await first.unlock();
      await moved(FIELD.a, FIELD.Mary_002);
      expect(second.isHeld).to.equal(true);
      expect(await of('Jack_001').isLocked()).to.equal(false);
      expect(await of('a Mary_002').isHeldByThread(1)).to.equal(true);
      await second.unlock();
      expect(await redis.exists(group)).to.equal(0);
    });

    it('each set has its own: one that ends is told, and frees its values only', async () => {
      const long = await of('b c').acquire({ threadId: 1 });
      const short = await of('a b').acquire({ threadId: 1, leaseTime: 200 });
      await sleepUntil(() => short.signal.aborted);
      expect(short.signal.reason).to.be.instanceOf(LockLostError);
      expect(long.isHeld).to.equal(true);
      // A value that both have lives on; the others may take what is over.
      expect(await of('a', other).tryLock(5_000, -1, undefined, 5)).to.equal(true);
      expect(await of('b', other).tryLock({ threadId: 5 })).to.equal(false);
      await rejection(short.unlock());
      expect(await of('b c').isHeldByThread(1)).to.equal(true);
      expect(await of('a', other).isHeldByThread(5)).to.equal(true);
      await long.unlock();
      await of('a', other).unlock(5);
      await sleepUntil(async () => (await redis.exists(group)) === 0);
    });

    it('the watchdog leaves alone what has a lease of its own, be it of the same thread', async () => {
      const owner = `${client.getId()}:1`;
      await of('a').lock(20_000, undefined, 1);
      await of('Jack_001').lock(-1, undefined, 1);
      const [leased, renewed] = [await time(FIELD.a, owner), await time(FIELD.Jack_001, owner)];
      await sleepUntil(async () => (await time(FIELD.Jack_001, owner)) > renewed, { timeout: 10_000 });
      expect(await time(FIELD.a, owner)).to.equal(leased);
      await of('a').unlock(1);
      await of('Jack_001').unlock(1);
      expect(await redis.exists(group)).to.equal(0);
    });

    it('a lease that ends is no loss while another set of the thread keeps every value of it', async () => {
      const short = await of('a b').acquire({ threadId: 1, leaseTime: LEASE_MS });
      const [left, right] = [await of('a x').acquire({ threadId: 1 }), await of('b y').acquire({ threadId: 1 })];
      await sleep(LEASE_MS + 100);
      expect(short.isHeld).to.equal(true);
      await left.unlock();
      expect(short.isHeld).to.equal(false);
      expect(short.signal.aborted).to.equal(true);
      expect(right.isHeld).to.equal(true);
      await right.unlock();
      await sleepUntil(async () => (await redis.exists(group)) === 0);
    });

    it('a value that vanishes loses the holds that have it, and no other', async () => {
      const lost = await of('a b').acquire({ threadId: 1 });
      const kept = await of('b c').acquire({ threadId: 1 });
      await redis.hdel(group, FIELD.a);
      await new Promise((resolve) => lost.signal.addEventListener('abort', resolve));
      expect(kept.isHeld).to.equal(true);
      await untilRenewed(kept);
      expect(kept.isHeld).to.equal(true);
      expect(await rejection(lost.unlock())).to.be.instanceOf(LockLostError);
      expect(await of('b c').isHeldByThread(1)).to.equal(true);
      await kept.unlock();
      expect(await of('b c').isLocked()).to.equal(false);
      await redis.del(group);
    });

    it('a release that finds a value gone gives the others back, wakes their waiters, and says so', async () => {
      await of('a b').lock(30_000, undefined, 1);
      const waiter = of('b', other).lock(-1, undefined, 1);
      await sleepUntil(async () => (await redis.pubsub('NUMSUB', `redisson_lock__channel:{${group}}`))[1] === 1);
      await redis.hdel(group, FIELD.a);
      expect(await rejection(of('a b').unlock(1))).to.be.instanceOf(IllegalMonitorStateError);
      await waiter;
      await of('b', other).unlock(1);
      await redis.del(group);
    });

    it('a set that is given back leaves the values of another one with the lease that they need', async () => {
      await of('a b').lock(60_000, undefined, 1);
      await of('b').lock(30_000, undefined, 1);
      const waiter = of('b', other).lock(-1, undefined, 1);
      await sleepUntil(async () => (await redis.pubsub('NUMSUB', `redisson_lock__channel:{${group}}`))[1] === 1);
      await of('a b').unlock(1);
      expect(await of('a').isLocked()).to.equal(false);
      expect(await of('b').isHeldByThread(1)).to.equal(true);
      await of('b').unlock(1);
      await waiter;
      await of('b', other).unlock(1);
    });
  });

  describe('clocks', () => {
    for (const minutes of [-10, 10]) {
      it(`a client whose clock is ${minutes} minutes off neither takes a held value nor loses its own`, async () => {
        await of('a b').lock(60_000, undefined, 1);
        sinon.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * 60_000, shouldClearNativeTimers: true });
        expect(await of('b c', other).tryLock({ threadId: 2 })).to.equal(false);
        expect(await of('b').isLocked()).to.equal(true);
        expect(await of('a b').isHeldByThread(1)).to.equal(true);
        await of('c', other).lock(60_000, undefined, 2);
        const renewed = await of('d', other).acquire({ threadId: 2 });
        await untilRenewed(renewed);
        sinon.restore();
        expect(renewed.isHeld).to.equal(true);
        expect(await of('c').tryLock({ threadId: 3 })).to.equal(false);
        expect(await of('d').tryLock({ threadId: 3 })).to.equal(false);
        await renewed.unlock();
        await of('c', other).unlock(2);
        await of('a b').unlock(1);
        expect(await redis.exists(group)).to.equal(0);
      });
    }
  });

  describe('many values', () => {
    /** CPU time of this process for sets inside each other, each with one value more, in ms: the best of three. */
    async function cpuOf(values: number, sets: number, step: number): Promise<number> {
      // Nothing is renewed meanwhile.
      const client = newClient({ lockWatchdogTimeout: 60_000 });
      const all = Array.from({ length: values + sets * step }, (_, i) => `value ${i}`);
      const locks = Array.from({ length: sets }, (_, i) => client.getMultiLock(group, all.slice(0, values + i * step)));
      let best = Infinity;
      for (let i = 0; i < 3; i++) {
        const before = process.cpuUsage();
        for (const lock of locks) await lock.lock(-1, undefined, 1);
        for (const lock of locks) await lock.unlock(1);
        const { user, system } = process.cpuUsage(before);
        best = Math.min(best, (user + system) / 1_000);
      }
      return best;
    }

    it('C8: 40 000 values are locked, renewed and unlocked, and a lock beside them lives', async function () {
      this.timeout(60_000);
      // Each script takes the server a fifth of a second of CPU, and six seconds on a machine with 24 others at work: a
      // lease has to be longer than that.
      const client = newClient({ lockWatchdogTimeout: 18_000, timeout: 12_000 });
      const beside = await client.getLock(`${group}-beside`).acquire();
      const hold = await client
        .getMultiLock(
          group,
          Array.from({ length: 40_000 }, (_, i) => `value ${i}`),
        )
        .acquire();
      await untilRenewed(hold, 18_000);
      await hold.unlock();
      expect(await redis.exists(group)).to.equal(0);
      expect(beside.isHeld).to.equal(true);
      await beside.unlock();
    });

    it('C8: the CPU time grows in proportion to values and holds', async function () {
      this.timeout(60_000);
      await cpuOf(1_000, 4, 0);
      // Four times the work; with the square of it 16 times the time.
      expect((await cpuOf(4_000, 4, 0)) / (await cpuOf(1_000, 4, 0)), 'more values').to.be.lessThan(9);
      expect((await cpuOf(500, 64, 0)) / (await cpuOf(500, 16, 0)), 're-entered').to.be.lessThan(9);
      expect(
        (await cpuOf(2_000, 8, 1)) / (await cpuOf(500, 8, 1)),
        'more values in sets inside each other',
      ).to.be.lessThan(9);
    });
  });

  describe('threads', () => {
    it('a callback inside another one of the group re-enters the values that both have', async () => {
      await of('a b').withLock(async (outer) => {
        await of('b c').withLock(async (inner) => {
          expect(inner.threadId).to.equal(outer.threadId);
          expect(await of('a b c').isHeldByThread(outer.threadId)).to.equal(true);
          expect(await of('c', other).tryLock()).to.equal(false);
          await of('a c').withLock(() => undefined);
        });
        expect(await of('c').isLocked()).to.equal(false);
        expect(await of('b').isHeldByThread(outer.threadId)).to.equal(true);
      });
      expect(await redis.exists(group)).to.equal(0);
    });

    it('C7: branches in a callback take turns where they share a value with it; others run side by side', async () => {
      let inside = 0;
      let most = 0;
      const work = async (): Promise<void> => {
        most = Math.max(most, ++inside);
        await sleep(20);
        inside--;
      };
      await of('a b').withLock(() => Promise.all(['a', 'a b', 'c b a'].map((values) => of(values).withLock(work))));
      expect(most).to.equal(1);
      /** Work that waits for that of the others: all of it runs side by side. */
      const meet = (count: number): (() => Promise<unknown>) => {
        let met = 0;
        return () => {
          met++;
          return sleepUntil(() => met === count, { message: `${count} side by side` });
        };
      };
      const three = meet(3);
      await of('a b').withLock(() => Promise.all(['a', 'b', 'c'].map((values) => of(values).withLock(three))));
      const two = meet(2);
      await client.runInThread(() => Promise.all(['a', 'b'].map((values) => of(values).withLock(two))));
      expect(await redis.exists(group)).to.equal(0);
    });

    it('C7: a callback that leaves a wait for another value behind gives its own value back', async () => {
      await of('b', other).lock(30_000, undefined, 1);
      let left: Promise<void> | undefined;
      await of('a').withLock(() => {
        left = of('b').withLock(() => undefined);
      });
      await of('a', other).lock(30_000, undefined, 1);
      await of('b', other).unlock(1);
      await left;
      await of('a', other).unlock(1);
      expect(await redis.exists(group)).to.equal(0);
    });

    it('C7: a thread acquires, releases and prolongs values while it waits for others', async () => {
      await of('b', other).lock(30_000, undefined, 1);
      const hold = await of('a').acquire({ threadId: 1 });
      const waiter = of('b').lock(-1, undefined, 1);
      await of('c').lock(-1, undefined, 1);
      expect(await rejection(of('b c').lock(-1, undefined, 1))).to.be.instanceOf(IllegalMonitorStateError);
      expect(await rejection(of('b').lock(-1, undefined, 1))).to.be.instanceOf(IllegalMonitorStateError);
      await hold.unlock();
      await of('c').unlock(1);
      await of('b', other).unlock(1);
      await waiter;
      await of('b').unlock(1);
      expect(await redis.exists(group)).to.equal(0);
    });

    it('C7: a release waits for an acquisition that shares a value: the count stays right', async () => {
      await of('c', other).lock(30_000, undefined, 1);
      await of('a b').lock(30_000, undefined, 1);
      const waiter = of('b c').lock(30_000, undefined, 1);
      let released = false;
      const release = of('a b')
        .unlock(1)
        .then(() => (released = true));
      await sleep(50);
      expect(released).to.equal(false);
      await of('c', other).unlock(1);
      await Promise.all([waiter, release]);
      expect(await of('a').isLocked()).to.equal(false);
      expect(await of('b').isHeldByThread(1)).to.equal(true);
      expect(await of('b', other).tryLock({ threadId: 1 })).to.equal(false);
      await of('b c').unlock(1);
      expect(await redis.exists(group)).to.equal(0);
    });

    it('lock and unlock in a thread, sets that overlap, in any order', async () => {
      await client.runInThread(async () => {
        await of('a b').lock();
        await of('b c').lock();
        await of('a b').unlock();
        expect(await of('b c').isHeldByCurrentThread()).to.equal(true);
        expect(await of('a').isLocked()).to.equal(false);
        await of('b c').unlock();
      });
      expect(await redis.exists(group)).to.equal(0);
    });
  });
});
