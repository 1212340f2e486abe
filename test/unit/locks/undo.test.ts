import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { newCallToken } from '../../../lib/connection/CommandExecutor';
import { ConnectionError, ShutdownError } from '../../../lib/errors';
import { reclaim } from '../../../lib/locks/Reclaimer';
import { Hold, holdKey } from '../../../lib/renewal/Hold';
import { fakeClock, turn } from '../../support';
import { FakeClient, NAME, Outcome } from '../../support/fakeClient';

const LOST = { breaks: true } as const;

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

  function subject(): { name: string; rawName: string; threadId: number; owner: string } {
    return { name: NAME, rawName: NAME, threadId: 1, owner: client.owner(1) };
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
    await turn();
    expect([client.holds.size, clock.countTimers()]).to.deep.equal([0, 0]);
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
    expect([client.holds.size, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  it('releases a hold with a long lease for as long as that lease', async () => {
    await client.lock().lock(120_000, undefined, 1);
    client.executor.fail('lock.release', lost(), { ...LOST, times: 30 });
    void client
      .lock()
      .unlock(1)
      .catch(() => undefined);
    await clock.tickAsync(119_000);
    expect(client.redis.exists(NAME)).to.equal(false);
    await clock.tickAsync(10_000);
    expect([client.holds.size, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  for (const scattered of [false, true]) {
    const where = scattered ? 'on two connections is undone until its lease has passed' : 'on one is undone once';
    it(`a command that was written ${where}`, async () => {
      const hold = client.holds.open(
        new Hold({ ...subject(), key: holdKey(NAME, client.owner(1)), renewal: client.driver.renewal }),
      );
      const token = { ...newCallToken(), sends: 2, epoch: client.executor.epoch, scattered };
      const ghost = { hold, driver: client.driver, token, doubtful: true, waiter: undefined, leaseMs: 30_000 };
      reclaim({ ...ghost, queuedMs: 0 }, client.holds);
      await clock.tickAsync(1_000);
      // What the broken connection had taken runs behind what came on the next one.
      client.redis.seize(NAME, client.owner(1));
      await clock.tickAsync(10_000);
      expect(client.redis.exists(NAME)).to.equal(!scattered);
      await clock.tickAsync(30_000);
      expect([client.holds.size, clock.countTimers()]).to.deep.equal([0, 0]);
    });
  }

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
