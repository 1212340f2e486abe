// Ids in titles: test/README.md
import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { CommandError, CommandTimeoutError, ConnectionError } from '../../../lib/errors';
import { fakeClock, turn } from '../../support';
import { CHANNEL, FakeClient, NAME, Outcome } from '../../support/fakeClient';

const ONE = { threadId: 1 };
const TWO = { threadId: 2 };

describe('giving up', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    client = new FakeClient();
  });

  /** Nothing is left of anybody: no key, no ownership, no subscription, no timer. */
  async function expectNothingLeft(): Promise<void> {
    // Channels are left at the end of the turn.
    await turn();
    expect(client.redis.exists(NAME), 'the lock').to.equal(false);
    expect(client.ownerships.size, 'ownerships').to.equal(0);
    expect(client.subscriptions.size, 'queues').to.equal(0);
    expect(client.subscriber.channels, 'channels').to.deep.equal([]);
    expect(clock.countTimers(), 'timers').to.equal(0);
  }

  it('leaves nothing when the signal has aborted before', async () => {
    const signal = AbortSignal.abort(new Error('stop'));
    const lock = new Outcome(client.lock().lock(-1, undefined, { ...ONE, signal }));
    await turn();
    expect(lock.error).to.have.property('message', 'stop');
    expect(client.executor.sent).to.deep.equal([]);
    await expectNothingLeft();
  });

  it('undoes a request that is on the wire when the signal aborts', async () => {
    const stop = new AbortController();
    client.executor.mute();
    const lock = new Outcome(client.lock().tryLock({ ...ONE, signal: stop.signal }));
    await turn();
    expect(client.redis.exists(NAME)).to.equal(true);
    stop.abort(new Error('stop'));
    await turn();
    expect(lock.error).to.have.property('message', 'stop');
    client.executor.resume();
    await turn();
    expect(client.executor.names).to.deep.equal(['lock.acquire', 'lock.release']);
    await expectNothingLeft();
  });

  it('undoes a request that runs only after the abort, on the same connection', async () => {
    const stop = new AbortController();
    client.executor.freeze();
    const lock = new Outcome(client.lock().lock(-1, undefined, { ...ONE, signal: stop.signal }));
    await turn();
    stop.abort();
    await turn();
    expect(lock.state).to.equal('rejected');
    client.executor.resume();
    await turn();
    await expectNothingLeft();
  });

  it('never sends a request that waited for a connection when the signal aborts', async () => {
    const stop = new AbortController();
    client.executor.down();
    const lock = new Outcome(client.lock().lock(-1, undefined, { ...ONE, signal: stop.signal }));
    await turn();
    stop.abort();
    await turn();
    expect(lock.state).to.equal('rejected');
    client.executor.resume();
    await turn();
    expect(client.executor.sent).to.deep.equal([]);
    await expectNothingLeft();
  });

  it('leaves its place when the signal aborts its sleep', async () => {
    client.redis.seize(NAME, 'other');
    const stop = new AbortController();
    const lock = new Outcome(client.lock().lock(-1, undefined, { ...ONE, signal: stop.signal }));
    await turn();
    expect(client.subscriber.channels).to.deep.equal([CHANNEL]);
    stop.abort(new Error('stop'));
    await turn();
    expect(lock.error).to.have.property('message', 'stop');
    client.redis.delete(NAME);
    await expectNothingLeft();
  });

  it('leaves no timer when the signal aborts while it subscribes', async () => {
    client.redis.seize(NAME, 'other');
    client.subscriber.manual = true;
    const stop = new AbortController();
    const lock = new Outcome(client.lock().lock(-1, undefined, { ...ONE, signal: stop.signal }));
    await turn();
    stop.abort();
    await turn();
    expect(lock.state).to.equal('rejected');
    client.redis.delete(NAME);
    await expectNothingLeft();
  });

  it('leaves no timer of one waiter while another one still subscribes', async () => {
    client.redis.seize(NAME, 'other');
    client.subscriber.manual = true;
    const stop = new AbortController();
    const first = new Outcome(client.lock().tryLock(60_000, -1, undefined, ONE));
    const second = new Outcome(client.lock().lock(-1, undefined, { ...TWO, signal: stop.signal }));
    await turn();
    const timers = clock.countTimers();
    stop.abort();
    await turn();
    expect([first.state, second.state]).to.deep.equal(['pending', 'rejected']);
    expect(clock.countTimers()).to.be.at.most(timers);
    client.subscriber.acknowledge(CHANNEL);
    client.redis.delete(NAME);
    await clock.tickAsync(30_000);
    await client.lock().unlock(1);
    await expectNothingLeft();
  });

  it('gives back what is handed to it in the turn of its abort', async () => {
    await client.lock().lock(-1, undefined, 1);
    const stop = new AbortController();
    const second = new Outcome(client.lock().lock(-1, undefined, { ...TWO, signal: stop.signal }));
    await turn();
    stop.abort(new Error('stop'));
    // The same turn: the waiter has not left its place yet.
    await client.lock().unlock(1);
    await turn();
    expect(client.executor.count('lock.handOver'), 'handed over').to.equal(1);
    expect(second.error).to.have.property('message', 'stop');
    await expectNothingLeft();
  });

  it('rejects nothing unhandled when that hand-over fails', async () => {
    await client.lock().lock(-1, undefined, 1);
    const stop = new AbortController();
    const second = new Outcome(client.lock().lock(-1, undefined, { ...TWO, signal: stop.signal }));
    await turn();
    client.executor.fail('lock.handOver', new ConnectionError('lost', true), { runs: true });
    stop.abort(new Error('stop'));
    const unlock = new Outcome(client.lock().unlock(1));
    await turn();
    expect([second.state, unlock.state]).to.deep.equal(['rejected', 'rejected']);
    await clock.tickAsync(100_000);
    await expectNothingLeft();
  });

  it('hands what it was given on to the next waiter when it gives up mid-way', async () => {
    await client.lock().lock(-1, undefined, 1);
    const stop = new AbortController();
    const second = new Outcome(client.lock().lock(-1, undefined, { ...TWO, signal: stop.signal }));
    await turn();
    const third = new Outcome(client.lock().lock(-1, undefined, 3));
    await turn();
    client.executor.mute();
    const unlock = new Outcome(client.lock().unlock(1));
    await turn();
    expect(client.redis.owners(NAME)).to.deep.equal([client.owner(2)]);
    stop.abort();
    await turn();
    client.executor.resume();
    await turn();
    expect([unlock.state, second.state, third.state]).to.deep.equal(['resolved', 'rejected', 'resolved']);
    expect(client.redis.owners(NAME)).to.deep.equal([client.owner(3)]);
    await client.lock().unlock(3);
    await turn();
    await expectNothingLeft();
  });

  it('does not send an attempt that waited for an undo and was given up meanwhile', async () => {
    const stop = new AbortController();
    client.executor.freeze();
    void client
      .lock()
      .tryLock({ ...ONE, signal: stop.signal })
      .catch(() => undefined);
    await turn();
    stop.abort();
    await turn();
    const again = new Outcome(client.lock().tryLock(50, 30_000, undefined, 1));
    await clock.tickAsync(60);
    expect(again.value).to.equal(false);
    client.executor.resume();
    await turn();
    expect(client.executor.names).to.deep.equal(['lock.acquire', 'lock.release']);
    await expectNothingLeft();
  });

  it('does not undo what Redis refused to do', async () => {
    client.executor.fail('lock.acquire', new CommandError('acquire', new Error('WRONGTYPE')));
    const lock = new Outcome(client.lock().tryLock(ONE));
    await turn();
    expect(lock.error).to.be.instanceOf(CommandError);
    await clock.tickAsync(60_000);
    expect(client.executor.names).to.deep.equal(['lock.acquire']);
    await expectNothingLeft();
  });

  it('undoes an attempt whose connection was lost until its lease has passed', async () => {
    client.executor.fail('lock.acquire', new ConnectionError('lost', true), { breaks: true });
    const lock = new Outcome(client.lock().tryLock(0, 5_000, undefined, ONE));
    await turn();
    expect(lock.error).to.be.instanceOf(ConnectionError);
    // The late command comes out of the old socket after the first undo.
    await clock.tickAsync(100);
    client.redis.seize(NAME, client.owner(1), 5_000);
    await clock.tickAsync(1_000);
    expectNothingLeftButUndo();
    await clock.tickAsync(10_000);
    await expectNothingLeft();
  });

  it('C3: looks for an attempt without a reply, although the next one was refused on another connection', async () => {
    client.redis.seize(NAME, 'other', 100);
    const lock = new Outcome(client.lock().tryLock(5_000, 10_000, undefined, ONE));
    await turn();
    client.executor.fail('lock.acquire', new CommandTimeoutError('acquire', 3_000, true), { breaks: true });
    client.executor.fail('lock.acquire', new CommandError('acquire', new Error('MISCONF no')));
    await clock.tickAsync(1_000);
    expect(lock.error).to.be.instanceOf(CommandError);
    await clock.tickAsync(20_000);
    // The first connection delivers what it had taken.
    client.redis.seize(NAME, client.owner(1), 10_000);
    await clock.tickAsync(5_100);
    expectNothingLeftButUndo();
    await clock.tickAsync(60_000);
    await expectNothingLeft();
  });

  function expectNothingLeftButUndo(): void {
    expect(client.redis.exists(NAME), 'the lock').to.equal(false);
    expect(client.subscriptions.size, 'queues').to.equal(0);
  }

  it('A9: a time-out does not end a timed wait; what it may have taken is undone at the deadline', async () => {
    client.redis.seize(NAME, 'other', 100);
    const lock = new Outcome(client.lock().tryLock(1_000, -1, undefined, ONE));
    await turn();
    client.executor.fail('lock.acquire', new CommandTimeoutError('acquire', 3_000, true), { runs: true, times: 9 });
    await clock.tickAsync(999);
    expect(lock.state).to.equal('pending');
    await clock.tickAsync(1);
    expect(lock.value).to.equal(false);
    await turn();
    await expectNothingLeft();
  });

  it('replies that come after the lease are counted in a row: one that others have it begins anew', async () => {
    const LEASE_MS = 500;
    const { executor } = client;
    executor.mute();
    const lock = new Outcome(client.lock().lock(LEASE_MS, undefined, ONE));
    let seen = 0;
    /** The next attempt is answered when its lease is over. */
    const late = async (before?: () => void): Promise<void> => {
      executor.mute();
      while (executor.count('lock.acquire') === seen) await clock.tickAsync(10);
      seen = executor.count('lock.acquire');
      await clock.tickAsync(LEASE_MS + 100);
      before?.();
      executor.resume();
      await turn();
    };
    await late(() => client.redis.seize(NAME, 'other', 200));
    await clock.tickAsync(100);
    seen = executor.count('lock.acquire');
    expect(seen, 'others have it').to.equal(2);
    for (let i = 0; i < 4; i++) await late();
    await clock.tickAsync(1_000);
    expect([lock.error, lock.state]).to.deep.equal([undefined, 'resolved']);
    await clock.tickAsync(LEASE_MS);
    await expectNothingLeft();
  });

  it('tries on after a time-out in the loop of a wait without limit, and counts the late command once', async () => {
    client.redis.seize(NAME, 'other', 100);
    const lock = new Outcome(client.lock().lock(-1, undefined, 1));
    await turn();
    client.executor.fail('lock.acquire', new CommandTimeoutError('acquire', 3_000, true), { runs: true });
    await clock.tickAsync(100);
    expect(lock.state).to.equal('pending');
    await clock.tickAsync(500);
    expect(lock.state).to.equal('resolved');
    expect(client.redis.holds(NAME, client.owner(1))).to.equal(1);
    await client.lock().unlock(1);
    await turn();
    await expectNothingLeft();
  });

  it('warns of no leak when many waiters share one signal', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    const stop = new AbortController();
    client.redis.seize(NAME, 'other');
    const waiters = Array.from({ length: 50 }, (_, i) =>
      client.lock().lock(-1, undefined, { threadId: i, signal: stop.signal }),
    );
    await turn();
    stop.abort(new Error('stop'));
    const results = await Promise.allSettled(waiters);
    process.off('warning', listen);
    expect(results.filter(({ status }) => status === 'rejected')).to.have.length(50);
    expect(warnings).to.deep.equal([]);
    client.redis.delete(NAME);
    await expectNothingLeft();
  });
});
