// Ids in titles: test/README.md
import { expect } from 'chai';
import { acquireLock, forceReleaseLock, handOverLock, releaseLock, renewLocks } from '../../../lib/kinds/reentrant';
import { PUBLISH_COMMAND } from '../../../lib/scripts/Script';
import { useBench } from './ScriptBench';

describe('lock scripts', () => {
  const bench = useBench();
  const channel = (): string => `redisson_lock__channel:{${bench().name}}`;
  const acquire = (owner: string, count = 1, lease = 30_000) =>
    bench().run(acquireLock, { name: bench().name }, { lease, owner, count });
  const release = (owner: string, left = 0, remaining = 0) =>
    bench().run(
      releaseLock,
      { name: bench().name, channel: channel() },
      { message: '0', owner, left, remaining, publish: PUBLISH_COMMAND },
    );
  const force = () =>
    bench().run(
      forceReleaseLock,
      { name: bench().name, channel: channel() },
      { message: '0', publish: PUBLISH_COMMAND },
    );
  const pttl = () => bench().redis.pttl(bench().name);

  it('takes a free lock: one field, one hold, the lease', async () => {
    expect(await acquire('A')).to.deep.equal({ acquired: true });
    expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
    expect(await pttl()).to.be.within(29_000, 30_000);
    expect(await bench().messages()).to.deep.equal([]);
  });

  it('takes it once more for its owner, and a repeat of that changes nothing', async () => {
    await acquire('A');
    expect(await acquire('A', 2)).to.deep.equal({ acquired: true });
    expect(await acquire('A', 2)).to.deep.equal({ acquired: true });
    expect(await bench().contents()).to.deep.equal({ x: { A: '2' } });
  });

  it('answers the pttl to another owner and leaves the lock alone', async () => {
    await acquire('A', 1, 5_000);
    const reply = await acquire('B');
    expect(reply.acquired).to.equal(false);
    expect(reply).to.have.property('ttl').within(4_000, 5_000);
    expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
  });

  it('answers -1 where the lock does not expire', async () => {
    await bench().redis.hset(bench().name, 'A', 1);
    expect(await acquire('B')).to.deep.equal({ acquired: false, ttl: -1 });
  });

  it('says how many holds there are where earlier ones were lost', async () => {
    expect(await acquire('A', 3)).to.deep.equal({ acquired: true, holds: 1 });
    expect(await acquire('A', 4)).to.deep.equal({ acquired: true, holds: 2 });
  });

  it('never cuts the life of a lock by a shorter lease', async () => {
    await acquire('A', 1, 30_000);
    await acquire('A', 2, 100);
    expect(await pttl()).to.be.within(29_000, 30_000);
    await acquire('A', 3, 60_000);
    expect(await pttl()).to.be.within(59_000, 60_000);
  });

  it('gives one hold back, with the lease of what is left, and tells nobody', async () => {
    await acquire('A');
    await acquire('A', 2);
    expect(await release('A', 1, 29_500)).to.deep.equal({ kind: 'kept' });
    expect(await release('A', 1, 29_500)).to.deep.equal({ kind: 'kept' });
    expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
    expect(await pttl()).to.be.within(28_500, 29_500);
    expect(await bench().messages()).to.deep.equal([]);
  });

  it('tells the waiters, once, when what is left lives less long by more than 1 s: they sleep by what they knew', async () => {
    await acquire('A');
    await acquire('A', 2);
    expect(await release('A', 1, 5_000)).to.deep.equal({ kind: 'kept' });
    expect(await release('A', 1, 5_000)).to.deep.equal({ kind: 'kept' });
    expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
    expect(await pttl()).to.be.within(4_000, 5_000);
    expect(await bench().messages()).to.deep.equal(['redisson_lock__channel:{x} 0']);
  });

  it('frees the lock with the last hold, and says how many were told', async () => {
    await acquire('A');
    expect(await release('A', 0)).to.deep.equal({ kind: 'released', receivers: 1 });
    expect(await bench().contents()).to.deep.equal({});
    expect(await bench().messages()).to.deep.equal(['redisson_lock__channel:{x} 0']);
  });

  it('undoes several holds at once', async () => {
    await acquire('A');
    await acquire('A', 2);
    await acquire('A', 3);
    expect(await release('A', 1)).to.deep.equal({ kind: 'kept' });
    expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
  });

  it('sets the lease alone where all holds are left', async () => {
    await acquire('A', 1, 5_000);
    expect(await release('A', 1, 60_000)).to.deep.equal({ kind: 'kept' });
    expect(await bench().contents()).to.deep.equal({ x: { A: '1' } });
    expect(await pttl()).to.be.within(59_000, 60_000);
    expect(await release('A', 1, 2_000)).to.deep.equal({ kind: 'kept' });
    expect(await pttl()).to.be.within(1_000, 2_000);
    expect(await release('A', 1)).to.deep.equal({ kind: 'kept' });
    expect(await pttl()).to.be.within(1_000, 2_000);
    expect(await release('B', 1, 60_000)).to.deep.equal({ kind: 'notHeld' });
    expect(await pttl()).to.be.within(1_000, 2_000);
  });

  it('G-07: a repeated release leaves the next holder alone', async () => {
    await acquire('A');
    await release('A', 0);
    await bench().messages();
    await acquire('B');
    expect(await release('A', 0)).to.deep.equal({ kind: 'notHeld' });
    expect(await bench().contents()).to.deep.equal({ x: { B: '1' } });
    expect(await bench().messages()).to.deep.equal([]);
  });

  it('hands the last hold over, once, without a message', async () => {
    const handOver = () => bench().run(handOverLock, { name: bench().name }, { owner: 'A', heir: 'B', lease: 5_000 });
    expect(await handOver()).to.deep.equal({ kind: 'notHeld' });
    await acquire('A');
    expect(await handOver()).to.deep.equal({ kind: 'handed' });
    expect(await handOver()).to.deep.equal({ kind: 'handed' });
    expect(await bench().contents()).to.deep.equal({ x: { B: '1' } });
    expect(await pttl()).to.be.within(4_000, 5_000);
    expect(await bench().messages()).to.deep.equal([]);
  });

  it('writes when it is handed over once more: replicas confirm only what its connection has written', async () => {
    const { name, redis } = bench();
    const handOver = () => bench().run(handOverLock, { name }, { owner: 'A', heir: 'B', lease: 5_000 });
    await acquire('A');
    await handOver();
    await redis.pexpire(name, 1_000);
    expect(await handOver()).to.deep.equal({ kind: 'handed' });
    expect(await pttl()).to.be.within(4_000, 5_000);
    await redis.pexpire(name, 90_000);
    expect(await handOver()).to.deep.equal({ kind: 'handed' });
    expect(await pttl(), 'a longer lease stays').to.be.greaterThan(80_000);
  });

  it('is deleted by force whoever holds it', async () => {
    expect(await force()).to.equal(false);
    await acquire('A');
    expect(await force()).to.equal(true);
    expect(await bench().contents()).to.deep.equal({});
    expect(await bench().messages()).to.deep.equal(['redisson_lock__channel:{x} 0']);
  });

  it('renews many: those held get the lease unless they have more, the others are reported', async () => {
    const { name, redis } = bench();
    const names = ['a', 'b', 'c', 'd', 'e'].map((part) => `${name}:${part}`);
    const [short, long, foreign, gone, wrong] = names as [string, string, string, string, string];
    await redis.hset(short, 'A', 1);
    await redis.pexpire(short, 1_000);
    await redis.hset(long, 'B', 1);
    await redis.pexpire(long, 90_000);
    await redis.hset(foreign, 'other', 1);
    await redis.pexpire(foreign, 1_000);
    await redis.set(wrong, 'text');
    const renewed = await bench().run(renewLocks, {}, { lease: 30_000 }, { moreKeys: names, moreArgs: [...'ABCDE'] });
    expect(renewed).to.deep.equal([true, true, false, false, false]);
    expect(await redis.pttl(short)).to.be.within(29_000, 30_000);
    expect(await redis.pttl(long)).to.be.within(89_000, 90_000);
    expect(await redis.pttl(foreign)).to.be.within(1, 1_000);
    expect(await redis.exists(gone)).to.equal(0);
    expect(await redis.get(wrong)).to.equal('text');
  });
});
