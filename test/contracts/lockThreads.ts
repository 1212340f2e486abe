// Ids in titles: test/README.md
import { expect } from 'chai';
import { IllegalMonitorStateError } from '../../lib';
import { rejection } from '../redis/synchronizers/support';

import type { LockUnderTest } from './lockContract';
import { useStage } from './LockStage';
import { sleepUntil, turn } from './world';

/** Parallel branches and nested callbacks (A10): docs/threads.md. */
export function lockThreads(kind: LockUnderTest): void {
  const stage = useStage(kind);
  const { traits } = kind;

  /** A read-modify-write that goes over an await; readers only count themselves. */
  function counter(): { readonly add: () => Promise<void>; readonly value: () => number } {
    let value = 0;
    const add = async (): Promise<void> => {
      const read = value;
      if (traits.shared === true) value += 1;
      await turn();
      await turn();
      if (traits.shared !== true) value = read + 1;
    };
    return { add, value: () => value };
  }

  describe('threads by async context', () => {
    it('A10: no update is lost by branches of one thread', async () => {
      const { add, value } = counter();
      await stage().client.runInThread(() =>
        Promise.all(Array.from({ length: 10 }, () => stage().lock().withLock(add))),
      );
      expect(value()).to.equal(10);
    });

    it('A10: nor by branches inside another lock, with a handle that they share', async () => {
      const { add, value } = counter();
      const lock = stage().lock();
      const outer = stage().client.getLock(`${stage().name}:outer`);
      await outer.withLock(() => Promise.all(Array.from({ length: 10 }, () => lock.withLock(add))));
      expect(value()).to.equal(10);
    });

    it('what a callback left behind is outside: it waits for the next one', async () => {
      if (traits.shared === true) return;
      let open!: () => void;
      const gate = new Promise<void>((resolve) => (open = resolve));
      let inside = 0;
      const enter = async (): Promise<void> => {
        inside += 1;
        expect(inside).to.equal(1);
        await turn();
        inside -= 1;
      };
      let left: Promise<void> | undefined;
      await stage()
        .lock()
        .withLock(() => {
          left = gate.then(() => stage().lock().withLock(enter));
        });
      await stage()
        .lock()
        .withLock(async () => {
          open();
          await turn();
          await enter();
        });
      await left;
    });

    it('lock() beside a running callback of its own thread is refused', async () => {
      await stage().client.runInThread(async () => {
        let open!: () => void;
        const gate = new Promise<void>((resolve) => (open = resolve));
        const running = stage()
          .lock()
          .withLock(() => gate);
        await sleepUntil(() => stage().isLocked(), { message: 'the callback runs' });
        await turn();
        expect(await rejection(stage().lock().lock())).to.be.instanceOf(IllegalMonitorStateError);
        expect(await rejection(stage().lock().unlock())).to.be.instanceOf(IllegalMonitorStateError);
        open();
        await running;
      });
    });

    if (!traits.reentrant) return;

    it('A10: nor by branches inside the same lock, which take turns', async () => {
      const { add, value } = counter();
      await stage()
        .lock()
        .withLock(() => Promise.all(Array.from({ length: 10 }, () => stage().lock().withLock(add))));
      expect(value()).to.equal(10);
    });

    it('A inside B inside A re-enters', async () => {
      const between = stage().client.getLock(`${stage().name}:between`);
      const entered = await stage()
        .lock()
        .withLock(() =>
          between.withLock(() =>
            stage()
              .lock()
              .withLock(() => 'entered', { waitTime: 5_000 }),
          ),
        );
      expect(entered).to.equal('entered');
    });

    it('unlock() in a callback gives back what lock() took around it: nothing is left over', async () => {
      await stage().client.runInThread(async () => {
        const lock = stage().lock();
        await lock.lock();
        await lock.withLock(() => lock.unlock());
      });
      expect(await stage().isLocked()).to.equal(false);
    });

    it('unlock() in a callback gives its hold back early, and a branch that waits for it may go on', async () => {
      await stage()
        .lock()
        .withLock(async () => {
          let open!: () => void;
          const gate = new Promise<void>((resolve) => (open = resolve));
          const first = stage()
            .lock()
            .withLock(async () => {
              await stage().lock().unlock();
              await gate;
            });
          await stage()
            .lock()
            .withLock(() => undefined);
          open();
          await first;
        });
      expect(await stage().isLocked()).to.equal(false);
    });
  });
}
