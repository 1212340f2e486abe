// Ids in titles: test/README.md
import { expect } from 'chai';
import { sleep } from '../../support';
import { RwBench } from './RwBench';
import { useBench } from './ScriptBench';

describe('write lock scripts', () => {
  const bench = useBench();
  let rw: RwBench;
  beforeEach(() => {
    rw = new RwBench(bench());
  });

  it('takes a free lock', async () => {
    expect(await rw.write('W')).to.deep.equal({ acquired: true });
    expect(await bench().contents()).to.deep.equal({ x: { mode: 'write', 'W:write': '1' } });
    expect(await rw.pttl()).to.be.within(...bench().left(30_000));
    expect(await bench().messages()).to.deep.equal([]);
  });

  it('RW-05: a re-entry adds its lease to what the lock has left, a repeat of it does not', async () => {
    await rw.write('W', 1, 10_000);
    expect(await rw.write('W', 2, 1_000)).to.deep.equal({ acquired: true });
    expect(await rw.pttl()).to.be.within(...bench().left(11_000));
    expect(await rw.write('W', 2, 1_000)).to.deep.equal({ acquired: true });
    expect(await rw.pttl()).to.be.within(...bench().left(11_000));
    expect(await bench().contents()).to.deep.equal({ x: { mode: 'write', 'W:write': '2' } });
  });

  it('is kept out by readers, the own read hold included, and by another writer', async () => {
    await rw.read('A');
    for (const owner of ['A', 'B']) {
      const reply = await rw.write(owner);
      expect(reply).to.include({ acquired: false });
      expect(reply)
        .to.have.property('ttl')
        .within(...bench().left(30_000));
    }
    await rw.unread('A');
    await rw.write('A');
    expect(await rw.write('B')).to.include({ acquired: false });
    expect(await bench().contents()).to.deep.equal({ x: { mode: 'write', 'A:write': '1' } });
  });

  it('says how many holds there are where earlier ones were lost', async () => {
    expect(await rw.write('W', 3)).to.deep.equal({ acquired: true, holds: 1 });
  });

  describe('release', () => {
    it('gives one hold back with the lease of what is left, and tells nobody', async () => {
      await rw.write('W');
      await rw.write('W', 2);
      expect(await rw.unwrite('W', 1, 30_000)).to.deep.equal({ kind: 'kept' });
      expect(await rw.unwrite('W', 1, 30_000)).to.deep.equal({ kind: 'kept' });
      expect(await bench().contents()).to.deep.equal({ x: { mode: 'write', 'W:write': '1' } });
      expect(await rw.pttl()).to.be.within(...bench().left(30_000));
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('tells everybody, once, when what is left lives less than half as long', async () => {
      await rw.write('W');
      await rw.write('W', 2);
      expect(await rw.unwrite('W', 1, 25_000)).to.deep.equal({ kind: 'kept' });
      expect(await rw.unwrite('W', 1, 25_000)).to.deep.equal({ kind: 'kept' });
      expect(await rw.pttl()).to.be.within(...bench().left(25_000));
      expect(await bench().messages()).to.deep.equal(['redisson_rwlock:{x} 1']);
    });

    it('sets the lease alone where all holds are left', async () => {
      await rw.write('W', 1, 60_000);
      expect(await rw.unwrite('W', 1, 5_000)).to.deep.equal({ kind: 'kept' });
      expect(await bench().contents()).to.deep.equal({ x: { mode: 'write', 'W:write': '1' } });
      expect(await rw.pttl()).to.be.within(...bench().left(5_000));
    });

    it('gives one hold back without cutting the life of a read hold that lasts longer', async () => {
      await rw.write('W');
      await rw.write('W', 2);
      await rw.read('W', 1, 20_000);
      await rw.unwrite('W', 1, 5_000);
      expect(await rw.pttl()).to.be.within(...bench().left(20_000));
    });

    it('frees the lock with the last hold and tells everybody', async () => {
      await rw.write('W');
      expect(await rw.unwrite('W', 0)).to.deep.equal({ kind: 'released', receivers: 1 });
      expect(await bench().contents()).to.deep.equal({});
      expect(await bench().messages()).to.deep.equal(['redisson_rwlock:{x} 1']);
    });

    it('leaves the own read holds as a read lock with their life, and tells everybody', async () => {
      await rw.write('W', 1, 60_000);
      await rw.read('W', 1, 10_000);
      expect(await rw.unwrite('W', 0)).to.deep.equal({ kind: 'released', receivers: 1 });
      expect(await bench().messages()).to.deep.equal(['redisson_rwlock:{x} 1']);
      expect(await bench().contents()).to.deep.equal({
        x: { mode: 'read', W: '1' },
        '{x}:W:rwlock_timeout:1': '1',
      });
      expect(await rw.pttl()).to.be.within(...bench().left(10_000));
      expect(await rw.read('A')).to.deep.equal({ acquired: true });
    });

    it('frees the lock where the own read holds have expired', async () => {
      await rw.write('W');
      await rw.read('W', 1, 1);
      await sleep(20);
      expect(await rw.unwrite('W', 0)).to.deep.equal({ kind: 'released', receivers: 1 });
      expect(await bench().contents()).to.deep.equal({});
    });

    it('of a lock that is gone is no success, but tells everybody', async () => {
      expect(await rw.unwrite('W')).to.deep.equal({ kind: 'notHeld' });
      expect(await bench().messages()).to.deep.equal(['redisson_rwlock:{x} 1']);
    });

    it('by somebody else, or by a reader, changes nothing', async () => {
      await rw.write('W');
      expect(await rw.unwrite('B')).to.deep.equal({ kind: 'notHeld' });
      await rw.unwrite('W');
      await rw.read('A');
      await bench().messages();
      expect(await rw.unwrite('A')).to.deep.equal({ kind: 'notHeld' });
      expect(await rw.locked()).to.deep.equal([true, false]);
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('G-07: repeated, it leaves the next holder alone', async () => {
      await rw.write('W');
      await rw.unwrite('W', 0);
      await rw.write('B');
      expect(await rw.unwrite('W', 0)).to.deep.equal({ kind: 'notHeld' });
      expect(await bench().contents()).to.deep.equal({ x: { mode: 'write', 'B:write': '1' } });
    });
  });

  it('is deleted by force only while it is held for writing, the read holds of the writer with it', async () => {
    expect(await rw.forceWrite()).to.equal(false);
    await rw.read('A');
    expect(await rw.forceWrite()).to.equal(false);
    await rw.unread('A');
    await rw.write('W');
    await rw.read('W');
    await bench().messages();
    expect(await rw.forceWrite()).to.equal(true);
    expect(await rw.locked()).to.deep.equal([false, false]);
    expect(await bench().messages()).to.deep.equal(['redisson_rwlock:{x} 1']);
  });
});
