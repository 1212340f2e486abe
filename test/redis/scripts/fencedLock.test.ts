// Ids in titles: test/README.md
import { expect } from 'chai';
import { acquireFencedLock, handOverFencedLock } from '../../../lib/kinds/fenced';
import { releaseLock } from '../../../lib/kinds/reentrant';
import { PUBLISH_COMMAND, RESEND_FLAG } from '../../../lib/scripts/Script';
import { useBench } from './ScriptBench';

describe('fenced lock scripts', () => {
  const bench = useBench();
  const keys = () => ({ name: bench().name, token: `redisson_lock_token:{${bench().name}}` });
  const acquire = (owner: string, count = 1, lease = 30_000, resent = false) =>
    bench().run(acquireFencedLock, keys(), { lease, owner, count, repeated: RESEND_FLAG }, { resent });
  const again = (owner: string, count = 1) => acquire(owner, count, 30_000, true);
  const handOver = (owner: string, heir: string, resent = false) =>
    bench().run(handOverFencedLock, keys(), { owner, heir, lease: 20_000, repeated: RESEND_FLAG }, { resent });
  const release = (owner: string) =>
    bench().run(
      releaseLock,
      { name: bench().name, channel: 'unused' },
      { message: '0', owner, left: 0, remaining: 0, publish: PUBLISH_COMMAND },
    );
  const pttl = () => bench().redis.pttl(bench().name);

  it('gives a token with the lock; the token stays when the lock goes', async () => {
    expect(await acquire('A')).to.deep.equal({ acquired: true, token: 1n });
    expect(await pttl()).to.be.within(...bench().left(30_000));
    expect(await bench().contents()).to.deep.equal({ 'redisson_lock_token:{x}': '1', x: { A: '1' } });
    expect(await bench().redis.pttl(keys().token)).to.equal(-1);
    await release('A');
    expect(await acquire('B')).to.deep.equal({ acquired: true, token: 2n });
  });

  it('G-06: takes another token for a re-entry, as Redisson', async () => {
    await acquire('A');
    expect(await acquire('A', 2, 100)).to.deep.equal({ acquired: true, token: 2n });
    expect(await pttl()).to.be.within(...bench().left(30_000));
    expect(await bench().contents()).to.deep.equal({ 'redisson_lock_token:{x}': '2', x: { A: '2' } });
  });

  it('answers a repeat with the token it has, and takes no second one', async () => {
    await acquire('A');
    expect(await again('A')).to.deep.equal({ acquired: true, token: 1n });
    await acquire('A', 2);
    expect(await again('A', 2)).to.deep.equal({ acquired: true, token: 2n });
    expect(await bench().contents()).to.deep.equal({ 'redisson_lock_token:{x}': '2', x: { A: '2' } });
  });

  it('A8: gives a new token where a hold is there that is not of this command', async () => {
    await acquire('A');
    expect(await acquire('A')).to.deep.equal({ acquired: true, token: 2n });
    expect(await bench().contents()).to.deep.equal({ 'redisson_lock_token:{x}': '2', x: { A: '1' } });
  });

  it('takes no token where the lock is held by another', async () => {
    await acquire('A');
    const reply = await acquire('B');
    expect(reply).to.include({ acquired: false });
    expect(reply)
      .to.have.property('ttl')
      .within(...bench().left(30_000));
    expect(await bench().redis.get(keys().token)).to.equal('1');
  });

  it('says how many holds there are where earlier ones were lost', async () => {
    expect(await acquire('A', 3)).to.deep.equal({ acquired: true, token: 1n, holds: 1 });
  });

  it('gives a new token where the counter was deleted meanwhile', async () => {
    await acquire('A');
    await bench().redis.del(keys().token);
    expect(await acquire('A')).to.deep.equal({ acquired: true, token: 1n });
  });

  it('is exact beyond 2^53', async () => {
    await bench().redis.set(keys().token, '9007199254740992');
    expect(await acquire('A')).to.deep.equal({ acquired: true, token: 9007199254740993n });
    expect(await again('A')).to.deep.equal({ acquired: true, token: 9007199254740993n });
    expect(await handOver('A', 'B')).to.deep.equal({ kind: 'handed', token: 9007199254740994n });
  });

  for (const [what, value] of [
    ['is no number', 'text'],
    ['cannot grow', '9223372036854775807'],
  ] as const) {
    it(`changes nothing where the token ${what}`, async () => {
      await bench().redis.set(keys().token, value);
      const error = await acquire('A').then(
        () => undefined,
        (reason: Error) => reason,
      );
      expect(error?.message).to.match(/^ERR .*(integer|overflow)/);
      expect(await bench().contents()).to.deep.equal({ 'redisson_lock_token:{x}': value });
    });
  }

  it('hands the last hold over with a token for the heir, once', async () => {
    expect(await handOver('A', 'B')).to.deep.equal({ kind: 'notHeld' });
    await acquire('A');
    expect(await handOver('A', 'B')).to.deep.equal({ kind: 'handed', token: 2n });
    // A repeat writes, as with a plain lock.
    await bench().redis.pexpire(bench().name, 10_000);
    expect(await handOver('A', 'B', true)).to.deep.equal({ kind: 'handed', token: 2n });
    expect(await pttl()).to.be.within(...bench().left(20_000));
    // A hold of the heir that this command cannot have brought is none of its doing.
    expect(await handOver('A', 'B')).to.deep.equal({ kind: 'notHeld' });
    expect(await bench().contents()).to.deep.equal({ 'redisson_lock_token:{x}': '2', x: { B: '1' } });
    expect(await pttl()).to.be.within(...bench().left(20_000));
    expect(await bench().messages()).to.deep.equal([]);
  });
});
