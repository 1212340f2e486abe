// Ids in titles: test/README.md
import { expect } from 'chai';
import { stub } from 'sinon';
import { ShutdownError } from '../../lib';
import { rejection } from '../redis/synchronizers/support';
import { monitor, redisUrl, trackClient } from '../support';
import { titled, type LockUnderTest } from './lockContract';
import { LATE_MS, useStage } from './LockStage';
import { abortedOnWaking, monotonicNow, onServer, sleep, sleepUntil } from './world';

/** Waiting: bounds, wake-ups, and who is told what. */
export function lockWaits(kind: LockUnderTest): void {
  const stage = useStage(kind);
  const { traits } = kind;
  const single = traits.single !== false;

  describe('waiting', () => {
    it('gets in within a moment of the unlock by another client, long before the ttl', async () => {
      await stage().blocker().lock(30_000, undefined, 1);
      let inAt = 0;
      const waiter = stage()
        .lock()
        .lock(-1, undefined, 1)
        .then(() => (inAt = monotonicNow()));
      await stage().untilWaiting();
      expect(inAt).to.equal(0);
      const unlockedAt = monotonicNow();
      await stage().blocker().unlock(1);
      await waiter;
      expect(inAt - unlockedAt).to.be.lessThan(LATE_MS);
      await stage().lock().unlock(1);
    });

    it('hands its wake-up on when it is aborted in the moment in which it is woken', async () => {
      await stage().blocker().lock(30_000, undefined, 1);
      const reason = new Error('no longer');
      const { signal, abort } = abortedOnWaking(reason);
      const goes = rejection(stage().lock().lock(-1, undefined, { threadId: 1, signal }));
      await stage().untilWaiting();
      const stays = stage().lock().lock(-1, undefined, 2);
      await sleep(50);
      abort();
      const unlockedAt = monotonicNow();
      await stage().blocker().unlock(1);
      expect(await goes).to.equal(reason);
      await stays;
      expect(monotonicNow() - unlockedAt).to.be.lessThan(LATE_MS);
      await stage().lock().unlock(2);
    });

    onServer('one attempt does not wait, and does not subscribe', async () => {
      await stage().blocker().lock(30_000, undefined, 1);
      const startedAt = monotonicNow();
      const watch = trackClient(await monitor(redisUrl()));
      expect(await stage().lock().tryLock()).to.equal(false);
      expect(await stage().lock().tryLock(0)).to.equal(false);
      expect(await stage().lock().tryLock(-1, 1_000)).to.equal(false);
      expect(monotonicNow() - startedAt).to.be.lessThan(LATE_MS);
      expect((await watch.sentNames()).filter((command) => command.includes('subscribe'))).to.deep.equal([]);
      await stage().blocker().unlock(1);
    });

    it('a timed wait ends when its time is over, neither before nor much after, and leaves nothing', async () => {
      await stage().blocker().lock(30_000, undefined, 1);
      const startedAt = monotonicNow();
      expect(await stage().lock().tryLock(200, 10_000)).to.equal(false);
      expect(monotonicNow() - startedAt).to.be.within(199, 200 + LATE_MS);
      await stage().blocker().unlock(1);
      expect(await stage().isLocked()).to.equal(false);
      expect(await stage().lock().tryLock(5_000, 10_000, undefined, 1)).to.equal(true);
      await stage().lock().unlock(1);
    });

    it('a timed wait gets in when the lock becomes free in time', async () => {
      await stage().blocker().lock(150, undefined, 1);
      expect(await stage().lock().tryLock(5_000, 10_000, undefined, 1)).to.equal(true);
      await stage().lock().unlock(1);
    });

    if (single) {
      it('tryAcquire tells how long the lock still lives, and null when it took it', async () => {
        await stage().blocker().lock(20_000, undefined, 1);
        const ttl = await stage().lock().tryAcquire();
        expect(ttl).to.be.within(10_000, 20_000);
        await stage().blocker().unlock(1);
        expect(await stage().lock().tryAcquire(20_000, undefined, 1)).to.equal(null);
        const counted = traits.counted !== false;
        if (counted) expect(await stage().lock().remainTimeToLive()).to.be.within(10_000, 20_000);
        await stage().lock().unlock(1);
        if (counted) expect(await stage().lock().remainTimeToLive()).to.equal(-2);
      });

      it('forceUnlock wakes the waiters', async () => {
        await stage().blocker().lock(30_000, undefined, 1);
        const waiter = stage().lock().lock(-1, undefined, 1);
        await stage().untilWaiting();
        expect(await stage().blocker(stage().client).forceUnlock()).to.equal(true);
        await waiter;
        await stage().lock().unlock(1);
      });
    }

    it('a shutdown rejects the waiters, and leaves nothing of them', async () => {
      await stage().blocker().lock(30_000, undefined, 1);
      const leaving = stage().newClient();
      const waiters = [
        stage().lock(leaving).lock(-1, undefined, 1),
        stage().lock(leaving).tryLock(60_000, -1, undefined, 2),
        stage().lock(leaving).acquire(),
      ].map((waiter) => rejection(waiter));
      await stage().untilWaiting();
      await leaving.shutdown();
      for (const error of await Promise.all(waiters)) expect(error).to.be.instanceOf(ShutdownError);
      await stage().blocker().unlock(1);
    });

    it(titled(kind, 'B-UNINT', 'a wait without a signal is ended by no signal of others'), async () => {
      await stage().blocker().lock(30_000, undefined, 1);
      const stop = new AbortController();
      let ended = false;
      const stays = stage()
        .lock()
        .lock(-1, undefined, 1)
        .then(() => (ended = true));
      const goes = rejection(stage().lock().lock(-1, undefined, { threadId: 2, signal: stop.signal }));
      await stage().untilWaiting();
      stop.abort(new Error('stop'));
      expect((await goes).message).to.equal('stop');
      await sleep(100);
      expect(ended).to.equal(false);
      await stage().blocker().unlock(1);
      await stays;
      await stage().lock().unlock(1);
    });

    if (traits.fair === true) {
      it('serves waiters of two clients in the order of asking', async () => {
        const order: number[] = [];
        await stage().blocker().lock(30_000, undefined, 100);
        const waiters: Promise<void>[] = [];
        for (let i = 0; i < 6; i++) {
          const lock = stage().lock(i % 2 === 0 ? stage().client : stage().other);
          waiters.push(
            lock.lock(-1, undefined, i).then(() => {
              order.push(i);
              return lock.unlock(i);
            }),
          );
          await sleepUntil(async () => (await stage().redis.llen(`redisson_lock_queue:{${stage().name}}`)) === i + 1);
        }
        await stage().blocker().unlock(100);
        await Promise.all(waiters);
        expect(order).to.deep.equal([0, 1, 2, 3, 4, 5]);
      });

      for (const [late, offMs] of [
        ['that reaches the server late', -4_000],
        ['of a client whose clock is ten minutes slow', -600_000],
        ['of a client whose clock is ten minutes fast', 600_000],
      ] as const) {
        it(`C5: an attempt ${late} does not pass a live head`, async () => {
          const [holder, waiter] = [stage().lock(), stage().lock(stage().other)];
          await holder.lock(30_000, undefined, 1);
          const waiting = waiter.lock(-1, undefined, 1);
          await stage().untilWaiting();
          // On one connection in this order: the waiter cannot attempt in between.
          const unlocked = holder.unlock(1);
          const rightNow = Date.now();
          const clock = stub(Date, 'now').returns(rightNow + offMs);
          const wrong = holder.tryLock({ threadId: 2 });
          clock.restore();
          const right = holder.tryLock({ threadId: 3 });
          expect(await Promise.all([unlocked, wrong, right])).to.deep.equal([undefined, false, false]);
          await waiting;
          await waiter.unlock(1);
        });
      }
    }
  });
}
