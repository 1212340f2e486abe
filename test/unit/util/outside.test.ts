import { expect } from 'chai';
import { AsyncLocalStorage } from 'node:async_hooks';
import { callerContext, runOutside } from '../../../lib/util/outside';
import { sleep, turn } from '../../support';

describe('async contexts', () => {
  const storage = new AsyncLocalStorage<string>();

  it('outside is in nobody’s, timers and promises that are made there included', async () => {
    const seen: unknown[] = [];
    await storage.run('caller', async () => {
      await runOutside(async () => {
        seen.push(storage.getStore());
        await turn();
        seen.push(storage.getStore());
        await new Promise<void>((resolve) => {
          setTimeout(() => {
            seen.push(storage.getStore());
            resolve();
          }, 1);
        });
      });
      expect(storage.getStore()).to.equal('caller');
    });
    expect(seen).to.deep.equal([undefined, undefined, undefined]);
  });

  it('a caller’s can be come back to', async () => {
    const context = storage.run('caller', callerContext);
    await storage.run('other', async () => {
      await sleep(1);
      expect(context.runInAsyncScope(() => storage.getStore())).to.equal('caller');
      expect(storage.getStore()).to.equal('other');
    });
  });
});
