import { expect } from 'chai';
import { ConnectionError, IllegalMonitorStateError } from '../../lib';
import { rejection } from '../redis/synchronizers/support';
import { RedisServer, trackClient } from '../support';
import { titled, type LockUnderTest } from './lockContract';
import { LATE_MS, useStage } from './LockStage';
import { monotonicNow, onServer, sleep } from './world';

/** The state of a lock as its owner and others see it (test/README.md). */
export function lockBattery(kind: LockUnderTest): void {
  const stage = useStage(kind);
  const { traits } = kind;
  const single = traits.single !== false;

  if (single) {
    it(titled(kind, 'B-ISLOCKED', 'locked is what lock and unlock make it'), async () => {
      const lock = stage().lock();
      expect(await lock.isLocked()).to.equal(false);
      await lock.lock();
      expect(await lock.isLocked()).to.equal(true);
      await lock.unlock();
      expect(await lock.isLocked()).to.equal(false);
    });

    it(
      titled(kind, 'B-ISLOCKED-OTHER', 'other owners see the same, through handles and clients of their own'),
      async () => {
        const { client, other } = stage();
        await stage().lock().lock(-1, undefined, 1);
        expect(await stage().lock(client).isLocked()).to.equal(true);
        expect(await stage().lock(other).isLocked()).to.equal(true);
        await stage().lock().unlock(1);
        expect(await stage().lock(client).isLocked()).to.equal(false);
        expect(await stage().lock(other).isLocked()).to.equal(false);
      },
    );
  }

  it(titled(kind, 'B-HELD', 'the owner holds it from lock to unlock'), async () => {
    const lock = stage().lock();
    expect(await lock.isHeldByCurrentThread()).to.equal(false);
    await lock.lock();
    expect(await lock.isHeldByCurrentThread()).to.equal(true);
    await lock.unlock();
    expect(await lock.isHeldByCurrentThread()).to.equal(false);
  });

  it(titled(kind, 'B-HELD-OTHER', 'what one owner holds no other does, by whatever way of asking'), async () => {
    await stage().lock().lock(-1, undefined, 1);
    expect(await stage().lock().isHeldByThread(1)).to.equal(true);
    expect(await stage().lock().isHeldByThread(2)).to.equal(false);
    expect(await stage().lock().isHeldByCurrentThread()).to.equal(false);
    expect(await stage().lock(stage().other).isHeldByThread(1)).to.equal(false);
    await stage().lock().unlock(1);
    expect(await stage().lock().isHeldByThread(1)).to.equal(false);
  });

  if (single && traits.counted !== false) {
    it(titled(kind, 'B-HOLDCOUNT', 'the holds are counted'), async () => {
      const { client } = stage();
      await client.runInThread(async () => {
        const lock = stage().lock();
        const counts = [await lock.getHoldCount()];
        await lock.lock();
        counts.push(await lock.getHoldCount());
        await lock.unlock();
        counts.push(await lock.getHoldCount());
        expect(counts).to.deep.equal([0, 1, 0]);
        if (!traits.reentrant) return;
        await lock.lock();
        await lock.lock();
        expect(await lock.getHoldCount()).to.equal(2);
        await lock.unlock();
        expect(await lock.getHoldCount()).to.equal(1);
        await lock.unlock();
        expect(await lock.getHoldCount()).to.equal(0);
      });
    });
  }

  it(titled(kind, 'B-LOCKUNLOCK', 'it can be taken and given back again and again'), async () => {
    const lock = stage().lock();
    for (let i = 0; i < 3; i++) {
      await lock.lock();
      await lock.unlock();
    }
    await lock.lockInterruptibly();
    await lock.unlock();
  });

  if (traits.reentrant) {
    it(titled(kind, 'B-REENTRANT', 'its owner takes it twice, and keeps it after giving it back once'), async () => {
      const [first, second] = [stage().lock(), stage().lock()];
      const one = { threadId: 1 };
      expect(await first.tryLock(one)).to.equal(true);
      expect(await second.tryLock(one)).to.equal(true);
      await first.unlock(1);
      expect(await stage().lock().tryLock({ threadId: 2 })).to.equal(traits.shared === true);
      expect(await stage().blocker().tryLock()).to.equal(false);
      if (traits.shared === true) await stage().lock().unlock(2);
      expect(await first.isHeldByThread(1)).to.equal(true);
      await second.unlock(1);
      await stage().expectNotOwner(second.unlock(1));
    });
  } else {
    it(titled(kind, 'B-REENTRANT', 'its owner cannot take it twice, and keeps it after having tried'), async () => {
      const lock = stage().lock();
      await lock.lock(-1, undefined, 1);
      expect(await rejection(lock.lock(-1, undefined, 1))).to.be.instanceOf(IllegalMonitorStateError);
      expect(await rejection(lock.tryLock({ threadId: 1 }))).to.be.instanceOf(IllegalMonitorStateError);
      expect(await rejection(lock.tryLock(50, -1, undefined, 1))).to.be.instanceOf(IllegalMonitorStateError);
      expect(await lock.isHeldByThread(1)).to.equal(true);
      expect(await lock.tryLock({ threadId: 2 })).to.equal(false);
      await lock.unlock(1);
    });
  }

  it(titled(kind, 'B-UNLOCKFAIL', 'unlock by another owner is refused, and changes nothing'), async () => {
    const { client } = stage();
    await stage().lock().lock(-1, undefined, 2);
    const error = await rejection(stage().lock().unlock(1));
    expect(error).to.be.instanceOf(IllegalMonitorStateError);
    if (single) {
      expect(error.message).to.equal(
        `attempt to unlock lock, not locked by current thread by node id: ${client.getId()} thread-id: 1`,
      );
    }
    await stage().expectNotOwner(stage().lock(stage().other).unlock(2));
    expect(await stage().lock().isHeldByThread(2)).to.equal(true);
    await stage().lock().unlock(2);
    await stage().expectNotOwner(stage().lock().unlock(2));
  });

  if (single) {
    it(
      titled(kind, 'B-FORCE', 'force frees it, whoever holds it and however often; there must be something to free'),
      async () => {
        const lock = stage().lock();
        expect(await lock.forceUnlock()).to.equal(false);
        await lock.lock(-1, undefined, 1);
        if (traits.reentrant) await lock.lock(-1, undefined, 1);
        expect(await stage().lock().forceUnlock()).to.equal(true);
        expect(await lock.isLocked()).to.equal(false);
        expect(await stage().lock().isLocked()).to.equal(false);
        await lock.lock(-1, undefined, 1);
        expect(await stage().lock(stage().other).forceUnlock()).to.equal(true);
        expect(await stage().lock().isLocked()).to.equal(false);
        if (traits.shared !== true) return;
        // The keys of read holds end with their leases.
        for (const key of await stage().leftKeys()) expect(await stage().redis.pttl(key)).not.to.equal(-1);
        stage().leavesKeys = true;
      },
    );
  }

  it(titled(kind, 'B-EXPIRE', 'a lease ends by itself: the waiter gets in then, the late owner is told'), async () => {
    const startedAt = monotonicNow();
    await stage().blocker(stage().client).lock(400, undefined, 1);
    // A busy machine is late with this timer as with that of the waiter.
    const over = sleep(400).then(monotonicNow);
    await stage().lock().lock(-1, undefined, 2);
    expect(monotonicNow() - startedAt).to.be.at.least(390);
    expect(monotonicNow() - (await over)).to.be.below(LATE_MS);
    await stage().lock().unlock(2);
    await stage().expectNotOwner(stage().blocker(stage().client).unlock(1));
  });

  it(titled(kind, 'B-TRYWAIT', 'a timed wait for a lock whose owner is gone ends in time, with false'), async () => {
    const gone = stage().newClient({ lockWatchdogTimeout: 30_000 });
    await stage().blocker(gone).lock();
    await gone.shutdown();
    const startedAt = monotonicNow();
    expect(await stage().lock().tryLock(300)).to.equal(false);
    expect(monotonicNow() - startedAt).to.be.within(299, 300 + LATE_MS);
    stage().leavesKeys = true;
  });

  onServer(
    titled(kind, 'B-REDISFAIL', 'a timed wait for a server that is gone rejects in time, and is no "not acquired"'),
    async () => {
      const server = trackClient(await RedisServer.start());
      // In time is long before a command times out.
      const client = stage().newClient({ url: server.url, timeout: 20_000, lockWatchdogTimeout: 60_000 });
      await stage().lock(client).lock(-1, undefined, 1);
      await stage().lock(client).unlock(1);
      await server.stop();
      await sleep(200);
      const startedAt = monotonicNow();
      expect(await rejection(stage().lock(client).tryLock(600, 10_000))).to.be.instanceOf(ConnectionError);
      expect(monotonicNow() - startedAt).to.be.lessThan(600 + LATE_MS);
    },
  );
}
