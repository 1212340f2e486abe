import { expect } from 'chai';
import { channel } from 'node:diagnostics_channel';
import type { SinonFakeTimers } from 'sinon';
import type { AcquireMessage, HoldMessage, LockLostEvent, RenewalMessage } from '../../../lib';
import { CommandTimeoutError } from '../../../lib/errors';
import { fakeClock, turn } from '../../support';
import { FakeClient, NAME, Outcome } from '../../support/fakeClient';
import { FakeOwnerships } from '../watchdog/fakeOwnerships';

describe('what the diagnostics channels tell, on a fake clock', () => {
  let clock: SinonFakeTimers;
  let stops: (() => void)[];

  beforeEach(() => {
    clock = fakeClock();
    stops = [];
  });

  afterEach(() => {
    for (const stop of stops) stop();
  });

  /** Collects the messages of a channel. */
  function listen<M>(name: string): M[] {
    const messages: M[] = [];
    const subscriber = (message: unknown): void => void messages.push(message as M);
    channel(name).subscribe(subscriber);
    stops.push(() => channel(name).unsubscribe(subscriber));
    return messages;
  }

  it('a renewal: how many locks, how long it took, and the error where it failed', async () => {
    const owned = new FakeOwnerships();
    const renewals = listen<RenewalMessage>('ioredisson:renewal');
    for (const name of ['a', 'b', 'c']) owned.take(name);
    let failure: Error | undefined;
    owned.answer = (batch) =>
      new Promise((resolve, reject) => {
        setTimeout(() => (failure === undefined ? resolve(batch.map(() => true)) : reject(failure)), 7);
      });
    await clock.tickAsync(10_007);
    expect(renewals).to.deep.equal([{ clientId: 'client', locks: 3, ms: 7 }]);
    failure = new Error('down');
    await clock.tickAsync(10_000);
    expect(renewals[1]).to.deep.equal({ clientId: 'client', locks: 3, ms: 7, error: failure });
    failure = undefined;
    await clock.tickAsync(1_007);
    expect(renewals[2]).to.deep.equal({ clientId: 'client', locks: 3, ms: 7 });
  });

  it('a loss: as onLockLost, in no context of a caller, once for all holds of a thread', async () => {
    const owned = new FakeOwnerships();
    const lost = listen<LockLostEvent>('ioredisson:lost');
    owned.take('a');
    owned.take('a');
    owned.answer = async (batch) => batch.map(() => false);
    await clock.tickAsync(10_000);
    expect(lost).to.deep.equal(owned.lost);
    expect(lost).to.have.lengthOf(1);
    expect(Object.keys(lost[0]!)).to.deep.equal(['name', 'threadId', 'cause']);
  });

  it('a hand-over: the heir knows that it was handed the lock, after the releaser has ended its hold', async () => {
    const client = new FakeClient();
    const acquired = listen<AcquireMessage>('tracing:ioredisson:acquire:asyncEnd');
    const ended: string[] = [];
    const follow = (what: string, name: string): void => {
      const messages = listen<HoldMessage>(name);
      messages.push = (message) => ended.push(`${what} ${message.threadId}`);
    };
    follow('begin', 'tracing:ioredisson:hold:start');
    follow('end', 'tracing:ioredisson:hold:asyncEnd');
    await client.lock().lock(-1, undefined, 1);
    const second = new Outcome(client.lock().lock(-1, undefined, 2));
    await turn();
    await client.lock().unlock(1);
    await turn();
    expect(second.state).to.equal('resolved');
    expect(acquired.map(({ threadId, handedOver, attempts }) => [threadId, handedOver, attempts])).to.deep.equal([
      [1, false, 1],
      [2, true, 3],
    ]);

    expect(ended).to.deep.equal(['begin 1', 'end 1', 'begin 2']);
    await client.lock().unlock(2);
  });

  it('a release that gets no answer: the hold is given back, with the error', async () => {
    const client = new FakeClient();
    const errors = listen<HoldMessage>('tracing:ioredisson:hold:error');
    const ends = listen<HoldMessage>('tracing:ioredisson:hold:asyncEnd');
    await client.lock().lock(-1, undefined, 1);
    await clock.tickAsync(40);
    const failure = new CommandTimeoutError(`release lock '${NAME}'`, 10, true);
    client.executor.fail('lock.release', failure);
    const release = new Outcome(client.lock().unlock(1));
    await turn();
    expect(release.state).to.equal('rejected');
    expect(ends).to.have.lengthOf(1);
    expect(ends[0]).to.include({ outcome: 'released', heldMs: 40, error: failure });
    expect(errors).to.deep.equal(ends);
    await clock.tickAsync(60_000);
    expect(client.redis.exists(NAME)).to.equal(false);
    expect(ends).to.have.lengthOf(1);
  });
});
