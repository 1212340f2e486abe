import { expect } from 'chai';
import { getEventListeners } from 'node:events';
import pDefer from 'p-defer';
import type { SinonFakeTimers } from 'sinon';
import { INTERRUPTED, WaitLimit } from '../../../lib/acquire/WaitLimit';
import { fakeClock, stallClock, turn } from '../../support';
import { Outcome } from '../../support/fakeClient';

const NEVER = new Promise<never>(() => undefined);

describe('WaitLimit', () => {
  let clock: SinonFakeTimers;

  beforeEach(() => {
    clock = fakeClock();
  });

  it('without a limit costs no timer and hands the work through', () => {
    const work = Promise.resolve(1);
    const limit = new WaitLimit(Infinity, undefined);
    expect(limit.orInterrupted(work)).to.equal(work);
    expect([limit.timed, limit.over, limit.aborted]).to.deep.equal([false, false, false]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('interrupts the work at its deadline, not before', async () => {
    const limit = new WaitLimit(100, undefined);
    const work = new Outcome(limit.orInterrupted(NEVER));
    await clock.tickAsync(99);
    expect([work.state, limit.over]).to.deep.equal(['pending', false]);
    await clock.tickAsync(1);
    expect([work.value, limit.over]).to.deep.equal([INTERRUPTED, true]);
    limit.end();
    expect(clock.countTimers()).to.equal(0);
  });

  it('never fires before a deadline that is no whole millisecond', async () => {
    const limit = new WaitLimit(99.6, undefined);
    const work = new Outcome(limit.orInterrupted(NEVER));
    await clock.tickAsync(99);
    expect(work.state).to.equal('pending');
    await clock.tickAsync(1);
    expect(work.value).to.equal(INTERRUPTED);
    limit.end();
  });

  it('waits longer than a timer can', async () => {
    const month = 30 * 24 * 3_600_000;
    const limit = new WaitLimit(month, undefined);
    const work = new Outcome(limit.orInterrupted(NEVER));
    await clock.tickAsync(month - 1);
    expect(work.state).to.equal('pending');
    await clock.tickAsync(1);
    expect(work.value).to.equal(INTERRUPTED);
    limit.end();
  });

  it('gives the outcome of work that ends in time', async () => {
    const limit = new WaitLimit(100, undefined);
    expect(await limit.orInterrupted(Promise.resolve(7))).to.equal(7);
    const failing = new Outcome(limit.orInterrupted(Promise.reject(new Error('no'))));
    await turn();
    expect(failing.error).to.have.property('message', 'no');
    limit.end();
    expect(clock.countTimers()).to.equal(0);
  });

  it('interrupts at once when it is over, and lets nothing go unhandled', async () => {
    const limit = new WaitLimit(0, undefined);
    expect(await limit.orInterrupted(Promise.reject(new Error('late')), true)).to.equal(INTERRUPTED);
    await clock.tickAsync(0);
    expect(await limit.orInterrupted(Promise.reject(new Error('late')))).to.equal(INTERRUPTED);
    limit.end();
  });

  it('reads a reply that has come by the deadline', async () => {
    const limit = new WaitLimit(100, undefined);
    const reply = limit.orInterrupted(new Promise((resolve) => setImmediate(() => resolve('yes'))));
    clock.tick(100);
    expect(await reply).to.equal('yes');
    limit.end();
  });

  it('after a blocked event loop waits for a reply as long as it was blocked, and not for the end of a sleep', async () => {
    const replied = new WaitLimit(100, undefined);
    const slept = new WaitLimit(100, undefined);
    const silent = new WaitLimit(100, undefined);
    const reply = pDefer<string>();
    const replies = new Outcome(replied.orInterrupted(reply.promise));
    const sleeps = new Outcome(slept.orInterrupted(NEVER, true));
    const never = new Outcome(silent.orInterrupted(NEVER));
    stallClock(clock, 110);
    clock.tick(100);
    await turn();
    // Half of the time had a timer of its own: it was 60 ms late.
    expect([replies.state, sleeps.value, never.state]).to.deep.equal(['pending', INTERRUPTED, 'pending']);
    reply.resolve('yes');
    await clock.tickAsync(69);
    expect([replies.value, never.state]).to.deep.equal(['yes', 'pending']);
    await clock.tickAsync(1);
    expect(never.value).to.equal(INTERRUPTED);
    for (const limit of [replied, slept, silent]) limit.end();
    expect(clock.countTimers()).to.equal(0);
  });

  it('interrupts the work when the signal aborts, and knows why', async () => {
    const stop = new AbortController();
    const limit = new WaitLimit(Infinity, stop.signal);
    const work = new Outcome(limit.orInterrupted(NEVER));
    stop.abort('because');
    await turn();
    expect([work.value, limit.aborted, limit.over, limit.reason]).to.deep.equal([INTERRUPTED, true, true, 'because']);
    limit.end();
  });

  it('leaves no listener on the signal', () => {
    const stop = new AbortController();
    const many = Array.from({ length: 20 }, () => new WaitLimit(Infinity, stop.signal));
    expect(getEventListeners(stop.signal, 'abort')).to.have.length(1);
    for (const limit of many) limit.end();
    expect(getEventListeners(stop.signal, 'abort')).to.have.length(0);
    const again = new WaitLimit(Infinity, stop.signal);
    expect(getEventListeners(stop.signal, 'abort')).to.have.length(1);
    stop.abort();
    expect(getEventListeners(stop.signal, 'abort')).to.have.length(0);
    again.end();
  });
});
