import { expect } from 'chai';
import {
  checkThreadId,
  currentThreadId,
  FIRST_AUTOMATIC_THREAD_ID,
  newThreadId,
  runAsNewThread,
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
        runAsNewThread(async () => {
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
    const seen = await runAsNewThread(async () => {
      const ids: unknown[] = [currentThreadId()];
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
    expect(seen[0]).to.be.greaterThan(FIRST_AUTOMATIC_THREAD_ID);
    expect(seen).to.deep.equal(Array(5).fill(seen[0]));
  });

  it('an inner one is another thread, and the outer one is back afterwards', async () => {
    await runAsNewThread(async () => {
      const outer = currentThreadId();
      await runAsNewThread(async () => {
        const inner = currentThreadId();
        expect(inner).not.to.equal(outer);
        await turn();
        expect(currentThreadId()).to.equal(inner);
      });
      expect(currentThreadId()).to.equal(outer);
    });
  });

  it('can be left', async () => {
    expect(await runAsNewThread(() => runOutside(currentThreadId))).to.equal(undefined);
    expect(runOutside(currentThreadId)).to.equal(undefined);
  });

  it('automatic ids start above those of callers, and are told apart from made-up ones', () => {
    const id = newThreadId();
    expect(id).to.be.greaterThan(FIRST_AUTOMATIC_THREAD_ID);
    expect(newThreadId()).to.equal(id + 1);
    for (const known of [id, id + 1, 5, 2 ** 32 - 1]) expect(checkThreadId(known)).to.equal(known);
    for (const made of [id + 2, 2 ** 32]) expect(() => checkThreadId(made)).to.throw(RangeError);
  });
});
