// Ids in titles: test/README.md
import { expect } from 'chai';
import { acquireLock } from '../../../lib/kinds/reentrant';
import { forceReleaseSpinLock, releaseSpinLock } from '../../../lib/kinds/spin';
import { useBench } from './ScriptBench';

describe('spin lock scripts', () => {
  const bench = useBench();
  const acquire = (owner: string, count = 1) =>
    bench().run(acquireLock, { name: bench().name }, { lease: 30_000, owner, count });
  const release = (owner: string, left = 0, remaining = 0) =>
    bench().run(releaseSpinLock, { name: bench().name }, { owner, left, remaining });
  const force = () => bench().run(forceReleaseSpinLock, { name: bench().name }, {});

  afterEach(async () => {
    expect(await bench().messages(), 'a spin lock has no channel').to.deep.equal([]);
  });

  it('gives holds back one by one, or several at once, each time the same when repeated', async () => {
    for (const count of [1, 2, 3, 4]) await acquire('A', count);
    expect(await release('A', 3, 5_000)).to.deep.equal({ kind: 'kept' });
    expect(await release('A', 3, 5_000)).to.deep.equal({ kind: 'kept' });
    expect(await bench().contents()).to.deep.equal({ x: { A: '3' } });
    expect(await bench().redis.pttl(bench().name)).to.be.within(4_000, 5_000);
    expect(await release('A', 1)).to.deep.equal({ kind: 'kept' });
    expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
    expect(await release('A')).to.deep.equal({ kind: 'released', receivers: 0 });
    expect(await bench().contents()).to.deep.equal({});
  });

  it('sets the lease alone where all holds are left', async () => {
    await acquire('A');
    expect(await release('A', 1, 60_000)).to.deep.equal({ kind: 'kept' });
    expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
    expect(await bench().redis.pttl(bench().name)).to.be.within(59_000, 60_000);
  });

  it('G-07: a repeated release leaves the next holder alone', async () => {
    await acquire('A');
    await release('A', 0);
    await acquire('B');
    expect(await release('A', 0)).to.deep.equal({ kind: 'notHeld' });
    expect(await bench().contents()).to.deep.equal({ x: { B: '1' } });
  });

  it('is deleted by force whoever holds it', async () => {
    expect(await force()).to.equal(false);
    await acquire('A');
    expect(await force()).to.equal(true);
    expect(await bench().contents()).to.deep.equal({});
  });
});
