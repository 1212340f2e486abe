import { expect } from 'chai';
import { fakeClock, sleepUntil } from '../../support';

describe('sleepUntil', () => {
  it('resolves to the truthy value', async () => {
    let calls = 0;
    expect(await sleepUntil(() => (++calls === 3 ? 'third' : ''))).to.equal('third');
  });

  it('rejects past the time-out, naming what never happened', async () => {
    const error = await sleepUntil(() => false, { timeout: 20, message: 'pigs fly' }).catch((e: unknown) => e);
    expect(String(error)).to.equal('Error: not within 20 ms: pigs fly');
  });

  it('waits in real time under a fake clock', async () => {
    fakeClock();
    let calls = 0;
    await sleepUntil(() => ++calls === 3);
    expect(Date.now()).to.equal(0);
  });
});

describe('fakeClock', () => {
  it('was taken back after the test before', () => {
    expect(Date.now()).to.be.greaterThan(1e12);
  });

  it('moves Date, performance and timers, and leaves setImmediate alone', async () => {
    const clock = fakeClock(1000);
    const fired: number[] = [];
    setTimeout(() => fired.push(Date.now()), 500);
    await clock.tickAsync(500);
    expect(fired).to.deep.equal([1500]);
    expect(performance.now()).to.equal(500);
    await new Promise((resolve) => setImmediate(resolve));
  });
});
