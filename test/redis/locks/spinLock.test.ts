// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { ConstantBackOff, type Redisson } from '../../../lib';
import { client, connection, within } from '../../faults/scene';
import { monitor, monotonicNow, redisUrl, sleep, trackClient, uniqueName } from '../../support';
import { rejection } from '../synchronizers/support';

describe('spin lock', () => {
  let name: string;
  let redis: Redis;
  let one: Redisson;
  let other: Redisson;

  beforeEach(() => {
    name = uniqueName('spin');
    redis = connection();
    one = client(redisUrl());
    other = client(redisUrl());
  });

  afterEach(() => redis.del(name));

  it('refuses a back-off that cannot make pauses, at the call', () => {
    for (const backOff of [NaN, '5', {}, null, { create: 1 }]) {
      expect(() => one.getSpinLock(name, backOff as never)).to.throw(TypeError, /create\(\)/);
    }
  });

  it('sends no message and listens to none', async () => {
    const lock = one.getSpinLock(name);
    await lock.lock();
    const waiting = other.getSpinLock(name).lock();
    await sleep(50);
    const watch = trackClient(await monitor(redisUrl()));
    await lock.unlock();
    await within(1_000, 'the waiter enters', waiting);
    await other.getSpinLock(name).forceUnlock();
    const names = (await watch.commands()).map((command) => command.name);
    expect(names.filter((command) => /publish|subscribe/.test(command))).to.deep.equal([]);
  });

  it('A12: its waiters are rejected by a shutdown at once, however long they would sleep', async () => {
    await one.getSpinLock(name).lock();
    const locks = [other.getSpinLock(name, new ConstantBackOff().delay(60_000)), other.getSpinLock(name)];
    const waiting = locks.map((lock) => rejection(lock.lock()));
    const timed = rejection(other.getSpinLock(name, new ConstantBackOff().delay(60_000)).tryLock(50_000));
    await sleep(100);
    await other.shutdown();
    for (const error of await within(1_000, 'all are rejected', Promise.all([...waiting, timed]))) {
      expect(error).to.have.property('code', 'SHUTDOWN');
    }
    await one.getSpinLock(name).forceUnlock();
  });

  it('asks again and again, less and less often', async () => {
    const lock = one.getSpinLock(name);
    await lock.lock();
    const watch = trackClient(await monitor(redisUrl()));
    expect(await other.getSpinLock(name).tryLock(600)).to.equal(false);
    // 1 + 2 + 4 + ... + 64 = 127, then every 128 ms and a little more.
    const attempts = (await watch.sent()).filter((command) => command.name.startsWith('eval'));
    expect(attempts).to.have.length.within(7, 13);
    await lock.unlock();
  });

  it('waits as the given back-off says, a fresh policy for each acquisition', async () => {
    const asked: number[] = [];
    const backOff = {
      create: () => {
        let n = 0;
        return { getNextSleepPeriod: () => (asked.push((n += 1)), 200) };
      },
    };
    const lock = one.getSpinLock(name);
    await lock.lock();
    const spinning = other.getSpinLock(name, backOff);
    // Far longer than an attempt takes on a busy machine.
    expect(await spinning.tryLock(900)).to.equal(false);
    expect(await spinning.tryLock(500)).to.equal(false);
    expect(asked.filter((n) => n === 1)).to.have.lengthOf(2);
    expect(asked.length).to.be.within(4, 9);
    await lock.unlock();
    expect(await other.getSpinLock(name, new ConstantBackOff().delay(30)).tryLock()).to.equal(true);
  });

  it('rejects when the policy gives nonsense, and leaves nothing behind', async () => {
    const lock = one.getSpinLock(name);
    await lock.lock();
    const broken = other.getSpinLock(name, { create: () => ({ getNextSleepPeriod: () => NaN }) });
    expect(await rejection(broken.lock())).to.be.instanceOf(RangeError);
    await lock.unlock();
    expect(await redis.exists(name)).to.equal(0);
  });

  it('SP-19 SP-20: a pending acquisition succeeds soon after the unlock', async () => {
    const lock = one.getSpinLock(name);
    await lock.lock();
    let done = false;
    const waiting = other
      .getSpinLock(name)
      .tryLock(5_000, 30_000)
      .then((taken) => (done = taken));
    await sleep(300);
    expect(done).to.equal(false);
    await lock.unlock();
    await within(500, 'the waiter enters', waiting);
    expect(done).to.equal(true);
  });

  it('SP-21: a timed one gives up in time', async () => {
    await one.getSpinLock(name).lock();
    const startedAt = monotonicNow();
    expect(await other.getSpinLock(name).tryLock(200, 30_000)).to.equal(false);
    expect(monotonicNow() - startedAt).to.be.within(199, 1_000);
  });

  it('SP-22 SP-23: a single attempt', async () => {
    await one.getSpinLock(name).lock();
    expect(await other.getSpinLock(name).tryLock()).to.equal(false);
    await one.getSpinLock(name).forceUnlock();
    const lock = other.getSpinLock(name);
    expect(await lock.tryLock()).to.equal(true);
    await lock.unlock();
  });

  it('an abort ends the pause at once', async () => {
    await one.getSpinLock(name).lock();
    const stop = new AbortController();
    const slow = other.getSpinLock(name, new ConstantBackOff().delay(60_000));
    const waiting = rejection(slow.lock(-1, undefined, { signal: stop.signal }));
    await sleep(50);
    stop.abort(new Error('stop'));
    expect((await within(500, 'the waiter rejects', waiting)).message).to.equal('stop');
  });
});
