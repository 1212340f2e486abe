import { expect } from 'chai';
import { rejection } from '../redis/synchronizers/support';
import { monitor, redisUrl, trackClient } from '../support';
import type { LockUnderTest } from './lockContract';
import { useStage } from './LockStage';
import { onServer, sleep, sleepUntil, turn } from './world';

/** An AbortSignal ends the wait and leaves nothing. */
export function lockAborts(kind: LockUnderTest): void {
  const stage = useStage(kind);
  const { traits } = kind;

  describe('AbortSignal', () => {
    const reason = new Error('stop');

    onServer('that has aborted before: rejects with its reason, and sends nothing', async () => {
      const watch = trackClient(await monitor(redisUrl()));
      await stage().redis.ping();
      const signal = AbortSignal.abort(reason);
      const calls = [
        stage().lock().lock(-1, undefined, { signal }),
        stage().lock().lockInterruptibly(-1, undefined, { signal }),
        stage().lock().tryLock({ signal }),
        stage().lock().tryLock(1_000, -1, undefined, { signal }),
        stage().lock().acquire({ signal }),
        stage().lock().tryAcquireHold({ signal }),
        stage()
          .lock()
          .withLock(() => undefined, { signal }),
      ];
      for (const call of calls) expect(await rejection(call)).to.equal(reason);
      expect((await watch.sent()).filter(({ args }) => args.some((arg) => arg.includes(stage().name)))).to.deep.equal(
        [],
      );
    });

    it('during the wait: rejects with its reason at once, and leaves nothing', async () => {
      await stage().blocker().lock(30_000, undefined, 1);
      const stop = new AbortController();
      const { signal } = stop;
      const calls = [
        stage().lock().lock(-1, undefined, { signal }),
        stage().lock().tryLock(60_000, -1, undefined, { signal }),
        stage().lock().acquire({ signal }),
        stage()
          .lock()
          .withLock(() => undefined, { signal, waitTime: 60_000 }),
      ].map((call) => rejection(call));
      await stage().untilWaiting();
      stop.abort(reason);
      for (const error of await Promise.all(calls)) expect(error).to.equal(reason);
      await sleepUntil(async () => (await stage().channels()).length === 0, { message: 'nobody listens' });
      await stage().blocker().unlock(1);
      expect(await stage().isLocked()).to.equal(false);
    });

    it('at any moment of an acquisition: leaves no hold, no queue entry, no subscription', async () => {
      await stage().blocker().lock(30_000, undefined, 1);
      const outcomes: Promise<unknown>[] = [];
      for (let i = 0; i < 60; i++) {
        const stop = new AbortController();
        const call = stage().lock().lock(-1, undefined, { threadId: i, signal: stop.signal });
        outcomes.push(rejection(call));
        // The request is being made, on the wire, answered; the subscription the same.
        for (let turns = i % 6; turns > 0; turns--) await turn();
        if (i % 3 === 0) await sleep(i % 5);
        stop.abort(reason);
      }
      for (const outcome of await Promise.all(outcomes)) expect(outcome).to.equal(reason);
      await stage().blocker().unlock(1);
      await stage().untilFree();
    });

    it('at any moment of an acquisition that succeeds: it is held, or it is free', async () => {
      for (let i = 0; i < 30; i++) {
        const stop = new AbortController();
        const lock = stage().lock();
        const call = lock.lock(-1, undefined, { threadId: i, signal: stop.signal }).then(
          () => true,
          () => false,
        );
        for (let turns = i % 6; turns > 0; turns--) await turn();
        stop.abort(reason);
        if (await call) await lock.unlock(i);
        await stage().untilFree();
      }
    });

    if (traits.shared !== true) {
      it('does no harm to the one behind', async () => {
        await stage().blocker().lock(30_000, undefined, 1);
        const stop = new AbortController();
        const goes = rejection(stage().lock().lock(-1, undefined, { threadId: 1, signal: stop.signal }));
        await stage().untilWaiting();
        const stays = stage().lock().lock(-1, undefined, 2);
        await sleep(30);
        stop.abort(reason);
        await goes;
        await stage().blocker().unlock(1);
        await stays;
        await stage().lock().unlock(2);
      });
    }
  });
}
