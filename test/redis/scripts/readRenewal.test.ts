// Ids in titles: test/README.md
import { expect } from 'chai';
import { renewReadLocks } from '../../../lib/kinds/readWrite';
import { sleep } from '../../support';
import { RwBench } from './RwBench';
import { useBench } from './ScriptBench';

describe('read lock scripts: renewal', () => {
  const bench = useBench();
  let rw: RwBench;
  beforeEach(() => {
    rw = new RwBench(bench());
  });

  it('extends every hold of the owners named and of nobody else, and cuts nothing', async () => {
    await rw.read('A', 1, 1_000);
    await rw.read('A', 2, 90_000);
    await rw.read('B', 1, 1_000);
    await rw.read('other', 1, 1_000);
    expect(await rw.renew(['A', 'gone', 'B'])).to.deep.equal([true, false, true]);
    expect(await rw.holdPttl('A', 1)).to.be.within(29_000, 30_000);
    expect(await rw.holdPttl('A', 2)).to.be.within(89_000, 90_000);
    expect(await rw.holdPttl('B', 1)).to.be.within(29_000, 30_000);
    expect(await rw.holdPttl('other', 1)).to.be.within(1, 1_000);
    expect(await rw.pttl()).to.be.within(89_000, 90_000);
    expect(await bench().redis.exists(rw.hold('gone', 1))).to.equal(0);
  });

  it('does nothing for a lock whose owners are all gone', async () => {
    await rw.read('other', 1, 1_000);
    expect(await rw.renew(['A', 'B'])).to.deep.equal([false, false]);
    expect(await rw.pttl()).to.be.within(1, 1_000);
  });

  it('RW-03: restores an expired hold, so that the next reader to leave does not delete the lock', async () => {
    await rw.read('B');
    await rw.read('A', 1, 1);
    await sleep(20);
    expect(await rw.renew(['A'])).to.deep.equal([true]);
    expect(await rw.unread('B', 0)).to.deep.equal({ kind: 'kept' });
    expect(await rw.unread('A', 0)).to.include({ kind: 'released' });
  });

  it('takes many locks at once and answers per owner; a name of another type is lost', async () => {
    const { name, redis } = bench();
    await redis.hset(`${name}:1`, { mode: 'read', A: '1', B: '1' });
    await redis.hset(`${name}:2`, { mode: 'read', B: '1' });
    await redis.set(`${name}:3`, 'text');
    const moreKeys = ['1', '1', '2', '2', '2', '3'].flatMap((part) => [`${name}:${part}`, `{${name}:${part}}`]);
    const moreArgs = ['A', 'B', 'A', 'B', 'C', 'A'];
    expect(await bench().run(renewReadLocks, {}, { lease: 30_000 }, { moreKeys, moreArgs })).to.deep.equal([
      ...[true, true],
      ...[false, true, false],
      ...[false],
    ]);
    expect(await redis.get(`${name}:3`)).to.equal('text');
    expect(await redis.pttl(`{${name}:2}:B:rwlock_timeout:1`)).to.be.within(29_000, 30_000);
  });
});
