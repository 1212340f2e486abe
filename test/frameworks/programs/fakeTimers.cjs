'use strict';
// What docs/testing.md promises about time, whatever the runner and its fake timers: runners.test.ts runs it in each.
const { strict: assert } = require('node:assert');
const { CommandError, LockLostError, LockTimeoutError, ShutdownError } = require('ioredisson');
const { createTestRedisson } = require('ioredisson/testing');

/** @param runner - its functions: describe, test, afterEach; fake and real timers; lets fake time go by */
module.exports = ({ describe, test, afterEach, fake, real, advance }) => {
  const redisson = createTestRedisson();
  const other = createTestRedisson({ store: redisson });

  const kinds = {
    lock: () => redisson.getLock('a'),
    fair: () => redisson.getFairLock('a'),
    fenced: () => redisson.getFencedLock('a'),
    spin: () => redisson.getSpinLock('a'),
    nonReentrant: () => redisson.getNonReentrantLock('a'),
    nonReentrantFair: () => redisson.getNonReentrantFairLock('a'),
    write: () => redisson.getReadWriteLock('a').writeLock(),
    multi: () => redisson.getMultiLock(redisson.getLock('a'), redisson.getFairLock('b')),
    red: () => redisson.getRedLock(redisson.getLock('a'), redisson.getLock('b'), redisson.getLock('c')),
    group: () => redisson.getMultiLock('a', ['1', '2']),
  };

  describe('the promises about time', () => {
    afterEach(() => {
      redisson.reset();
      real();
    });

    test('a lease ends, and who waits gets in', async () => {
      for (const [kind, make] of Object.entries(kinds)) {
        fake();
        const held = await make().acquire({ leaseTime: 30_000 });
        let entered = false;
        const waiting = make()
          .acquire({ threadId: 7 })
          .then((hold) => {
            entered = true;
            return hold;
          });
        await advance(29_000);
        assert.deepEqual([kind, entered, held.isHeld], [kind, false, true]);
        await advance(2_000);
        assert.deepEqual([kind, entered, held.isHeld], [kind, true, false]);
        assert.ok(held.signal.reason instanceof LockLostError);
        await (await waiting).unlock();
        redisson.reset();
        real();
      }
    });

    test('the watchdog keeps a lock for as long as it is held', async () => {
      for (const [kind, make] of Object.entries(kinds)) {
        fake();
        const held = await make().acquire();
        const waiting = make().tryAcquireHold({ threadId: 7, waitTime: 100_000 });
        await advance(100_000);
        assert.equal(await waiting, null, kind);
        assert.equal(held.signal.aborted, false, kind);
        await held.unlock();
        assert.deepEqual(redisson.holders('a'), [], kind);
        real();
      }
    });

    test('a wait ends with its time', async () => {
      fake();
      const held = await other.getLock('a').acquire();
      const waiting = redisson.getLock('a').acquire({ waitTime: 5_000 });
      const refused = assert.rejects(waiting, LockTimeoutError);
      await advance(5_000);
      await refused;
      await held.unlock();
    });

    test('a semaphore, leased permits and a latch', async () => {
      fake();
      const semaphore = redisson.getSemaphore('s');
      await semaphore.trySetPermits(1);
      await semaphore.acquire();
      const noPermit = semaphore.tryAcquire(1, 1_000);
      const permits = redisson.getPermitExpirableSemaphore('p');
      await permits.trySetPermits(1);
      await permits.acquire(10_000);
      const permit = permits.acquire();
      const latch = redisson.getCountDownLatch('l');
      await latch.trySetCount(1);
      const [closed, open] = [latch.await(1_000), latch.await()];
      await advance(1_000);
      assert.deepEqual([await noPermit, await closed], [false, false]);
      await advance(9_001);
      await permits.release(await permit);
      await other.getCountDownLatch('l').countDown();
      assert.equal(await open, true);
    });

    test("errors, also of the runner's realm, reach their callers; a hold that cannot be renewed is lost", async () => {
      fake();
      const held = await redisson.getLock('a').acquire();
      for (const error of [new Error('boom'), new CommandError('acquire', new Error('OOM'))]) {
        redisson.failNext(error);
        await assert.rejects(redisson.getLock('b').lock(), (thrown) => thrown === error);
      }
      redisson.failNext(new Error('gone'), Infinity);
      await advance(30_000);
      assert.ok(held.signal.reason instanceof LockLostError);
    });

    test('a client that drains waits for its holders, and then ends', async () => {
      fake();
      const client = createTestRedisson();
      const held = await client.getLock('a').acquire();
      const waiting = assert.rejects(client.getLock('a').acquire(), ShutdownError);
      const closed = client.shutdown({ drain: 10_000 });
      await waiting;
      await advance(5_000);
      assert.equal(held.isHeld, true);
      await held.unlock();
      await closed;
      assert.equal(client.state, 'closed');
      await createTestRedisson().shutdown();
    });
  });
};
