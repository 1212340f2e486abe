// Ids in titles: test/README.md
import { expect } from 'chai';
import { LATCH } from '../../../lib/kinds/latch';
import { PUBLISH_COMMAND } from '../../../lib/scripts/Script';
import { useBench } from './ScriptBench';

describe('count-down latch scripts', () => {
  const bench = useBench();
  const keys = () => ({ name: bench().name, channel: `redisson_countdownlatch__channel__{${bench().name}}` });
  const trySet = (count: number) =>
    bench().run(LATCH.trySetCount, keys(), { message: '1', count, publish: PUBLISH_COMMAND });
  const countDown = () => bench().run(LATCH.countDown, keys(), { message: '0', publish: PUBLISH_COMMAND });
  const remove = () => bench().run(LATCH.delete, keys(), { message: '1', publish: PUBLISH_COMMAND });
  const count = () => bench().run(LATCH.getCount, keys(), {});

  it('CL-07: sets a count where there is none', async () => {
    expect(await trySet(2)).to.equal(true);
    expect(await trySet(3)).to.equal(false);
    expect(await bench().contents()).to.deep.equal({ x: '2' });
    expect(await bench().redis.pttl(bench().name)).to.equal(-1);
    expect(await bench().messages()).to.deep.equal(['redisson_countdownlatch__channel__{x} 1']);
  });

  it('CL-07: a stored zero is a count', async () => {
    await bench().redis.set(bench().name, 0);
    expect(await trySet(3)).to.equal(false);
  });

  it('counts down to zero, where the key goes and everybody is told', async () => {
    await trySet(2);
    await bench().messages();
    expect(await countDown()).to.equal(1);
    expect(await count()).to.equal(1);
    expect(await bench().messages()).to.deep.equal([]);
    expect(await countDown()).to.equal(0);
    expect(await bench().contents()).to.deep.equal({});
    expect(await bench().messages()).to.deep.equal(['redisson_countdownlatch__channel__{x} 0']);
  });

  it('CL-08: does nothing without a count, and removes one that is below zero', async () => {
    expect(await count()).to.equal(0);
    expect(await countDown()).to.equal(0);
    await bench().redis.set(bench().name, -3);
    expect(await countDown()).to.equal(0);
    expect(await bench().contents()).to.deep.equal({});
    expect(await bench().messages()).to.deep.equal([]);
  });

  it('CL-05, CL-06: is deleted, which is told as a change', async () => {
    expect(await remove()).to.equal(false);
    expect(await bench().messages()).to.deep.equal([]);
    await trySet(1);
    await bench().messages();
    expect(await remove()).to.equal(true);
    expect(await bench().contents()).to.deep.equal({});
    expect(await bench().messages()).to.deep.equal(['redisson_countdownlatch__channel__{x} 1']);
  });

  it('is never sent twice where that would count twice', () => {
    expect(LATCH.countDown.resend).to.equal('never');
    expect(LATCH.trySetCount.resend).to.equal('never');
  });
});
