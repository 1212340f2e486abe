import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { ConnectionError, LockLostError } from '../../../lib/errors';
import type { LockHold } from '../../../lib/locks/LockHold';
import { attach } from '../../../lib/locks/Lock';
import { parseTicket } from '../../../lib/util/ticket';
import { fakeClock, turn } from '../../support';
import { FakeClient, leftIn, NAME, Outcome } from '../../support/fakeClient';

const LOST = new ConnectionError('lost', true);
/** In ms: longer than any undo is tried. */
const LONG = 200_000;

describe('attach() after one that may have taken the ticket', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;
  let ticket: string;

  beforeEach(async () => {
    clock = fakeClock();
    client = new FakeClient();
    ticket = await (await client.lock().acquire()).detach();
  });

  async function take(from = client): Promise<LockHold> {
    return attach(from.lock(), parseTicket(ticket)!, -1);
  }

  /** Fails although Redis has done it, or before. */
  async function failed(runs: boolean): Promise<LockHold | undefined> {
    client.executor.fail('lock.handOver', LOST, { runs, breaks: true });
    const first = new Outcome(take());
    await turn();
    expect(first.error).to.equal(LOST);
    return first.value;
  }

  for (const runs of [true, false]) {
    it(`gets the lock at once (${runs ? 'taken' : 'not taken'} by that one)`, async () => {
      await failed(runs);
      const hold = await take();
      await clock.tickAsync(LONG);
      expect(hold.isHeld).to.equal(true);
      expect(client.redis.holds(NAME, client.owner(hold.threadId))).to.equal(1);
      const second = new Outcome(take());
      await turn();
      expect(second.error, 'taken up once').to.be.instanceOf(LockLostError);
      await hold.unlock();
      await clock.tickAsync(LONG);
      expect(client.redis.exists(NAME)).to.equal(false);
      expect(leftIn(client, clock)).to.deep.equal([0, 0, 0, 0]);
      expect(client.context.undoneAttach.size).to.equal(0);
    });
  }

  it('gets it when several have failed, and one more is under way', async () => {
    await failed(true);
    await failed(true);
    client.executor.mute();
    const [first, beside] = [new Outcome(take()), new Outcome(take())];
    await turn();
    client.executor.resume();
    await turn();
    expect(beside.error).to.be.instanceOf(LockLostError);
    expect(first.value?.isHeld).to.equal(true);
    await first.value!.unlock();
    await clock.tickAsync(LONG);
    expect(client.redis.exists(NAME)).to.equal(false);
    expect(leftIn(client, clock)).to.deep.equal([0, 0, 0, 0]);
  });

  it('waits for an undo under way, and gets it from there', async () => {
    client.executor.fail('lock.handOver', LOST, { runs: true });
    // The undo follows in the same turn, and is not answered.
    client.executor.onReply = () => client.executor.mute();
    const first = new Outcome(take());
    await turn();
    expect(first.error).to.equal(LOST);
    client.executor.onReply = undefined;
    const { length } = client.executor.sent;
    const again = new Outcome(take());
    await turn();
    expect(client.executor.names.slice(length), 'no attempt beside the undo').to.deep.equal([]);
    client.executor.resume();
    await turn();
    expect(again.value?.isHeld).to.equal(true);
    await again.value!.unlock();
    await clock.tickAsync(LONG);
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  it('of another client gets it when it is undone', async () => {
    const other = new FakeClient(client.redis);
    client.executor.fail('lock.handOver', LOST, { runs: true, breaks: true });
    const first = new Outcome(take());
    await turn();
    expect(first.error).to.equal(LOST);
    const early = new Outcome(take(other));
    await turn();
    expect(early.error).to.be.instanceOf(LockLostError);
    await clock.tickAsync(10_000);
    const hold = await take(other);
    await clock.tickAsync(LONG);
    expect(hold.isHeld).to.equal(true);
    await hold.unlock();
    expect(client.context.undoneAttach.size).to.equal(0);
  });
});
