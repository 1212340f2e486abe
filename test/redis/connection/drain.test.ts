import { expect } from 'chai';
import { Redis } from 'ioredis';
import pDefer from 'p-defer';
import { type BackOff, ConfigError, ConnectionError, Redisson, ShutdownError } from '../../../lib';
import { redisUrl, risen, sleep, sleepUntil, TcpProxy, trackClient, uniqueName } from '../../support';

/** Long compared with everything that is done here; nothing may take that long. */
const DRAIN_MS = 20_000;
/** What ends at once ends within this, also on a machine that stands still for a while. */
const AT_ONCE_MS = 5_000;
/** Renewed every two seconds; a machine that stands still for two more loses nothing. */
const WATCHDOG_MS = 6_000;

describe('shutdown({ drain })', function () {
  this.timeout(30_000);
  let client: Redisson;
  let other: Redisson;

  beforeEach(() => {
    client = trackClient(Redisson.create({ url: redisUrl(), lockWatchdogTimeout: WATCHDOG_MS }));
    other = trackClient(Redisson.create(redisUrl()));
  });

  const pausing = (ms: number): BackOff => ({ create: () => ({ getNextSleepPeriod: () => ms }) });

  async function errorOf(work: Promise<unknown>): Promise<unknown> {
    return work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
  }

  /** Waits until the lease of a lock has risen in Redis. */
  async function renewed(name: string): Promise<void> {
    const admin = trackClient(new Redis(redisUrl()));
    const isRenewed = risen(() => admin.pttl(name));
    await sleepUntil(isRenewed, { interval: 20, timeout: WATCHDOG_MS, message: `a renewal of ${name}` });
  }

  it('ends as soon as everything is given back; meanwhile the watchdog renews and unlock works', async () => {
    const locks = [client.getLock(uniqueName()), client.getFairLock(uniqueName()), client.getLock(uniqueName())];
    for (const lock of locks) await lock.lock();
    const closing = client.shutdown({ drain: DRAIN_MS });
    await Promise.all(locks.map(({ name }) => renewed(name)));
    await locks[0]!.unlock();
    await locks[1]!.unlock();
    await sleep(50);
    expect(client.getConfig()).to.be.an('object');
    const givenBackAt = performance.now();
    await locks[2]!.unlock();
    await closing;
    expect(performance.now() - givenBackAt).to.be.lessThan(AT_ONCE_MS);
    for (const lock of locks) expect(await other.getLock(lock.name).isLocked()).to.equal(false);
  });

  it('rejects waiters and refuses new acquisitions at once, whatever their kind', async () => {
    const held = await client.getLock(uniqueName()).acquire();
    const busy = uniqueName();
    const mine = other.getLock(busy);
    await mine.lock();
    const semaphore = uniqueName();
    await other.getSemaphore(semaphore).trySetPermits(0);
    const waiting = [
      client.getLock(busy).lock(),
      client.getFairLock(`${busy}-fair`).tryLock(),
      client.getSpinLock(busy).lock(),
      client.getReadWriteLock(busy).readLock().tryLock(),
      client.getSemaphore(semaphore).acquire(),
    ];
    const waits = [waiting[0]!, waiting[2]!, waiting[4]!].map(errorOf);
    await Promise.all([waiting[1], errorOf(waiting[3]!)]);
    const admin = trackClient(new Redis(redisUrl()));
    await sleepUntil(async () => (await admin.pubsub('NUMSUB', `redisson_lock__channel:{${busy}}`))[1] !== 0);
    const closing = client.shutdown({ drain: DRAIN_MS });
    const draining = /is shutting down \(draining\)/;
    for (const error of await Promise.all(waits)) {
      expect(error).to.be.instanceOf(ShutdownError).with.property('message').match(draining);
    }
    for (const work of [
      client.getLock(uniqueName()).lock(),
      client.getLock(uniqueName()).tryLock(),
      client.getLock(busy).tryAcquire(),
      client.getFairLock(uniqueName()).lock(),
      client.getSpinLock(uniqueName()).lock(),
      client.getSemaphore(semaphore).tryAcquire(),
      client.getPermitExpirableSemaphore(uniqueName()).tryAcquire(),
      client.getMultiLock(client.getLock(uniqueName())).lock(),
    ]) {
      expect(await errorOf(work))
        .to.be.instanceOf(ShutdownError)
        .with.property('message')
        .match(draining);
    }
    // The time itself has no drain: what is held would be lost.
    for (const options of [{ drian: 1 }, 5000, '5s', null]) {
      expect(await errorOf(client.shutdown(options as never))).to.be.instanceOf(ConfigError);
    }
    expect(held.isHeld).to.equal(true);
    await held.unlock();
    // What was taken by tryLock above is held, too.
    await client.shutdown();
    await closing;
    expect(await errorOf(client.getLock(busy).lock()))
      .to.have.property('message')
      .match(/is shut down/);
    await mine.unlock();
    await other.getFairLock(`${busy}-fair`).forceUnlock();
  });

  it('C10: a section of another client of this process is no work of the client that drains', async () => {
    const name = uniqueName();
    await other.getLock(name).withLock(async () => {
      const waiting = errorOf(client.getLock(name).lock());
      await client.ping();
      const closing = client.shutdown({ drain: DRAIN_MS });
      expect(await waiting).to.be.instanceOf(ShutdownError);
      expect(await errorOf(client.getLock(uniqueName()).lock())).to.be.instanceOf(ShutdownError);
      await closing;
    });
  });

  it('C10: work under a lock finishes: re-entries, other locks, permits and latches; all else is refused', async () => {
    const names = { outer: uniqueName(), inner: uniqueName(), busy: uniqueName(), permits: uniqueName() };
    const busy = await other.getLock(names.busy).acquire();
    const semaphore = client.getPermitExpirableSemaphore(names.permits);
    await semaphore.trySetPermits(1);
    const begun = pDefer<void>();
    const draining = pDefer<void>();
    const done: string[] = [];
    const outer = client.getLock(names.outer);
    const work = outer.withLock(async () => {
      // These wait when the drain begins, ...
      const waiting = [
        client.getLock(names.busy).withLock(() => done.push('waited')),
        client.getSpinLock(names.busy, pausing(20)).withLock(() => done.push('spun')),
      ];
      begun.resolve();
      await draining.promise;
      await sleep(50);
      await busy.unlock();
      await Promise.all(waiting);
      // ... and these begin later.
      await outer.withLock(() => done.push('re-entered'));
      await client.getFairLock(names.inner).withLock(() => done.push('inner'));
      await client.runInThread(() => client.getLock(names.inner).withLock(() => done.push('in a thread')));
      await client.getMultiLock(outer, client.getLock(names.inner)).withLock(() => done.push('multi'));
      await semaphore.release(await semaphore.acquire());
      expect(await client.getCountDownLatch(uniqueName()).await(100)).to.equal(true);
    });
    await begun.promise;
    await sleep(50);
    const outside = [
      errorOf(client.getLock(names.busy).lock()),
      errorOf(client.getSpinLock(names.busy, pausing(60_000)).lock()),
    ];
    await sleep(50);
    const closing = client.shutdown({ drain: DRAIN_MS });
    for (const error of await Promise.all(outside)) expect(error).to.be.instanceOf(ShutdownError);
    draining.resolve();
    for (const refused of [outer.withLock(() => 1), semaphore.tryAcquire(), client.getLock(uniqueName()).tryLock()]) {
      expect(await errorOf(refused)).to.be.instanceOf(ShutdownError);
    }
    await work;
    await closing;
    expect(done.toSorted()).to.deep.equal(['in a thread', 'inner', 'multi', 're-entered', 'spun', 'waited']);
    await other.getPermitExpirableSemaphore(names.permits).delete();
  });

  it('C10: nothing held and nothing in flight ends it at once, also without a connection', async () => {
    const proxy = trackClient(await TcpProxy.start(redisUrl()));
    const one = trackClient(Redisson.create({ url: proxy.url, timeout: 1_000, retryAttempts: 1 }));
    const hold = await one.getLock(uniqueName()).acquire();
    const semaphore = one.getPermitExpirableSemaphore(uniqueName());
    proxy.refuse();
    proxy.cut();
    await sleepUntil(() => one.state === 'reconnecting');
    // Its rollback goes on, for which nobody waits.
    expect(await errorOf(hold.unlock())).to.be.instanceOf(ConnectionError);
    const told = one
      .getLock(uniqueName())
      .tryLock(50, -1)
      .catch((error: unknown) => error);
    expect(await told).to.be.instanceOf(ConnectionError);
    const pending = [
      one.getLock(uniqueName()).lock(),
      semaphore.acquire(),
      one.getCountDownLatch(uniqueName()).await(),
    ];
    const outcomes = pending.map(errorOf);
    const reads = errorOf(one.getLock(uniqueName()).isLocked());
    const startedAt = performance.now();
    await one.shutdown({ drain: DRAIN_MS });
    expect(performance.now() - startedAt).to.be.lessThan(AT_ONCE_MS);
    for (const error of await Promise.all([...outcomes, reads])) expect(error).to.be.instanceOf(ShutdownError);
    await other.getLock(hold.name).forceUnlock();
  });

  it('what is held after the time is left to expire, and its signal aborts', async () => {
    const admin = trackClient(new Redis(redisUrl()));
    const hold = await client.getLock(uniqueName()).acquire();
    const startedAt = performance.now();
    await client.shutdown({ drain: 300 });
    expect(performance.now() - startedAt).to.be.within(290, AT_ONCE_MS);
    expect(hold.signal.aborted).to.equal(true);
    // It would have been renewed before so little of its lease is left.
    const isExpiring = async (): Promise<boolean> => (await admin.pttl(hold.name)) < WATCHDOG_MS / 2;
    expect(await admin.pttl(hold.name)).to.be.greaterThan(0);
    await sleepUntil(isExpiring, { interval: 50, message: 'nobody renews it' });
    await admin.del(hold.name);
  });

  it('a second call without drain ends it; nothing held, it ends at once', async () => {
    await client.getLock(uniqueName()).lock(500);
    const startedAt = performance.now();
    const closing = client.shutdown({ drain: DRAIN_MS });
    await client.shutdown();
    await closing;
    const idle = Redisson.create(redisUrl());
    await idle.getLock(uniqueName()).isLocked();
    await idle.shutdown({ drain: DRAIN_MS });
    expect(performance.now() - startedAt).to.be.lessThan(AT_ONCE_MS);
    expect(await errorOf(idle.shutdown({ drain: -1 }))).to.be.instanceOf(RangeError);
    expect(await errorOf(idle.shutdown({ drain: NaN }))).to.be.instanceOf(RangeError);
  });

  it('of several calls the shortest time counts, whichever came first', async () => {
    const second = trackClient(Redisson.create({ url: redisUrl(), lockWatchdogTimeout: WATCHDOG_MS }));
    for (const [one, ...drains] of [
      [client, DRAIN_MS, 200],
      [second, 200, DRAIN_MS],
    ] as const) {
      const hold = await one.getLock(uniqueName()).acquire();
      const startedAt = performance.now();
      await Promise.all(drains.map((drain) => one.shutdown({ drain })));
      expect(performance.now() - startedAt).to.be.within(190, AT_ONCE_MS);
      expect(hold.signal.aborted).to.equal(true);
    }
  });

  it('an unlock in the turn of the shutdown wakes the waiter of another process, not one of its own', async () => {
    const name = uniqueName();
    const held = client.getLock(name);
    await held.lock();
    const own = errorOf(client.getLock(name).lock());
    const theirs = other.getLock(name);
    const waiting = theirs.lock();
    const admin = trackClient(new Redis(redisUrl()));
    await sleepUntil(async () => (await admin.pubsub('NUMSUB', `redisson_lock__channel:{${name}}`))[1] === 2);
    const closing = client.shutdown({ drain: DRAIN_MS });
    await held.unlock();
    expect(await own).to.be.instanceOf(ShutdownError);
    await waiting;
    await closing;
    await theirs.unlock();
  });

  it('places in a fair queue are left, and what was in flight is answered', async () => {
    const name = uniqueName();
    const held = other.getFairLock(name);
    await held.lock();
    const own = errorOf(client.getFairLock(name).lock());
    const admin = trackClient(new Redis(redisUrl()));
    await sleepUntil(async () => (await admin.llen(`redisson_lock_queue:{${name}}`)) === 1);
    const semaphore = client.getSemaphore(uniqueName());
    await semaphore.trySetPermits(1);
    const inFlight = semaphore.tryAcquire();
    const given = semaphore.release();
    await client.shutdown({ drain: DRAIN_MS });
    expect(await own).to.be.instanceOf(ShutdownError);
    expect([await inFlight, await given]).to.deep.equal([true, undefined]);
    expect(await admin.llen(`redisson_lock_queue:{${name}}`)).to.equal(0);
    await held.unlock();
    await admin.del(semaphore.name);
  });

  it('a rolling deploy: clients are replaced one after another under load, and nobody waits for a dead one', async () => {
    const name = uniqueName();
    let inside = 0;
    let longestMs = 0;
    let sections = 0;
    let stopped = false;
    const work = async (one: Redisson, gone: () => boolean): Promise<void> => {
      while (!stopped && !gone()) {
        const startedAt = performance.now();
        try {
          await one.getLock(name).withLock(async () => {
            longestMs = Math.max(longestMs, performance.now() - startedAt);
            expect(++inside).to.equal(1);
            await sleep(2);
            inside--;
            sections++;
          });
        } catch (error) {
          expect(error).to.be.instanceOf(ShutdownError);
          return;
        }
      }
    };
    const workers: Promise<void>[] = [];
    const start = (): { redisson: Redisson; leave(): void } => {
      const redisson = Redisson.create(redisUrl());
      let gone = false;
      for (let i = 0; i < 3; i++) workers.push(work(redisson, () => gone));
      return { redisson, leave: () => (gone = true) };
    };
    let fleet = [start(), start(), start()];
    for (let round = 0; round < 6; round++) {
      await sleep(150);
      const [oldest, ...rest] = fleet;
      fleet = [...rest, start()];
      oldest!.leave();
      const startedAt = performance.now();
      await oldest!.redisson.shutdown({ drain: DRAIN_MS });
      expect(performance.now() - startedAt).to.be.lessThan(AT_ONCE_MS);
    }
    stopped = true;
    await Promise.all(workers);
    await Promise.all(fleet.map(({ redisson }) => redisson.shutdown()));
    expect(sections).to.be.greaterThan(20);
    // A lease left behind would cost 30 s.
    expect(longestMs).to.be.lessThan(5_000);
    expect(await other.getLock(name).isLocked()).to.equal(false);
  });

  it('a drain that is over says once what is still held, by the logger or as a warning of the process', async () => {
    const lines: [fields: object, message: string][] = [];
    const ignore = (): void => undefined;
    const warn = (fields: object, message: string): void => {
      lines.push([fields, message]);
      throw new Error('a broken logger');
    };
    const logger = { debug: ignore, info: ignore, error: ignore, warn };
    const logging = trackClient(Redisson.create({ url: redisUrl(), logger }));
    const [one, two, left, given] = [uniqueName(), uniqueName(), uniqueName(), uniqueName()];
    for (const which of [logging, client]) {
      await which.getLock(`${one}${which.getId()}`).lock();
      await which.getLock(`${two}${which.getId()}`).acquire();
      await which.getLock(`${left}${which.getId()}`).withLock(() => undefined, { atLeast: 60_000 });
      await which.getLock(`${given}${which.getId()}`).withLock(() => undefined);
    }
    const warnings: (Error & { code?: string })[] = [];
    const heard = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', heard);
    try {
      await Promise.all([logging.shutdown({ drain: 100 }), client.shutdown({ drain: 100 })]);
      await trackClient(Redisson.create(redisUrl())).shutdown({ drain: 100 });
      await sleep(0);
    } finally {
      process.off('warning', heard);
    }
    const locks = [`${one}${logging.getId()}`, `${two}${logging.getId()}`];
    expect(lines.map(([fields]) => fields)).to.deep.equal([{ clientId: logging.getId(), locks }]);
    const named = (which: Redisson): string => `still held: '${one}${which.getId()}', '${two}${which.getId()}'.`;
    expect(lines[0]![1]).to.contain(named(logging));
    // That the logger is broken is said, too.
    expect(warnings.map(({ code }) => code)).to.have.members(['IOREDISSON_DRAIN', 'IOREDISSON_LISTENER']);
    expect(warnings.find(({ code }) => code === 'IOREDISSON_DRAIN')!.message).to.contain(named(client));
  });
});
