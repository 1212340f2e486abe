import { expect } from 'chai';
import { ConfigError, LockLostError, LockTimeoutError, TimeUnit } from '../../lib';
import { rejection } from '../redis/synchronizers/support';

import type { LockUnderTest } from './lockContract';
import { LATE_MS, useStage } from './LockStage';
import { monotonicNow, sleep, sleepUntil } from './world';

/** acquire, tryAcquireHold, withLock, LockHold, await using. */
export function lockHolds(kind: LockUnderTest): void {
  const stage = useStage(kind);
  const { traits } = kind;

  describe('holds as objects', () => {
    it('acquire gives a hold, which gives the lock back once', async () => {
      const hold = await stage().lock().acquire();
      expect(hold.isHeld).to.equal(true);
      expect(hold.signal.aborted).to.equal(false);
      expect(typeof hold.token).to.equal(traits.fenced === true ? 'bigint' : 'undefined');
      expect(await stage().lock().isHeldByThread(hold.threadId)).to.equal(true);
      await hold.unlock();
      await hold.unlock();
      expect(hold.isHeld).to.equal(false);
      expect(hold.signal.aborted).to.equal(false);
      expect(await stage().isLocked()).to.equal(false);
    });

    it('acquire rejects when its wait time has passed, tryAcquireHold gives null', async () => {
      await stage().blocker().lock(30_000, undefined, 1);
      const startedAt = monotonicNow();
      expect(await stage().lock().tryAcquireHold()).to.equal(null);
      expect(await rejection(stage().lock().acquire({ waitTime: 0.2, unit: TimeUnit.SECONDS }))).to.be.instanceOf(
        LockTimeoutError,
      );
      expect(await stage().lock().tryAcquireHold({ waitTime: 100 })).to.equal(null);
      expect(monotonicNow() - startedAt).to.be.within(298, 300 + LATE_MS);
      await stage().blocker().unlock(1);
      const hold = await stage().lock().tryAcquireHold({ leaseTime: 20_000 });
      expect(await stage().redis.pttl(stage().keys[0]!)).to.be.within(10_000, 20_000);
      await hold!.unlock();
    });

    it('await using gives it back at the end of the block', async () => {
      {
        await using hold = await stage().lock().acquire();
        expect(hold.isHeld).to.equal(true);
        expect(await stage().isLocked()).to.equal(true);
      }
      expect(await stage().isLocked()).to.equal(false);
    });

    it('withLock runs the work in a thread of its own, resolves to what it resolves to, and gives back', async () => {
      const { client } = stage();
      const result = await stage()
        .lock()
        .withLock(async (hold) => {
          expect(client.currentThreadId()).to.equal(hold.threadId);
          expect(await stage().lock().isHeldByCurrentThread()).to.equal(true);
          await sleep(5);
          expect(client.currentThreadId()).to.equal(hold.threadId);
          return 'done';
        });
      expect(result).to.equal('done');
      expect(await stage().isLocked()).to.equal(false);
      expect(client.currentThreadId()).to.equal(undefined);
    });

    it('currentHold is the innermost hold of the sections around the call, also of this lock alone', async () => {
      const { client, other, name } = stage();
      const lock = stage().lock();
      const inner = client.getLock(`${name}:inner`);
      expect(client.currentHold()).to.equal(undefined);
      let late: Promise<void> | undefined;
      let end!: () => void;
      const ended = new Promise<void>((resolve) => (end = resolve));
      await lock.withLock(async (hold) => {
        expect(client.currentHold()).to.equal(hold);
        await sleep(5);
        expect(client.currentHold(lock.name)).to.equal(hold);
        expect(client.currentHold(`${name}:other`)).to.equal(undefined);
        expect(other.currentHold()).to.equal(undefined);
        expect(await client.runInThread(() => client.currentHold())).to.equal(undefined);
        await inner.withLock(async (innermost) => {
          await sleep(1);
          expect(client.currentHold()).to.equal(innermost);
          expect(client.currentHold(lock.name)).to.equal(hold);
        });
        await Promise.all([
          sleep(5).then(() => expect(client.currentHold()).to.equal(hold)),
          inner.withLock((beside) => expect(client.currentHold()).to.equal(beside)),
        ]);
        await using acquired = await inner.acquire();
        expect(acquired.isHeld).to.equal(true);
        expect(client.currentHold()).to.equal(hold);
        late = ended.then(() => expect(client.currentHold()).to.equal(undefined)).then(() => undefined);
      });
      end();
      await late;
      expect(client.currentHold()).to.equal(undefined);
      expect(() => client.currentHold('')).to.throw(ConfigError);
    });

    it('currentHold is there with its aborted signal after a loss', async () => {
      const client = stage().newClient({ lockWatchdogTimeout: 900 });
      const work = stage()
        .lock(client)
        .withLock(async ({ signal }) => {
          await stage().vanish();
          await sleepUntil(() => signal.aborted);
          expect(client.currentHold()?.signal).to.equal(signal);
          expect(client.currentHold()?.isHeld).to.equal(false);
        });
      expect(await rejection(work)).to.be.instanceOf(LockLostError);
    });

    it('tryWithLock runs the work, or says that it was not acquired, without a wait unless waitTime says so', async () => {
      const lock = stage().lock();
      expect(await lock.tryWithLock(async ({ isHeld }) => isHeld)).to.deep.equal({ acquired: true, value: true });
      await stage().blocker().lock(30_000, undefined, 1);
      let ran = false;
      const work = (): void => {
        ran = true;
      };
      expect(await lock.tryWithLock(work)).to.deep.equal({ acquired: false });
      expect(await lock.tryWithLock(work, { waitTime: 50 })).to.deep.equal({ acquired: false });
      expect(ran).to.equal(false);
      const waiting = lock.tryWithLock(work, { waitTime: 10_000 });
      await stage().blocker().unlock(1);
      expect(await waiting).to.deep.equal({ acquired: true, value: undefined });
      expect(await stage().isLocked()).to.equal(false);
      const error = await rejection(lock.tryWithLock(() => Promise.reject(new Error('work'))));
      expect(error.message).to.equal('work');
    });

    it('atLeast: the lock stays so long after it was acquired, although the work has ended or thrown', async () => {
      const lock = stage().lock();
      const fails = (): Promise<never> => Promise.reject(new Error('work'));
      for (const work of [() => 'done', fails]) {
        const outcome = await lock.withLock(work, { atLeast: 20_000 }).catch((error: Error) => error.message);
        expect(outcome).to.equal(work === fails ? 'work' : 'done');
        expect(await stage().blocker().tryLock({ threadId: 1 })).to.equal(false);
        expect(await stage().redis.pttl(stage().keys[0]!)).to.be.within(1, 20_000);
        await stage().redis.del(...(await stage().leftKeys()));
      }
      // A waiter is told of the shorter lease, and gets in when it ends.
      await lock.withLock(() => 'done', { atLeast: 300 });
      expect(await stage().blocker().tryLock(10_000, 5_000, undefined, 1)).to.equal(true);
      await stage().blocker().unlock(1);
      expect(await lock.tryWithLock(() => sleep(20), { waitTime: 10_000, atLeast: 10 })).to.include({ acquired: true });
      expect(await stage().isLocked()).to.equal(false);
      for (const atLeast of [-1, NaN, Infinity, 1e300]) {
        expect(await rejection(lock.withLock(() => 1, { atLeast }))).to.be.instanceOf(RangeError);
      }
      // A call that was refused is no section of its thread: what follows is not beside it.
      await stage().client.runInThread(async () => {
        expect(await rejection(lock.withLock(() => 1, { atLeast: -1 }))).to.be.instanceOf(RangeError);
        const hold = await lock.acquire();
        expect(hold.threadId).to.equal(stage().client.currentThreadId());
        await hold.unlock();
      });
      expect(await rejection(lock.acquire({ atLeast: 1 } as never))).to.be.instanceOf(ConfigError);
      expect(await stage().isLocked()).to.equal(false);
    });

    it('withLock rejects with the error of the work, whatever became of the lock', async () => {
      const fail = async (): Promise<void> => {
        throw new Error('work');
      };
      expect((await rejection(stage().lock().withLock(fail))).message).to.equal('work');
      const gone = stage()
        .lock()
        .withLock(async () => {
          await stage().vanish();
          await fail();
        });
      expect((await rejection(gone)).message).to.equal('work');
    });

    it('withLock rejects with LockLostError when the lock was gone before the work ended', async () => {
      const gone = stage()
        .lock()
        .withLock(() => stage().vanish());
      expect(await rejection(gone)).to.be.instanceOf(LockLostError);
    });

    it('a shared handle is safe: each acquire is a thread of its own', async () => {
      const lock = stage().lock();
      const holds = await Promise.all([lock.acquire(), traits.shared === true ? lock.acquire() : undefined]);
      if (traits.shared !== true) expect(await lock.tryAcquireHold()).to.equal(null);
      else expect(holds[0].threadId).not.to.equal(holds[1]!.threadId);
      for (const hold of holds) await hold?.unlock();
    });

    if (traits.reentrant) {
      it('holds of one thread are given back each for itself, in any order', async () => {
        const outer = await stage().lock().acquire({ threadId: 7 });
        const inner = await stage().lock().acquire({ threadId: 7 });
        await outer.unlock();
        expect([outer.isHeld, inner.isHeld]).to.deep.equal([false, true]);
        expect(await stage().blocker().tryLock()).to.equal(false);
        await inner.unlock();
      });
    }
  });
}
