import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { CommandTimeoutError, ConnectionError, LockLostError, NoSyncedReplicasError } from '../../../lib/errors';
import { PERMIT } from '../../../lib/kinds/permit';
import { permitSemaphoreOf } from '../../../lib/synchronizers/permitExpirableSemaphore';
import { RedisObject } from '../../../lib/synchronizers/RedisObject';
import { fakeClock, turn } from '../../support';
import { FakeClient, Outcome } from '../../support/fakeClient';

const LEASE_MS = 30_000;
/** As in `acquire/Rollback`, in ms. */
const LATE_MS = 60_000;

describe('the undo of permits', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;
  let semaphore: ReturnType<typeof permitSemaphoreOf>;
  /** The ids whose permits are taken in Redis. */
  let taken: Set<string>;
  /** What the last acquisition asked for. */
  let asked: readonly string[];

  beforeEach(() => {
    clock = fakeClock();
    client = new FakeClient();
    taken = new Set();
    asked = [];
    client.redis.run = (script, keys, _args, more) => {
      switch (script) {
        case 'permitExpirableSemaphore.acquire':
          asked = more;
          take();
          return null;
        case 'permitExpirableSemaphore.releaseMany':
          return more.filter((id) => taken.delete(id)).length;
        case 'permitExpirableSemaphore.find':
          return keys.map((_key, i) => (taken.has(more[i]!) ? 1 : 0));
        default:
          throw new Error(`not expected: ${script}`);
      }
    };
    semaphore = permitSemaphoreOf(new RedisObject(client.context, PERMIT, 'permits'));
  });

  /** The acquisition runs (once more). */
  function take(): void {
    for (const id of asked) taken.add(id);
  }

  async function expectNothingLeft(): Promise<void> {
    await clock.tickAsync(LEASE_MS + LATE_MS);
    expect([taken.size, clock.countTimers()]).to.deep.equal([0, 0]);
  }

  it('C3: goes on when it has found them once: an acquisition that was written twice may run twice', async () => {
    const lost = { runs: true, breaks: true };
    client.executor.fail('permitExpirableSemaphore.acquire', new CommandTimeoutError('acquire', 3_000, true), lost);
    client.executor.fail('permitExpirableSemaphore.acquire', new ConnectionError('lost', true), lost);
    const permit = new Outcome(semaphore.tryAcquire(2_000, LEASE_MS));
    await clock.tickAsync(1_000);
    expect(permit.error).to.be.instanceOf(ConnectionError);
    for (let late = 0; late < 2; late++) {
      await clock.tickAsync(5_100);
      expect(taken.size).to.equal(0);
      take();
    }
    await expectNothingLeft();
  });

  it('gives back what Redis still has when a hold that was lost here is released', async () => {
    const hold = new Outcome(semaphore.acquireHold({ permits: 2, leaseTime: LEASE_MS }));
    await turn();
    const [ownership] = [...client.ownerships.all()];
    client.ownerships.lose([{ ownership: ownership!, why: 'no renewal was answered' }]);
    const released = new Outcome(hold.value!.release());
    await turn();
    expect(released.error).to.be.instanceOf(LockLostError);
    expect(taken.size).to.equal(0);
    await expectNothingLeft();
  });

  it('looks for them if no replica has confirmed it: a failover may bring them back', async () => {
    const { run } = client.executor;
    client.executor.run = function (script, keys, args, options) {
      const { sendRecord } = options ?? {};
      if (sendRecord?.cleanup === true) sendRecord.unconfirmed = true;
      return run.call(this, script, keys, args, options) as never;
    };
    const unsynced = new NoSyncedReplicasError('acquire', 1_000);
    client.executor.fail('permitExpirableSemaphore.acquire', unsynced, { runs: true });
    const permit = new Outcome(semaphore.tryAcquire(0, LEASE_MS));
    await turn();
    expect([permit.error, taken.size]).to.deep.equal([unsynced, 0]);
    take();
    await clock.tickAsync(1_000);
    expect(taken.size).to.equal(0);
    await expectNothingLeft();
  });
});
