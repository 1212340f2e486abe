// Ids in titles: test/README.md
import { expect } from 'chai';
import { SEMAPHORE } from '../../../lib/kinds/semaphore';
import { PUBLISH_COMMAND } from '../../../lib/scripts/Script';
import { useBench } from './ScriptBench';

describe('semaphore scripts', () => {
  const bench = useBench();
  const keys = () => ({ name: bench().name, channel: `redisson_sc:{${bench().name}}` });
  const acquire = (permits: number) => bench().run(SEMAPHORE.acquire, keys(), { permits });
  const release = (permits: number) =>
    bench().run(SEMAPHORE.release, keys(), { permits, existing: 0, publish: PUBLISH_COMMAND });
  const releaseIfExists = (permits: number) =>
    bench().run(SEMAPHORE.release, keys(), { permits, existing: 1, publish: PUBLISH_COMMAND });
  const trySet = (permits: number, ttl = 0) =>
    bench().run(SEMAPHORE.trySetPermits, keys(), { permits, ttl, publish: PUBLISH_COMMAND });
  const add = (permits: number) => bench().run(SEMAPHORE.addPermits, keys(), { permits, publish: PUBLISH_COMMAND });
  const drain = () => bench().run(SEMAPHORE.drain, keys(), {});
  const available = () => bench().run(SEMAPHORE.available, keys(), {});
  const pttl = () => bench().redis.pttl(bench().name);

  it('takes permits while there are enough, and tells nobody', async () => {
    await trySet(5);
    await bench().messages();
    expect(await acquire(3)).to.equal(true);
    expect(await acquire(3)).to.equal(false);
    expect(await acquire(2)).to.equal(true);
    expect(await bench().contents()).to.deep.equal({ x: '0' });
    expect(await bench().messages()).to.deep.equal([]);
  });

  it('has none while it does not exist, and is not made by asking', async () => {
    expect(await acquire(1)).to.equal(false);
    expect(await available()).to.equal(0);
    expect(await bench().contents()).to.deep.equal({});
  });

  it('SE-10: gives permits back to one that does not exist; the message is the new balance', async () => {
    expect(await release(1)).to.equal(1);
    expect(await release(2)).to.equal(3);
    expect(await bench().contents()).to.deep.equal({ x: '3' });
    expect(await bench().messages()).to.deep.equal(['redisson_sc:{x} 1', 'redisson_sc:{x} 3']);
  });

  it('SE-13: gives permits back only where it exists', async () => {
    expect(await releaseIfExists(1)).to.equal(null);
    expect(await bench().contents()).to.deep.equal({});
    await trySet(1);
    expect(await releaseIfExists(2)).to.equal(3);
    expect(await available()).to.equal(3);
    expect(await bench().messages()).to.deep.equal(['redisson_sc:{x} 1', 'redisson_sc:{x} 3']);
  });

  it('SE-04: sets the permits once, a count of zero included', async () => {
    expect(await trySet(0)).to.equal(true);
    expect(await trySet(15)).to.equal(false);
    expect(await bench().contents()).to.deep.equal({ x: '0' });
    expect(await pttl()).to.equal(-1);
    expect(await bench().messages()).to.deep.equal(['redisson_sc:{x} 0']);
  });

  it('SE-04: sets the permits for a time, which acquire and release keep', async () => {
    expect(await trySet(1, 20_000)).to.equal(true);
    await acquire(1);
    await release(1);
    expect(await pttl()).to.be.within(19_000, 20_000);
  });

  it('SE-05: adds permits, negative ones too; the message is the balance, also below zero; the time limit is gone', async () => {
    await trySet(1, 20_000);
    expect(await add(4)).to.equal(5);
    expect(await pttl()).to.equal(-1);
    expect(await add(-7)).to.equal(-2);
    expect(await available()).to.equal(-2);
    expect(await bench().messages()).to.deep.equal(['redisson_sc:{x} 1', 'redisson_sc:{x} 5', 'redisson_sc:{x} -2']);
  });

  it('SE-11: drains what is there, debts too; the time limit is gone', async () => {
    expect(await drain()).to.equal(0);
    expect(await bench().contents()).to.deep.equal({});
    await trySet(7, 20_000);
    expect(await drain()).to.equal(7);
    expect(await pttl()).to.equal(-1);
    await add(-3);
    expect(await drain()).to.equal(-3);
    expect(await available()).to.equal(0);
  });

  it('is deleted without a message', async () => {
    const remove = () => bench().run(SEMAPHORE.delete, keys(), {});
    expect(await remove()).to.equal(false);
    await trySet(1);
    await bench().messages();
    expect(await remove()).to.equal(true);
    expect(await bench().contents()).to.deep.equal({});
    expect(await bench().messages()).to.deep.equal([]);
  });

  it('reports text that is no number instead of waiting for it', async () => {
    await bench().redis.set(bench().name, 'text');
    const error = await acquire(1).catch((reason: Error) => reason);
    expect(error)
      .to.have.property('message')
      .that.matches(/^ERR value is not an integer/);
    expect(await bench().contents()).to.deep.equal({ x: 'text' });
  });

  it('is never sent twice where that would count twice', () => {
    for (const script of [SEMAPHORE.acquire, SEMAPHORE.release, SEMAPHORE.addPermits]) {
      expect(script.resend).to.equal('never');
    }
    for (const script of [SEMAPHORE.trySetPermits, SEMAPHORE.drain]) expect(script.resend).to.equal('never');
  });
});
