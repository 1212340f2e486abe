import { expect } from 'chai';
import {
  currentThreadId,
  FIRST_AUTOMATIC_THREAD_ID,
  isAutomaticThreadId,
  newThreadId,
  runAsThread,
} from '../../../lib/thread/threadScope';
import { runOutside } from '../../../lib/util/outside';
import { sleep, turn } from '../../support';

describe('thread scopes', () => {
  it('there is none outside', () => {
    expect(currentThreadId()).to.equal(undefined);
  });

  it('three siblings of one Promise.all are three threads', async () => {
    const ids = await Promise.all(
      [1, 2, 3].map(() =>
        runAsThread(newThreadId(), async () => {
          const before = currentThreadId();
          await turn();
          expect(currentThreadId()).to.equal(before);
          return before;
        }),
      ),
    );
    expect(new Set(ids).size).to.equal(3);
    expect(currentThreadId()).to.equal(undefined);
  });

  it('follow await, timers, immediates and callbacks started in them', async () => {
    const seen = await runAsThread(5, async () => {
      const ids: unknown[] = [];
      await sleep(1);
      ids.push(currentThreadId());
      await new Promise<void>((resolve) =>
        setTimeout(() => {
          ids.push(currentThreadId());
          setImmediate(() => {
            ids.push(currentThreadId());
            process.nextTick(() => {
              ids.push(currentThreadId());
              resolve();
            });
          });
        }, 1),
      );
      return ids;
    });
    expect(seen).to.deep.equal([5, 5, 5, 5]);
  });

  it('an inner one is another thread, and the outer one is back afterwards', async () => {
    await runAsThread(1, async () => {
      await runAsThread(2, async () => {
        await turn();
        expect(currentThreadId()).to.equal(2);
      });
      expect(currentThreadId()).to.equal(1);
    });
  });

  it('can be left', () => {
    expect(runAsThread(1, () => runOutside(currentThreadId))).to.equal(undefined);
    expect(runOutside(currentThreadId)).to.equal(undefined);
  });

  it('automatic ids start above those of callers, and are told apart from made-up ones', () => {
    const id = newThreadId();
    expect(id).to.be.greaterThan(FIRST_AUTOMATIC_THREAD_ID);
    expect(newThreadId()).to.equal(id + 1);
    expect([id, id + 1, id + 2, 2 ** 32, 5].map(isAutomaticThreadId)).to.deep.equal([true, true, false, false, false]);
  });
});
