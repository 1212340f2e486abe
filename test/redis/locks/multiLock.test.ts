// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import {
  ConfigError,
  IllegalMonitorStateError,
  LockLostError,
  LockTimeoutError,
  TimeUnit,
  UnsupportedOperationError,
  type Redisson,
  type RLock,
} from '../../../lib';
import { client, connection, listening, openScene, within } from '../../faults/scene';
import {
  monitor,
  monotonicNow,
  redisUrl,
  RedisServer,
  sleep,
  sleepUntil,
  trackClient,
  uniqueName,
} from '../../support';
import { Inside, rejection } from '../synchronizers/support';

describe('MultiLock', () => {
  let base: string;
  let names: string[];
  let redis: Redis;
  let one: Redisson;
  let other: Redisson;

  beforeEach(() => {
    base = uniqueName('multi');
    names = ['a', 'b', 'c'].map((letter) => `${base}:${letter}`);
    redis = connection();
    one = client(redisUrl());
    other = client(redisUrl());
  });

  afterEach(() => redis.del(...names));

  function multi(of = one, order = names): RLock {
    return of.getMultiLock(...order.map((name) => of.getLock(name)));
  }

  async function ttls(): Promise<number[]> {
    return Promise.all(names.map((name) => redis.pttl(name)));
  }

  async function expectFree(): Promise<void> {
    await sleepUntil(async () => (await redis.exists(...names)) === 0, { message: 'all members are free' });
  }

  it('is made of at least one lock, and of locks only', () => {
    expect(() => one.getMultiLock()).to.throw(ConfigError, 'Lock objects are not defined');
    expect(() => one.getRedLock()).to.throw(ConfigError, 'Lock objects are not defined');
    for (const nothing of [undefined, null, 'a', {}, 5]) {
      expect(() => one.getMultiLock(one.getLock('a'), nothing as never)).to.throw(ConfigError);
    }
  });

  it('has no name, hold count, life or force of its own', async () => {
    const lock = multi();
    expect(() => lock.getName()).to.throw(UnsupportedOperationError);
    for (const call of [lock.getHoldCount(), lock.isLocked(), lock.remainTimeToLive(), lock.forceUnlock()]) {
      expect(await rejection(call)).to.be.instanceOf(UnsupportedOperationError);
    }
    expect(lock.name).to.equal(names.join(', '));
  });

  it('ML-01 LX-01: takes all for one thread, with the lease of each unit, and gives all back', async () => {
    const lock = multi();
    await lock.lock(10, TimeUnit.SECONDS, 5);
    expect(await lock.isHeldByThread(5)).to.equal(true);
    expect(await lock.isHeldByThread(6)).to.equal(false);
    for (const name of names) expect(await one.getLock(name).isHeldByThread(5)).to.equal(true);
    for (const ttl of await ttls()) expect(ttl).to.be.within(8_000, 10_000);
    await lock.unlock(5);
    expect(await lock.isHeldByThread(5)).to.equal(false);
    expect(await redis.exists(...names)).to.equal(0);

    await one.runInThread(async () => {
      await lock.lock();
      expect(await lock.isHeldByCurrentThread()).to.equal(true);
      await multi().unlock();
      expect(await lock.isHeldByCurrentThread()).to.equal(false);
    });
  });

  it('ML-03: another one over the same locks waits, in whatever order it names them, and completes', async () => {
    const first = multi();
    await first.lock(-1, undefined, 1);
    const waiting = multi(other, [...names].reverse()).lock(-1, undefined, 1);
    await listening(redis, base);
    await sleep(100);
    await first.unlock(1);
    await within(3_000, 'the other one', waiting);
    await multi(other).unlock(1);
    await expectFree();
  });

  it('is re-entrant for its thread, with leases as every lock: the inner one never shortens the outer one', async () => {
    const lock = multi();
    await lock.lock(-1, undefined, 1);
    await lock.lock(500, undefined, 1);
    for (const ttl of await ttls()) expect(ttl).to.be.above(20_000);
    await lock.unlock(1);
    expect(await lock.isHeldByThread(1)).to.equal(true);
    await lock.unlock(1);
    await expectFree();
    expect(await rejection(lock.unlock(1))).to.be.instanceOf(IllegalMonitorStateError);
  });

  it('one thread acquires it once at a time', async () => {
    await other.getLock(names[1]!).lock();
    const lock = multi();
    const first = lock.tryLock(400);
    expect(await rejection(lock.lock())).to.be.instanceOf(IllegalMonitorStateError);
    expect(await first).to.equal(false);
    await other.getLock(names[1]!).forceUnlock();
    await expectFree();
  });

  it('a single attempt that fails leaves nothing, and says how long the busy one lives', async () => {
    await other.getLock(names[2]!).lock(5_000);
    const lock = multi();
    expect(await lock.tryLock()).to.equal(false);
    expect(await lock.tryLock(0)).to.equal(false);
    expect(await lock.tryAcquire()).to.be.within(3_000, 5_000);
    expect(await lock.tryAcquireHold()).to.equal(null);
    expect(await redis.exists(names[0]!, names[1]!)).to.equal(0);
    await other.getLock(names[2]!).forceUnlock();
    expect(await lock.tryAcquire(1_000)).to.equal(null);
    await lock.unlock();
  });

  it('a timed one gives up in time and gives back what it has', async () => {
    await other.getLock(names[2]!).lock();
    const startedAt = monotonicNow();
    expect(await multi().tryLock(300)).to.equal(false);
    expect(monotonicNow() - startedAt).to.be.within(299, 1_500);
    expect(await redis.exists(names[0]!, names[1]!)).to.equal(0);
    expect(await rejection(multi().acquire({ waitTime: 50 }))).to.be.instanceOf(LockTimeoutError);
    await other.getLock(names[2]!).forceUnlock();
  });

  it('waits for the busy one with empty hands after a while, and does not poll', async () => {
    await other.getLock(names[1]!).lock();
    const lock = one.getMultiLock(one.getLock(names[0]!), one.getLock(names[1]!));
    const taking = lock.acquire();
    await sleepUntil(async () => (await redis.exists(names[0]!)) === 1);
    await sleepUntil(async () => (await redis.exists(names[0]!)) === 0, { timeout: 6_000 });
    await listening(redis, base);
    await sleep(100);
    const watch = trackClient(await monitor(redisUrl()));
    await sleep(300);
    expect(await watch.sentNames()).to.deep.equal([]);
    await other.getLock(names[1]!).forceUnlock();
    const hold = await within(2_000, 'the multi-lock', taking);
    expect(await redis.exists(names[0]!, names[1]!)).to.equal(2);
    await hold.unlock();
    await expectFree();
  });

  it('A+B and B+A, over several clients, do not dead-lock, and are never two inside', async () => {
    const inside = new Inside();
    const clients = [one, other, client(redisUrl())];
    const orders = [names, [...names].reverse(), [names[1]!, names[2]!, names[0]!]];
    const work = clients.flatMap((each, c) =>
      [0, 1].map(async (t) => {
        for (let i = 0; i < 8; i++) await multi(each, orders[(c + t + i) % 3]).withLock(() => inside.run(1));
      }),
    );
    await within(9_000, 'all are through', Promise.all(work));
    expect(inside.runs).to.equal(48);
    expect(inside.most).to.equal(1);
    await expectFree();
  });

  it('overlapping sets get through while single locks are busy all the time', async () => {
    let stop = false;
    let done = 0;
    const busy = names.map(async (name) => {
      while (!stop) {
        await one.getLock(name).withLock(() => sleep(3));
      }
    });
    const sets = [
      [names[0]!, names[1]!],
      [names[1]!, names[2]!],
      [names[2]!, names[0]!],
    ];
    const work = sets.map(async (set) => {
      for (let i = 0; i < 4; i++) {
        await multi(one, set).withLock(() => sleep(1));
        done += 1;
      }
    });
    await within(9_000, 'all sets are through', Promise.all(work));
    stop = true;
    await Promise.all(busy);
    expect(done).to.equal(12);
    await expectFree();
  });

  it('the lease begins for all members when the last one is there: none ends early, none late', async () => {
    const blocking = other.getLock(names[2]!);
    await blocking.lock();
    const taking = multi().acquire({ leaseTime: 600 });
    // The first two are taken long before the third, and are kept meanwhile.
    await sleepUntil(async () => (await redis.exists(names[0]!, names[1]!)) === 2);
    await sleep(800);
    expect(await redis.exists(names[0]!, names[1]!)).to.equal(2);
    await blocking.unlock();
    const hold = await within(2_000, 'the multi-lock', taking);
    const lives = await ttls();
    for (const ttl of lives) expect(ttl).to.be.within(200, 600);
    expect(Math.max(...lives) - Math.min(...lives)).to.be.below(150);
    expect(hold.isHeld).to.equal(true);
    expect(hold.signal.aborted).to.equal(false);
    await sleepUntil(() => hold.signal.aborted, { timeout: 1_500 });
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    expect(hold.isHeld).to.equal(false);
    await expectFree();
    expect(await rejection(hold.unlock())).to.be.instanceOf(LockLostError);
  });

  for (const [whose, signalOf] of [
    ['an abort', ({ signal }) => signal],
    // As jsdom and vm have it, and older: without throwIfAborted.
    ['an abort by a signal of another realm', foreignSignal],
  ] as readonly [string, (stop: AbortController) => AbortSignal][]) {
    it(`${whose} gives back what was taken`, async () => {
      await other.getLock(names[2]!).lock();
      const stop = new AbortController();
      const taking = rejection(multi().lock(-1, undefined, { signal: signalOf(stop) }));
      await sleepUntil(async () => (await redis.exists(names[0]!, names[1]!)) === 2);
      stop.abort(new Error('stop'));
      expect((await within(1_000, 'the abort', taking)).message).to.equal('stop');
      expect(await redis.exists(names[0]!, names[1]!)).to.equal(0);
      await other.getLock(names[2]!).forceUnlock();
    });
  }

  it('a member that is lost ends the hold, and its release tells so', async () => {
    const hold = await multi().acquire();
    expect(hold.signal.aborted).to.equal(false);
    await one.getLock(names[1]!).forceUnlock();
    expect(hold.isHeld).to.equal(false);
    expect(hold.signal.aborted).to.equal(true);
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    expect((hold.signal.reason as LockLostError).lockName).to.equal(names.join(', '));
    expect(((hold.signal.reason as LockLostError).cause as LockLostError).lockName).to.equal(names[1]);
    expect(await rejection(hold.unlock())).to.be.instanceOf(LockLostError);
    await expectFree();
  });

  for (const [lease, leaseTime] of [
    ['a lease', 20_000],
    ['the watchdog', -1],
  ] as const) {
    it(`extend(-1) that finds one lost gives the others back, and tells the loss once: from ${lease}`, async () => {
      const lost: string[] = [];
      one.onLockLost((event) => lost.push(event.name));
      const hold = await multi().acquire({ leaseTime });
      const { signal } = hold;
      const waiting = other.getLock(names[0]!).acquire({ waitTime: 8_000 });
      await listening(redis, base);
      await redis.del(names[1]!);
      const error = await rejection(hold.extend(-1));
      expect(error).to.be.instanceOf(LockLostError);
      expect((error as LockLostError).lockName).to.equal(names.join(', '));
      expect(hold.isHeld).to.equal(false);
      expect(signal.reason).to.be.instanceOf(LockLostError);
      await (await within(3_000, 'the waiter for another member', waiting)).unlock();
      await expectFree();
      expect(lost).to.deep.equal([names[1]]);
      for (const again of [hold.unlock(), hold.extend(5_000)]) {
        expect(await rejection(again)).to.be.instanceOf(LockLostError);
      }
    });
  }

  it('unlock releases all, whatever happens to one, and tells the first error', async () => {
    const lock = multi();
    await lock.lock(-1, undefined, 1);
    await redis.del(names[1]!);
    expect(await rejection(lock.unlock(1))).to.be.instanceOf(IllegalMonitorStateError);
    await expectFree();
  });

  it('is made of any kinds of lock, multi-locks too', async () => {
    const kinds: ((of: Redisson) => RLock)[] = [
      (of) => of.getFairLock(names[0]!),
      (of) => of.getReadWriteLock(names[1]!).writeLock(),
      (of) => of.getReadWriteLock(`${base}:h`).readLock(),
      (of) => of.getMultiLock(of.getSpinLock(names[2]!), of.getNonReentrantLock(`${base}:d`)),
      (of) => of.getRedLock(...['e', 'f', 'g'].map((letter) => of.getLock(`${base}:${letter}`))),
    ];
    const all = (of: Redisson): RLock => of.getMultiLock(...kinds.map((kind) => kind(of)));
    const hold = await all(one).acquire({ leaseTime: 5_000 });
    const keys = await redis.keys(`${base}:*`);
    expect(keys).to.have.lengthOf(8);
    keys.push(...(await redis.keys(`{${base}:h}:*:rwlock_timeout:1`)));
    expect(keys).to.have.lengthOf(9);
    for (const key of keys) expect(await redis.pttl(key), key).to.be.within(3_000, 5_000);
    expect(await all(other).tryLock()).to.equal(false);
    const waiting = all(other).tryLock(5_000);
    await sleep(50);
    await hold.unlock();
    expect(await within(3_000, 'the other one', waiting)).to.equal(true);
    const held = await redis.keys(`${base}:*`);
    expect(held).to.have.lengthOf(8);
    await redis.del(...(await redis.keys(`*${base}*`)));
  });

  it('rejects, instead of waiting, when a member holds another type; the others are given back', async () => {
    await redis.set(names[1]!, 'text');
    expect(await rejection(multi().lock())).to.have.property('code', 'COMMAND');
    expect(await redis.exists(names[0]!, names[2]!)).to.equal(0);
    expect(await redis.get(names[1]!)).to.equal('text');
  });

  it('rejects with the connection error when a server is gone, and gives back the others', async () => {
    const { proxy } = await openScene();
    const far = client(proxy.url, { timeout: 300, retryAttempts: 1 });
    const lock = one.getMultiLock(one.getLock(names[0]!), far.getLock(names[1]!));
    await lock.lock();
    await lock.unlock();
    proxy.refuse();
    proxy.cut();
    const error = await within(6_000, 'the error', rejection(lock.lock()));
    expect(error).to.have.property('code', 'CONNECTION');
    expect(await redis.exists(...names)).to.equal(0);
  });

  it('ML-04: over three servers, many threads, never two inside', async () => {
    const servers = await Promise.all([1, 2, 3].map(() => RedisServer.start()));
    servers.forEach((server) => trackClient(server));
    const clients = servers.map((server) => client(server.url));
    const inside = new Inside();
    const make = (): RLock => one.getMultiLock(...clients.map((each) => each.getLock(base)));
    await within(
      9_000,
      'all are through',
      Promise.all(Array.from({ length: 15 }, () => make().withLock(() => inside.run(1), { leaseTime: 10_000 }))),
    );
    expect(inside.runs).to.equal(15);
    expect(inside.most).to.equal(1);
    for (const each of clients) expect(await each.getLock(base).isLocked()).to.equal(false);
  });
});

function foreignSignal({ signal }: AbortController): AbortSignal {
  return {
    get aborted(): boolean {
      return signal.aborted;
    },
    get reason(): unknown {
      return signal.reason as unknown;
    },
    addEventListener: signal.addEventListener.bind(signal),
    removeEventListener: signal.removeEventListener.bind(signal),
  } as AbortSignal;
}
