import { laterTurn } from '../../../lib/util/timing';
import { expect } from 'chai';
import pDefer from 'p-defer';
import type { SinonFakeTimers } from 'sinon';
import { newSendRecord, type SendRecord } from '../../../lib/connection/pending/CommandExecutor';
import {
  CommandError,
  CommandTimeoutError,
  ConnectionError,
  NoSyncedReplicasError,
  ShutdownError,
} from '../../../lib/errors';
import type { AttemptRequest } from '../../../lib/kinds/Kind';
import { undo } from '../../../lib/locks/core/LockTarget';
import { Drain } from '../../../lib/watchdog/drain';
import { Ownership, ownershipKey } from '../../../lib/watchdog/Ownership';
import type { ReleaseReply } from '../../../lib/scripts/replies';
import { fakeClock, turn } from '../../support';
import { CHANNEL, FakeClient, NAME, Outcome } from '../../support/fakeClient';

const LOST = { breaks: true } as const;
/** As in `acquire/Rollback`, in ms. */
const LATE_MS = 60_000;

describe('undoing what nobody saw the end of', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    client = new FakeClient();
  });

  function lost(): ConnectionError {
    return new ConnectionError('lost', true);
  }

  function subject(): { kind: 'lock'; name: string; rawName: string; threadId: number; owner: string } {
    return { kind: 'lock', name: NAME, rawName: NAME, threadId: 1, owner: client.owner(1) };
  }

  it('leaves a lock alone that the thread has taken again since', async () => {
    client.executor.fail('lock.acquire', lost(), LOST);
    const first = new Outcome(client.lock().tryLock({ threadId: 1 }));
    await turn();
    expect(first.state).to.equal('rejected');
    await clock.tickAsync(300);
    await client.lock().lock(-1, undefined, 1);
    await clock.tickAsync(60_000);
    expect(client.redis.holds(NAME, client.owner(1))).to.equal(1);
    expect(client.lost).to.deep.equal([]);
    await client.lock().unlock(1);
    await clock.tickAsync(LATE_MS);
    expect([client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  it('goes on when the thread has taken the lock and given it back', async () => {
    client.executor.fail('lock.acquire', lost(), LOST);
    void client
      .lock()
      .tryLock({ threadId: 1 })
      .catch(() => undefined);
    await clock.tickAsync(300);
    await client.lock().lock(-1, undefined, 1);
    await client.lock().unlock(1);
    client.redis.seize(NAME, client.owner(1));
    await clock.tickAsync(10_000);
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  it('does not forget the hold that has taken the place of a released one', async () => {
    await client.lock().lock(-1, undefined, 1);
    client.executor.fail('lock.release', lost(), LOST);
    const unlock = new Outcome(client.lock().unlock(1));
    await turn();
    expect(unlock.error).to.be.instanceOf(ConnectionError);
    await client.lock().lock(-1, undefined, 1);
    await clock.tickAsync(60_000);
    expect(client.redis.holds(NAME, client.owner(1))).to.equal(1);
    await client.lock().unlock(1);
    const renewals = client.executor.count('lock.renew');
    await clock.tickAsync(60_000);
    expect(client.executor.count('lock.renew'), 'renewed after the unlock').to.equal(renewals);
    expect([client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  it('releases a hold with a long lease for as long as that lease', async () => {
    await client.lock().lock(120_000, undefined, 1);
    client.executor.fail('lock.release', lost(), { ...LOST, times: 20 });
    void client
      .lock()
      .unlock(1)
      .catch(() => undefined);
    await clock.tickAsync(119_000);
    expect(client.redis.exists(NAME)).to.equal(false);
    await clock.tickAsync(10_000);
    expect([client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  for (const what of ['release', 'undo'] as const) {
    it(`looks for a lock whose ${what} no replica has confirmed: a failover may bring it back`, async () => {
      let unconfirmed = true;
      const release: typeof client.kind.release = (request) => {
        if (unconfirmed) request.sendRecord.unconfirmed = true;
        unconfirmed = false;
        return client.kind.release(request);
      };
      const lock = client.lock(NAME, { ...client.kind, release });
      if (what === 'release') {
        await lock.lock(30_000, undefined, 1);
        await lock.unlock(1);
      } else {
        client.executor.fail('lock.acquire', new NoSyncedReplicasError('acquire', 1_000), { runs: true });
        const taken = new Outcome(lock.tryLock(0, 30_000, undefined, 1));
        await turn();
        expect(taken.error).to.be.instanceOf(NoSyncedReplicasError);
      }
      expect(client.redis.exists(NAME)).to.equal(false);
      await clock.tickAsync(1_000);
      // As a replica has it that has not heard of the release.
      client.redis.seize(NAME, client.owner(1));
      await clock.tickAsync(10_000);
      expect(client.redis.exists(NAME)).to.equal(false);
      await clock.tickAsync(30_000 + LATE_MS);
      expect([client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0]);
    });
  }

  for (const onManyConnections of [false, true]) {
    const where = onManyConnections
      ? 'on two connections is undone for its lease and a minute'
      : 'on one is undone once';
    it(`a command that was written ${where}`, async () => {
      const ownership = client.ownerships.open(
        new Ownership({ ...subject(), key: ownershipKey(NAME, client.owner(1)), renewal: client.kind.renewal }),
      );
      const sendRecord = {
        ...newSendRecord(),
        sends: 2,
        connectionNumber: client.executor.connectionNumber,
        onManyConnections: onManyConnections,
      };
      undo({ ownership, kind: client.kind, sent: sendRecord, leaseMs: 30_000 }, 'doubtful', client.context);
      await clock.tickAsync(1_000);
      // What the broken connection had taken runs behind what came on the next one.
      client.redis.seize(NAME, client.owner(1));
      await clock.tickAsync(10_000);
      expect(client.redis.exists(NAME)).to.equal(!onManyConnections);
      await clock.tickAsync(30_000 + LATE_MS);
      expect([client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0]);
    });
  }

  for (const [leaseMs, arrivesAfterMs] of [
    [30_000, 29_900],
    [30_000, 45_000],
    [30_000, 84_000],
    [6_000, 60_000],
  ] as const) {
    it(`a lock for ${leaseMs} ms that a broken connection takes ${arrivesAfterMs} ms late is free 5 s later`, async () => {
      client.executor.fail('lock.acquire', lost(), LOST);
      const taken = new Outcome(client.lock().tryAcquire(leaseMs, undefined, 1));
      await clock.tickAsync(arrivesAfterMs);
      expect(taken.error).to.be.instanceOf(ConnectionError);
      client.redis.seize(NAME, client.owner(1));
      await clock.tickAsync(5_100);
      expect(client.redis.exists(NAME)).to.equal(false);
      await clock.tickAsync(leaseMs + LATE_MS);
      expect([client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0]);
    });
  }

  function waiting(waitMs: number, sendRecord: SendRecord): AttemptRequest {
    return { acquisition: { waitMs, waits: true, repeated: true, sendRecord } } as AttemptRequest;
  }

  it('a waiter that a broken socket may put back on its queue is taken off it for 5 s, however short its lease', async () => {
    const ownership = client.ownerships.open(
      new Ownership({ ...subject(), key: ownershipKey(NAME, client.owner(1)), renewal: client.kind.renewal }),
    );
    let left = 0;
    const kind = { ...client.kind, abandon: () => Promise.resolve((left += 1)) };
    const sendRecord = { ...newSendRecord(), sends: 2, onManyConnections: true };
    const waiter = waiting(300_000, sendRecord);
    const unwanted = { ownership, kind, sent: sendRecord, waiter, leaseMs: 150 };
    undo(unwanted, 'doubtful', client.context);
    await clock.tickAsync(4_900);
    const soon = left;
    expect(soon).to.be.greaterThan(4);
    await clock.tickAsync(60_000);
    expect(left).to.be.within(soon, soon + 1);
    expect([client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  it('a waiter leaves its queue when the server no longer refuses that, also if its time is over by then', async () => {
    const ownership = client.ownerships.open(
      new Ownership({ ...subject(), key: ownershipKey(NAME, client.owner(1)), renewal: client.kind.renewal }),
    );
    let refused = true;
    let left = 0;
    const no = (): Error => new CommandError('leave', new Error('MISCONF no'));
    const abandon = () => (refused ? Promise.reject(no()) : Promise.resolve((left += 1)));
    const kind = { ...client.kind, abandon };
    const sendRecord = { ...newSendRecord(), sends: 1, connectionNumber: client.executor.connectionNumber };
    const waiter = waiting(200, sendRecord);
    const unwanted = { ownership, kind, sent: sendRecord, waiter, waiterOnly: true, leaseMs: 150 };
    undo(unwanted, 'doubtful', client.context);
    await clock.tickAsync(40_000);
    refused = false;
    await clock.tickAsync(5_000);
    expect([left, client.ownerships.size, clock.countTimers()]).to.deep.equal([1, 0, 0]);
  });

  it('C10: keeps no drain waiting while its command is not sent: no caller waits for it', async () => {
    const ownership = client.ownerships.open(
      new Ownership({ ...subject(), key: ownershipKey(NAME, client.owner(1)), renewal: client.kind.renewal }),
    );
    const release = pDefer<ReleaseReply>();
    const kind = { ...client.kind, abandon: () => Promise.resolve(), release: () => release.promise };
    const sendRecord = { ...newSendRecord(), sends: 2, onManyConnections: true };
    const waiter = waiting(0, sendRecord);
    undo({ ownership, kind, sent: sendRecord, waiter, leaseMs: 30_000 }, 'doubtful', client.context);
    const drained = new Outcome(new Drain(client.ownerships, { busy: false, laterTurn }).within(60_000));
    await new Promise(setImmediate);
    expect(drained.state).to.equal('resolved');
    release.resolve({ kind: 'notHeld' });
    await turn();
  });

  describe('attempts of one waiter that went to two connections, the first without an answer', () => {
    let stop: AbortController;
    beforeEach(() => (stop = new AbortController()));

    /** The first attempt of the wait times out, and its connection breaks. */
    async function wait(): Promise<Outcome<void>> {
      client.redis.seize(NAME, 'other');
      const waiter = new Outcome(client.lock().lock(20_000, undefined, { threadId: 1, signal: stop.signal }));
      await turn();
      client.executor.fail('lock.acquire', new CommandTimeoutError('lock', 3_000, true), LOST);
      client.redis.publish(CHANNEL, '0');
      await turn();
      return waiter;
    }

    /** What the broken connection had taken runs now. */
    async function runLate(): Promise<void> {
      expect(client.redis.exists(NAME)).to.equal(false);
      client.redis.seize(NAME, client.owner(1));
      await clock.tickAsync(5_000);
      expect(client.redis.exists(NAME)).to.equal(false);
      await clock.tickAsync(20_000 + LATE_MS);
      expect([client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0]);
    }

    it('are undone after its lock was given back: the late one may still take it', async () => {
      const waiter = await wait();
      client.redis.delete(NAME);
      await clock.tickAsync(500);
      expect(waiter.state).to.equal('resolved');
      await clock.tickAsync(3_000);
      expect(client.redis.holds(NAME, client.owner(1))).to.equal(1);
      await client.lock().unlock(1);
      await runLate();
    });

    it('are undone for as long as the lease, and a minute, when it gave up', async () => {
      const waiter = await wait();
      await clock.tickAsync(500);
      stop.abort();
      await turn();
      expect(waiter.state).to.equal('rejected');
      client.redis.delete(NAME);
      await clock.tickAsync(1_000);
      await runLate();
    });
  });

  it('an attempt that was answered behind one without an answer settles that, too', async () => {
    const stop = new AbortController();
    client.redis.seize(NAME, 'other');
    const options = { threadId: 1, signal: stop.signal };
    const waiter = new Outcome(client.lock().lock(20_000, undefined, options));
    await turn();
    client.executor.fail('lock.acquire', new CommandTimeoutError('lock', 3_000, true));
    client.redis.publish(CHANNEL, '0');
    await clock.tickAsync(500);
    client.executor.connectionNumber += 1;
    client.redis.delete(NAME);
    client.redis.publish(CHANNEL, '0');
    await turn();
    expect(waiter.state).to.equal('resolved');
    await client.lock().unlock(1);
    expect([client.ownerships.size, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  it('stops when the client is shut down', async () => {
    client.executor.fail('lock.acquire', lost(), LOST);
    void client
      .lock()
      .tryLock({ threadId: 1 })
      .catch(() => undefined);
    await turn();
    await client.shutdown();
    await clock.tickAsync(2_500);
    expect(clock.countTimers()).to.equal(0);
  });

  it('sends an acquisition of a thread after its release, which may have to be sent again', async () => {
    await client.lock().lock(-1, undefined, 1);
    client.executor.freeze();
    const unlock = new Outcome(client.lock().unlock(1));
    const again = new Outcome(client.lock().lock(-1, undefined, 1));
    await turn();
    expect(client.executor.names).to.deep.equal(['lock.acquire', 'lock.release']);
    client.executor.resume();
    await turn();
    expect([unlock.state, again.state]).to.deep.equal(['resolved', 'resolved']);
    expect(client.executor.names).to.deep.equal(['lock.acquire', 'lock.release', 'lock.acquire']);
    expect(client.redis.holds(NAME, client.owner(1))).to.equal(1);
  });

  it('lets a thread unlock while its re-entry is under way: the unlock comes after it', async () => {
    await client.lock().lock(-1, undefined, 1);
    client.executor.mute();
    const again = new Outcome(client.lock().lock(-1, undefined, 1));
    const unlock = new Outcome(client.lock().unlock(1));
    await turn();
    expect(client.executor.count('lock.release')).to.equal(0);
    client.executor.resume();
    await turn();
    expect([again.state, unlock.state]).to.deep.equal(['resolved', 'resolved']);
    expect(client.redis.holds(NAME, client.owner(1))).to.equal(1);
    await client.lock().unlock(1);
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  it('rejects who asks after the end', async () => {
    await client.shutdown();
    const outcomes = [
      new Outcome<unknown>(client.lock().lock()),
      new Outcome<unknown>(client.lock().tryLock(60_000)),
      new Outcome<unknown>(client.lock().unlock()),
      new Outcome<unknown>(client.lock().isLocked()),
    ];
    await turn();
    for (const { error } of outcomes) expect(error).to.be.instanceOf(ShutdownError);
    expect(clock.countTimers()).to.equal(0);
  });
});
