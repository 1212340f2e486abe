import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { LockLostError } from '../../../lib/errors';
import { fakeClock, turn } from '../../support';
import { FakeClient, NAME, Outcome, mustHold } from '../../support/fakeClient';

describe('another lease for a hold', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    client = new FakeClient(undefined, { lockWatchdogTimeout: 3_000 });
  });

  afterEach(() => expect(clock.countTimers(), 'timers').to.equal(0));

  it('ends the watchdog, and the hold with the new lease', async () => {
    const hold = mustHold(await client.lock().takeHold(Infinity, { threadId: 1 }));
    await clock.tickAsync(2_500);
    expect(await hold.setLease(5_000)).to.equal(true);
    expect(client.redis.pttl(NAME)).to.equal(5_000);
    const renewals = client.executor.count('lock.renew');
    await clock.tickAsync(4_900);
    expect(hold.isHeld).to.equal(true);
    await clock.tickAsync(200);
    expect(client.executor.count('lock.renew')).to.equal(renewals);
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
  });

  it('shortens a lease as well', async () => {
    const hold = mustHold(await client.lock().takeHold(Infinity, { threadId: 1, leaseTime: 60_000 }));
    expect(await hold.setLease(500)).to.equal(true);
    expect(client.redis.pttl(NAME)).to.equal(500);
    await clock.tickAsync(600);
    expect(hold.isHeld).to.equal(false);
  });

  it('never shortens the life of a lock that its thread holds without lease as well', async () => {
    const outer = mustHold(await client.lock().takeHold(Infinity, { threadId: 1 }));
    const inner = mustHold(await client.lock().takeHold(Infinity, { threadId: 1 }));
    expect(await inner.setLease(500)).to.equal(true);
    expect(client.redis.pttl(NAME)).to.equal(3_000);
    await clock.tickAsync(5_000);
    expect([outer.isHeld, inner.isHeld]).to.deep.equal([true, true]);
    await inner.unlock();
    await outer.unlock();
  });

  it('tells when the lock is gone', async () => {
    const hold = mustHold(await client.lock().takeHold(Infinity, { threadId: 1 }));
    client.redis.delete(NAME);
    expect(await hold.setLease(500)).to.equal(false);
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    expect(await hold.setLease(500)).to.equal(false);
  });

  it('is not believed in before Redis has answered, if it is longer', async () => {
    const hold = mustHold(await client.lock().takeHold(Infinity, { threadId: 1, leaseTime: 1_000 }));
    client.executor.mute();
    const setting = new Outcome(hold.setLease(60_000));
    await clock.tickAsync(1_100);
    expect(hold.isHeld).to.equal(false);
    client.executor.resume();
    await turn();
    expect(setting.value).to.equal(false);
    client.redis.delete(NAME);
  });

  it('comes before an acquisition of the same thread, however late its answer is', async () => {
    const hold = mustHold(await client.lock().takeHold(Infinity, { threadId: 1 }));
    client.executor.mute();
    const setting = new Outcome(hold.setLease(1_000));
    const again = new Outcome(client.lock().takeHold(Infinity, { threadId: 1 }));
    await turn();
    expect(client.executor.names.filter((name) => name === 'lock.acquire')).to.have.lengthOf(1);
    client.executor.resume();
    await turn();
    expect(setting.value).to.equal(true);
    expect(client.redis.holds(NAME, client.kind.ownerOf(1))).to.equal(2);
    await mustHold(again.value).unlock();
    await hold.unlock();
  });
});
