// Ids in titles: test/README.md
import { expect } from 'chai';
import sinon from 'sinon';
import { PrefixNameMapper, type RedissonClient, ShutdownError } from '../../lib';
import { createTestRedisson, type TestRedisson } from '../../lib/testing';
import { EVERY_LOCK, isComposed, makeLock } from '../support/kinds';

describe('object listeners of the test client', () => {
  let clock: sinon.SinonFakeTimers;
  let redisson: TestRedisson;
  let other: TestRedisson;
  let heard: string[];

  const notes = {
    onExpired: (name: string) => void heard.push(`expired ${name}`),
    onDeleted: (name: string) => void heard.push(`deleted ${name}`),
  };

  beforeEach(() => {
    clock = sinon.useFakeTimers({ now: Date.now() });
    redisson = createTestRedisson();
    other = createTestRedisson({ store: redisson });
    heard = [];
  });

  afterEach(async () => {
    await Promise.all([redisson.shutdown(), other.shutdown()]);
    clock.restore();
  });

  /** What was heard, after the messages that are on their way. */
  async function hears(...events: string[]): Promise<void> {
    await clock.tickAsync(0);
    expect(heard).to.deep.equal(events);
    heard.length = 0;
  }

  it('the last release deletes, also that of another client; a re-entry does not', async () => {
    const lock = redisson.getLock('x');
    await lock.addListener(notes);
    const held = await other.getLock('x').acquire({ threadId: 7 });
    const again = await other.getLock('x').acquire({ threadId: 7 });
    await again.unlock();
    await hears();
    await held.unlock();
    await hears('deleted x');
    await lock.lock();
    await other.getLock('x').forceUnlock();
    await hears('deleted x');
  });

  it('the end of a lease expires, at its time and though nobody asks', async () => {
    await redisson.getLock('x').addListener(notes);
    await other.getLock('x').lock(30_000);
    await other.getLock('y').lock(10_000);
    await clock.tickAsync(29_999);
    await hears();
    await clock.tickAsync(1);
    await hears('expired x');
    await other.getLock('x').lock(5_000);
    await clock.tickAsync(5_000);
    await hears('expired x');
  });

  it('a lock that was taken before somebody listens expires, too; one that is renewed does not', async () => {
    await other.getLock('x').lock(30_000);
    const kept = await other.getLock('kept').acquire();
    await redisson.getLock('x').addListener(notes);
    await redisson.getLock('kept').addListener(notes);
    await clock.tickAsync(100_000);
    await hears('expired x');
    await kept.unlock();
    await hears('deleted kept');
  });

  it('loseLock is an expiry; reset() tells nothing, and the listener stays', async () => {
    await redisson.getLock('x').addListener(notes);
    await other.getLock('x').lock();
    redisson.loseLock('x');
    await hears('expired x');
    await other.getLock('x').lock();
    redisson.reset();
    await hears();
    await other.getLock('x').withLock(() => undefined);
    await hears('deleted x');
  });

  it('each is told what it listens for, under the name as it was given, until it is removed', async () => {
    const mapped = createTestRedisson({ store: redisson, nameMapper: new PrefixNameMapper('app:') });
    const id = await mapped.getLock('x').addListener({ onDeleted: notes.onDeleted });
    const expired = await redisson.getLock('app:x').addListener({ onExpired: notes.onExpired });
    await redisson.getLock('app:x').withLock(() => undefined);
    await hears('deleted x');
    await mapped.getLock('x').removeListener(id);
    await redisson.getLock('app:x').removeListener(expired);
    await redisson.getLock('app:x').withLock(() => undefined);
    await hears();
    await mapped.shutdown();
    const refused = await mapped
      .getLock('x')
      .addListener(notes)
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(ShutdownError);
  });

  it('of semaphores and latches', async () => {
    const of = (by: RedissonClient) =>
      [by.getSemaphore('s'), by.getPermitExpirableSemaphore('p'), by.getCountDownLatch('l')] as const;
    for (const object of of(redisson)) await object.addListener(notes);
    const [semaphore, permits, latch] = of(other);
    await semaphore.trySetPermits(1);
    await semaphore.delete();
    await hears('deleted s');
    await permits.trySetPermits(1);
    await permits.delete();
    await hears('deleted p');
    await latch.trySetCount(1);
    await latch.countDown();
    await hears('deleted l');
  });

  for (const kind of EVERY_LOCK.filter((one) => !isComposed(one))) {
    it(`of every kind of lock: ${kind.name}`, async () => {
      await makeLock(kind, redisson, 'x').addListener(notes);
      const held = await makeLock(kind, other, 'x').acquire();
      await held.unlock();
      await hears('deleted x');
      await makeLock(kind, other, 'x').acquire({ leaseTime: 5_000 });
      await clock.tickAsync(6_000);
      await hears('expired x');
    });
  }
});
