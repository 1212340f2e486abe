import { expect } from 'chai';
import { getEventListeners } from 'node:events';
import type { SinonFakeTimers } from 'sinon';
import { ENDLESS_PATIENCE, INTERRUPTED, Patience } from '../../../lib/wait/Patience';
import { fakeClock, turn } from '../../support';
import { Outcome } from '../../support/fakeClient';

const NEVER = new Promise<never>(() => undefined);

describe('Patience', () => {
  let clock: SinonFakeTimers;

  beforeEach(() => {
    clock = fakeClock();
  });

  it('without a limit costs no timer and hands the work through', () => {
    const work = Promise.resolve(1);
    expect(ENDLESS_PATIENCE.orInterrupted(work)).to.equal(work);
    expect([ENDLESS_PATIENCE.timed, ENDLESS_PATIENCE.over, ENDLESS_PATIENCE.aborted]).to.deep.equal([
      false,
      false,
      false,
    ]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('interrupts the work at its deadline, not before', async () => {
    const patience = new Patience(100, undefined);
    const work = new Outcome(patience.orInterrupted(NEVER));
    await clock.tickAsync(99);
    expect([work.state, patience.over]).to.deep.equal(['pending', false]);
    await clock.tickAsync(1);
    expect([work.value, patience.over]).to.deep.equal([INTERRUPTED, true]);
    patience.end();
    expect(clock.countTimers()).to.equal(0);
  });

  it('never fires before a deadline that is no whole millisecond', async () => {
    const patience = new Patience(99.6, undefined);
    const work = new Outcome(patience.orInterrupted(NEVER));
    await clock.tickAsync(99);
    expect(work.state).to.equal('pending');
    await clock.tickAsync(1);
    expect(work.value).to.equal(INTERRUPTED);
    patience.end();
  });

  it('waits longer than a timer can', async () => {
    const month = 30 * 24 * 3_600_000;
    const patience = new Patience(month, undefined);
    const work = new Outcome(patience.orInterrupted(NEVER));
    await clock.tickAsync(month - 1);
    expect(work.state).to.equal('pending');
    await clock.tickAsync(1);
    expect(work.value).to.equal(INTERRUPTED);
    patience.end();
  });

  it('gives the outcome of work that ends in time', async () => {
    const patience = new Patience(100, undefined);
    expect(await patience.orInterrupted(Promise.resolve(7))).to.equal(7);
    const failing = new Outcome(patience.orInterrupted(Promise.reject(new Error('no'))));
    await turn();
    expect(failing.error).to.have.property('message', 'no');
    patience.end();
    expect(clock.countTimers()).to.equal(0);
  });

  it('interrupts at once when it is over, and lets nothing go unhandled', async () => {
    const patience = new Patience(0, undefined);
    expect(await patience.orInterrupted(Promise.reject(new Error('late')))).to.equal(INTERRUPTED);
    patience.end();
  });

  it('interrupts the work when the signal aborts, and knows why', async () => {
    const stop = new AbortController();
    const patience = new Patience(Infinity, stop.signal);
    const work = new Outcome(patience.orInterrupted(NEVER));
    stop.abort('because');
    await turn();
    expect([work.value, patience.aborted, patience.over, patience.reason]).to.deep.equal([
      INTERRUPTED,
      true,
      true,
      'because',
    ]);
    patience.end();
  });

  it('leaves no listener on the signal', () => {
    const stop = new AbortController();
    const many = Array.from({ length: 20 }, () => new Patience(Infinity, stop.signal));
    expect(getEventListeners(stop.signal, 'abort')).to.have.length(1);
    for (const patience of many) patience.end();
    expect(getEventListeners(stop.signal, 'abort')).to.have.length(0);
    const again = new Patience(Infinity, stop.signal);
    expect(getEventListeners(stop.signal, 'abort')).to.have.length(1);
    stop.abort();
    expect(getEventListeners(stop.signal, 'abort')).to.have.length(0);
    again.end();
  });
});
