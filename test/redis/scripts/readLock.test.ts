// Ids in titles: test/README.md
import { expect } from 'chai';
import { sleep } from '../../support';
import { RwBench } from './RwBench';
import { useBench } from './ScriptBench';

describe('read lock scripts', () => {
  const bench = useBench();
  let rw: RwBench;
  beforeEach(() => {
    rw = new RwBench(bench());
  });

  describe('acquire', () => {
    it('takes a free lock: mode, holds, and a key per hold with its own lease', async () => {
      expect(await rw.read('A')).to.deep.equal({ acquired: true });
      expect(await bench().contents()).to.deep.equal({
        x: { mode: 'read', A: '1' },
        '{x}:A:rwlock_timeout:1': '1',
      });
      expect(await rw.pttl()).to.be.within(29_000, 30_000);
      expect(await rw.holdPttl('A', 1)).to.be.within(29_000, 30_000);
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('lets other readers in; the lock lives as long as the longest hold', async () => {
      await rw.read('A');
      expect(await rw.read('B', 1, 2_000)).to.deep.equal({ acquired: true });
      expect(await rw.read('C', 1, 60_000)).to.deep.equal({ acquired: true });
      expect(await bench().redis.hgetall(bench().name)).to.deep.equal({ mode: 'read', A: '1', B: '1', C: '1' });
      expect(await rw.holdPttl('B', 1)).to.be.within(1_000, 2_000);
      expect(await rw.pttl()).to.be.within(59_000, 60_000);
    });

    it('is repeated without a second hold', async () => {
      await rw.read('A');
      await rw.read('A');
      await rw.read('A', 2);
      expect(await rw.read('A', 2)).to.deep.equal({ acquired: true });
      expect(await bench().contents()).to.deep.equal({
        x: { mode: 'read', A: '2' },
        '{x}:A:rwlock_timeout:1': '1',
        '{x}:A:rwlock_timeout:2': '1',
      });
    });

    it('is kept out by a writer, who may read itself', async () => {
      await rw.write('W', 1, 5_000);
      const reply = await rw.read('A');
      expect(reply).to.include({ acquired: false });
      expect(reply).to.have.property('ttl').within(4_000, 5_000);
      expect(await rw.read('W')).to.deep.equal({ acquired: true });
      expect(await bench().redis.hgetall(bench().name)).to.deep.equal({ mode: 'write', 'W:write': '1', W: '1' });
      expect(await rw.pttl()).to.be.within(29_000, 30_000);
    });

    it('is kept out by a lock of another kind on the same name', async () => {
      await bench().redis.hset(bench().name, 'A', 1);
      expect(await rw.read('B')).to.deep.equal({ acquired: false, ttl: -1 });
      expect(await rw.write('B')).to.deep.equal({ acquired: false, ttl: -1 });
      expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
    });

    it('revives a hold of its own that had expired, instead of counting it twice', async () => {
      await rw.read('A');
      await rw.read('B', 1, 1);
      await sleep(20);
      expect(await rw.read('B')).to.deep.equal({ acquired: true });
      expect(await bench().redis.hget(bench().name, 'B')).to.equal('1');
      expect(await rw.holdPttl('B', 1)).to.be.within(29_000, 30_000);
    });

    it('says how many holds there are where earlier ones were lost', async () => {
      expect(await rw.read('A', 3)).to.deep.equal({ acquired: true, holds: 1 });
    });
  });

  describe('release', () => {
    it('gives the youngest hold back; the lock lives as long as the longest one that is left', async () => {
      await rw.read('A', 1, 5_000);
      await rw.read('A', 2, 60_000);
      await rw.read('B', 1, 40_000);
      expect(await rw.unread('A', 1)).to.deep.equal({ kind: 'kept' });
      expect(await rw.unread('A', 1)).to.deep.equal({ kind: 'kept' });
      expect(await bench().contents()).to.deep.equal({
        x: { mode: 'read', A: '1', B: '1' },
        '{x}:A:rwlock_timeout:1': '1',
        '{x}:B:rwlock_timeout:1': '1',
      });
      expect(await rw.pttl()).to.be.within(39_000, 40_000);
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('tells the waiting writers, once, when what is left lives less than half as long', async () => {
      await rw.read('A', 1, 60_000);
      await rw.read('B', 1, 20_000);
      expect(await rw.unread('A')).to.deep.equal({ kind: 'kept' });
      expect(await rw.pttl()).to.be.within(19_000, 20_000);
      expect(await bench().messages()).to.deep.equal(['redisson_rwlock:{x} 0']);
      expect(await rw.unread('B', 1, 20_000)).to.deep.equal({ kind: 'kept' });
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('RW-09: the life of the lock falls back to the remainder of the outer hold', async () => {
      await rw.read('A', 1, 4_000);
      await rw.read('A', 2, 8_000);
      await rw.unread('A', 1);
      expect(await rw.pttl()).to.be.within(3_000, 4_000);
    });

    it('gives what is left the lease it has, whichever hold was given back', async () => {
      await rw.read('A', 1, 4_000);
      await rw.read('A', 2, 60_000);
      expect(await rw.unread('A', 1, 50_000)).to.deep.equal({ kind: 'kept' });
      expect(await rw.holdPttl('A', 1)).to.be.within(49_000, 50_000);
      expect(await rw.pttl()).to.be.within(49_000, 50_000);
      expect(await rw.unread('A', 1, 3_000)).to.deep.equal({ kind: 'kept' });
      expect(await rw.holdPttl('A', 1)).to.be.within(2_000, 3_000);
      expect(await rw.pttl()).to.be.within(2_000, 3_000);
    });

    it('gives what is left its lease under the own write lock, which lives as long at least', async () => {
      await rw.write('W', 1, 5_000);
      await rw.read('W', 1, 5_000);
      await rw.unread('W', 1, 60_000);
      expect(await rw.pttl()).to.be.within(59_000, 60_000);
      await rw.unread('W', 1, 3_000);
      expect(await rw.pttl()).to.be.within(59_000, 60_000);
    });

    it('by one of two readers tells nobody, by the last one everybody', async () => {
      await rw.read('A');
      await rw.read('B');
      expect(await rw.unread('A', 0)).to.deep.equal({ kind: 'kept' });
      expect(await bench().messages()).to.deep.equal([]);
      expect(await rw.unread('B', 0)).to.deep.equal({ kind: 'released', receivers: 1 });
      expect(await bench().messages()).to.deep.equal(['redisson_rwlock:{x} 0']);
      expect(await bench().contents()).to.deep.equal({});
    });

    it('undoes several holds at once', async () => {
      for (const count of [1, 2, 3]) await rw.read('A', count);
      await rw.read('B');
      expect(await rw.unread('A', 0)).to.deep.equal({ kind: 'kept' });
      expect(await bench().contents()).to.deep.equal({
        x: { mode: 'read', B: '1' },
        '{x}:B:rwlock_timeout:1': '1',
      });
    });

    it('frees the lock when only dead readers are left', async () => {
      await rw.read('A');
      await rw.read('dead', 1, 1);
      await sleep(20);
      expect(await rw.unread('A', 0)).to.deep.equal({ kind: 'released', receivers: 1 });
      expect(await bench().contents()).to.deep.equal({});
    });

    it('under the own write lock never cuts its life', async () => {
      await rw.write('W', 1, 60_000);
      await rw.read('W', 1, 5_000);
      await rw.read('W', 2, 6_000);
      expect(await rw.unread('W', 1)).to.deep.equal({ kind: 'kept' });
      expect(await rw.pttl()).to.be.within(59_000, 60_000);
      expect(await rw.unread('W', 0)).to.deep.equal({ kind: 'kept' });
      expect(await rw.pttl()).to.be.within(59_000, 60_000);
      expect(await bench().contents()).to.deep.equal({ x: { mode: 'write', 'W:write': '1' } });
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('of a lock that is gone is no success, but tells everybody', async () => {
      expect(await rw.unread('A')).to.deep.equal({ kind: 'notHeld' });
      expect(await bench().messages()).to.deep.equal(['redisson_rwlock:{x} 0']);
    });

    it('by somebody else changes nothing', async () => {
      await rw.read('A');
      expect(await rw.unread('B')).to.deep.equal({ kind: 'notHeld' });
      expect(await bench().messages()).to.deep.equal([]);
    });

    it('G-07: repeated, it leaves the next holder alone', async () => {
      await rw.read('A');
      await rw.unread('A', 0);
      await rw.write('B');
      await bench().messages();
      expect(await rw.unread('A', 0)).to.deep.equal({ kind: 'notHeld' });
      expect(await rw.locked()).to.deep.equal([false, true]);
      expect(await bench().messages()).to.deep.equal([]);
    });
  });

  it('is deleted by force only while it is held for reading', async () => {
    expect(await rw.forceRead()).to.equal(false);
    await rw.write('W');
    expect(await rw.forceRead()).to.equal(false);
    await rw.unwrite('W');
    await rw.read('A');
    await rw.read('B');
    await bench().messages();
    expect(await rw.forceRead()).to.equal(true);
    expect(await bench().messages()).to.deep.equal(['redisson_rwlock:{x} 0']);
    // as Redisson: the keys of the holds run out
    expect(Object.keys(await bench().contents())).to.deep.equal(['{x}:A:rwlock_timeout:1', '{x}:B:rwlock_timeout:1']);
  });

  it('says who is inside', async () => {
    expect(await rw.locked()).to.deep.equal([false, false]);
    await rw.read('A');
    expect(await rw.locked()).to.deep.equal([true, false]);
    await rw.unread('A');
    await rw.write('A');
    expect(await rw.locked()).to.deep.equal([false, true]);
    await rw.read('A');
    expect(await rw.locked()).to.deep.equal([true, true]);
  });
});
