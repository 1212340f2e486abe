// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { IllegalMonitorStateError, type Redisson, type RReadWriteLock } from '../../../lib';
import { client, connection, listening, within } from '../../faults/scene';
import { redisUrl, sleep, uniqueName } from '../../support';
import { rejection } from '../synchronizers/support';

describe('read/write lock', () => {
  let name: string;
  let redis: Redis;
  let one: Redisson;
  let other: Redisson;
  let rw: RReadWriteLock;
  let rival: RReadWriteLock;

  beforeEach(() => {
    name = uniqueName('rw');
    redis = connection();
    one = client(redisUrl());
    other = client(redisUrl());
    rw = one.getReadWriteLock(name);
    rival = other.getReadWriteLock(name);
  });

  afterEach(async () => {
    const keys = await redis.keys(`*${name}*`);
    if (keys.length > 0) await redis.del(...keys);
  });

  it('has one name and two halves with one thread', async () => {
    expect([rw.name, rw.getName(), rw.readLock().name]).to.deep.equal([name, name, name]);
    await rw.writeLock().lock();
    expect(await rw.readLock().tryLock()).to.equal(true);
    expect(await one.getReadWriteLock(name).readLock().tryLock()).to.equal(false);
    await rw.readLock().unlock();
    await rw.writeLock().unlock();
    expect(await redis.exists(name)).to.equal(0);
  });

  it('RW-14: many read, nobody writes meanwhile, not even a reader (no upgrade)', async () => {
    expect(await rw.readLock().forceUnlock()).to.equal(false);
    await rw.readLock().lock();
    expect(await rw.writeLock().tryLock()).to.equal(false);
    expect(await rival.readLock().isHeldByCurrentThread()).to.equal(false);
    expect(await rival.readLock().isLocked()).to.equal(true);
    await rival.readLock().lock();
    await rw.readLock().unlock();
    expect(await rw.writeLock().tryLock()).to.equal(false);
    expect(await rw.readLock().isHeldByCurrentThread()).to.equal(false);
    expect(await rw.readLock().isLocked()).to.equal(true);
    await rival.readLock().unlock();
    expect(await rw.readLock().isLocked()).to.equal(false);
    expect(await rw.writeLock().tryLock()).to.equal(true);
    expect(await rw.writeLock().isHeldByCurrentThread()).to.equal(true);
    await rw.writeLock().unlock();
    expect(await rw.writeLock().isLocked()).to.equal(false);
    expect(await rw.writeLock().tryLock()).to.equal(true);
    expect(await rw.writeLock().forceUnlock()).to.equal(true);
  });

  it('RW-13: a writer re-enters, downgrades by its last unlock, and cannot come back while it reads', async () => {
    await rw.writeLock().lock();
    expect(await rw.writeLock().tryLock({ threadId: 7 })).to.equal(false);
    expect(await rw.writeLock().isHeldByThread(7)).to.equal(false);
    await rw.writeLock().unlock();

    await rw.writeLock().lock(-1, undefined, 1);
    expect(await rw.writeLock().tryLock({ threadId: 1 })).to.equal(true);
    expect(await rival.writeLock().isLocked()).to.equal(true);
    expect(await rival.readLock().tryLock()).to.equal(false);
    await rw.writeLock().unlock(1);
    expect(await rw.readLock().tryLock({ threadId: 1 })).to.equal(true);
    expect(await rival.readLock().tryLock()).to.equal(false);
    await rw.writeLock().unlock(1);
    expect(await rival.readLock().tryLock()).to.equal(true);
    expect(await rival.readLock().tryLock()).to.equal(true);
    expect(await rw.writeLock().tryLock({ threadId: 1 })).to.equal(false);
    expect(await rw.writeLock().isLocked()).to.equal(false);
    expect(await rw.writeLock().isHeldByThread(1)).to.equal(false);
    expect(await rw.writeLock().forceUnlock()).to.equal(false);
  });

  it('RW-10: under a write lock both halves are locked, and stay what they are when the read hold goes', async () => {
    await rw.writeLock().lock();
    expect(await rw.readLock().isLocked()).to.equal(false);
    await rw.readLock().lock();
    expect([await rw.readLock().isLocked(), await rw.writeLock().isLocked()]).to.deep.equal([true, true]);
    await rw.readLock().unlock();
    expect([await rw.readLock().isLocked(), await rw.writeLock().isLocked()]).to.deep.equal([false, true]);
    await rw.writeLock().unlock();
    expect(await rw.writeLock().isLocked()).to.equal(false);
  });

  it('RW-15: forceUnlock of one half leaves the other alone, and wakes who waits', async () => {
    await rw.readLock().lock();
    expect(await rw.writeLock().forceUnlock()).to.equal(false);
    expect(await rw.readLock().isLocked()).to.equal(true);
    expect(await rw.readLock().forceUnlock()).to.equal(true);
    await rw.writeLock().lock();
    expect(await rw.readLock().forceUnlock()).to.equal(false);
    const waiting = rival.writeLock().lock();
    await listening(redis, name);
    expect(await rw.writeLock().forceUnlock()).to.equal(true);
    await within(2_000, 'the waiter enters', waiting);
    await rival.writeLock().unlock();
  });

  it('RW-25: unlock of what another one reads or writes, or nobody does, is an error', async () => {
    const halves = [rw.readLock(), rw.writeLock()];
    for (const half of halves) expect(await rejection(half.unlock())).to.be.instanceOf(IllegalMonitorStateError);
    await rival.readLock().lock();
    for (const half of halves) expect(await rejection(half.unlock())).to.be.instanceOf(IllegalMonitorStateError);
    await rival.readLock().unlock();
    await rival.writeLock().lock();
    for (const half of halves) expect(await rejection(half.unlock())).to.be.instanceOf(IllegalMonitorStateError);
    expect(await rival.writeLock().isHeldByCurrentThread()).to.equal(true);
    await rival.writeLock().unlock();
  });

  it('RW-11: twenty readers enter at once when the writer leaves, in one process and in several', async () => {
    const clients = [one, other, client(redisUrl())];
    await rw.writeLock().lock();
    let inside = 0;
    let most = 0;
    const reading = Array.from({ length: 20 }, (_, i) =>
      clients[i % 3]!.getReadWriteLock(name)
        .readLock()
        .withLock(async () => {
          most = Math.max(most, (inside += 1));
          await sleep(400);
          inside -= 1;
        }),
    );
    await listening(redis, name, 3);
    await sleep(50);
    await rw.writeLock().unlock();
    await within(2_000, 'all readers', Promise.all(reading));
    expect(most).to.equal(20);
  });

  it('a downgrade wakes the readers who wait, and nobody who writes', async () => {
    await rw.writeLock().lock();
    await rw.readLock().lock();
    const reading = rival.readLock().lock();
    const writer = client(redisUrl()).getReadWriteLock(name).writeLock();
    const writing = writer.tryLock(1_500);
    await listening(redis, name, 2);
    await sleep(30);
    await rw.writeLock().unlock();
    await within(1_000, 'the reader enters', reading);
    await rw.readLock().unlock();
    await sleep(50);
    expect(await writer.isLocked()).to.equal(false);
    await rival.readLock().unlock();
    expect(await within(1_000, 'the writer enters', writing)).to.equal(true);
    await writer.unlock();
  });

  it('RW-04: colons, braces, spaces, unicode, and the owner itself in the name', async () => {
    const names = [
      `{t}:a:${name}`,
      `a b:{${name}}`,
      `ключ-${name}`,
      `${one.getId()}:1:write ${name}`,
      `x{y${name}`,
      `x}y${name}`,
    ];
    for (const odd of names) {
      const lock = one.getReadWriteLock(odd).readLock();
      await Promise.all(
        [1, 2, 3].map(async (threadId) => {
          for (let i = 0; i < 3; i++) {
            await lock.lock(-1, undefined, threadId);
            await lock.unlock(threadId);
          }
        }),
      );
      const both = one.getReadWriteLock(odd);
      await both.writeLock().lock();
      await both.readLock().lock();
      await both.writeLock().unlock();
      await both.readLock().unlock();
      expect(await redis.keys(`*${name}*`), odd).to.deep.equal([]);
    }
  });

  it('a release of a write lock costs Redis the same, however often its writer has re-entered', async () => {
    const lock = rw.writeLock();
    const owner = `${one.getId()}:1:write`;
    const looks = async (): Promise<number> =>
      Number(/cmdstat_pttl:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
    for (let i = 0; i < 3; i++) await lock.lock(-1, undefined, 1);
    // As many as would take long to acquire one by one; the release says what it leaves.
    await redis.hset(name, owner, 2000);
    const before = await looks();
    for (let i = 0; i < 3; i++) await lock.unlock(1);
    expect((await looks()) - before).to.be.below(20);
    expect(await redis.exists(name)).to.equal(0);
  });
});
