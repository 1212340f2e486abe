import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import type { LockHold } from '../../../lib/locks/LockHold';
import { fakeClock } from '../../support';
import { CHANNEL, FakeClient, NAME, mustHold } from '../../support/fakeClient';

describe('A hold that is left to run out', () => {
  let clock: SinonFakeTimers;
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    client = new FakeClient(undefined, { lockWatchdogTimeout: 3_000 });
  });

  async function acquire(options?: { leaseTime?: number; threadId?: number }): Promise<LockHold> {
    return mustHold(await client.lock().takeHold(0, options));
  }

  it('is not renewed any more, ends with its last renewal, and nobody is told', async () => {
    const hold = await acquire();
    await clock.tickAsync(1_500);
    expect(client.executor.count('lock.renew')).to.equal(1);
    await hold.letExpire();
    expect(hold.isHeld).to.equal(false);
    await clock.tickAsync(10_000);
    expect(client.executor.names).to.deep.equal(['lock.acquire', 'lock.renew']);
    expect(client.redis.exists(NAME)).to.equal(false);
    expect(client.lost).to.deep.equal([]);
    expect(hold.signal.aborted).to.equal(false);
    expect(client.ownerships.size).to.equal(0);
    expect(clock.countTimers()).to.equal(0);
  });

  it('is not given back by unlock, which does nothing then', async () => {
    const hold = await acquire({ leaseTime: 5_000 });
    await hold.letExpire();
    await hold.letExpire();
    await hold.unlock();
    expect(client.executor.names).to.deep.equal(['lock.acquire']);
    expect(client.redis.pttl(NAME)).to.equal(5_000);
    await clock.tickAsync(5_000);
    expect(client.lost).to.deep.equal([]);
  });

  it('is not what unlock of its thread gives back, whichever was taken last', async () => {
    for (const last of ['left', 'kept']) {
      const first = await acquire({ threadId: 1 });
      const second = await acquire({ threadId: 1 });
      const [left, kept] = last === 'left' ? [second, first] : [first, second];
      await left.letExpire();
      await client.lock().unlock(1);
      expect(kept.isHeld, last).to.equal(false);
      expect(client.redis.holds(NAME, client.owner(1)), last).to.equal(1);
      await clock.tickAsync(10_000);
      expect(client.redis.exists(NAME)).to.equal(false);
    }
  });

  it('stays while the others of its thread are renewed and given back', async () => {
    const outer = await acquire({ threadId: 1 });
    const inner = await acquire({ threadId: 1 });
    await inner.letExpire();
    await clock.tickAsync(2_500);
    expect(client.executor.count('lock.renew')).to.equal(2);
    expect(outer.isHeld).to.equal(true);
    await outer.unlock();
    expect(client.redis.holds(NAME, client.owner(1))).to.equal(1);
    expect(client.redis.published).to.not.include(`${CHANNEL} 0`);
    await clock.tickAsync(3_000);
    expect(client.redis.exists(NAME)).to.equal(false);
    expect(client.lost).to.deep.equal([]);
  });

  it('is the last that an unlock of its thread takes', async () => {
    const lock = client.lock();
    await lock.lock(-1, undefined, 1);
    await (await acquire({ threadId: 1 })).letExpire();
    await lock.unlock(1);
    await clock.tickAsync(1_100);
    // The one of lock() is given back, so nothing is renewed.
    expect(client.executor.count('lock.renew')).to.equal(0);
    expect(client.redis.holds(NAME, client.owner(1))).to.equal(1);
    await lock.unlock(1);
    expect(client.redis.exists(NAME)).to.equal(false);
  });

  it('rejects when it was lost before', async () => {
    const hold = await acquire();
    client.redis.delete(NAME);
    await clock.tickAsync(1_000);
    expect(client.lost).to.have.lengthOf(1);
    expect(await hold.letExpire().catch((error: Error) => error.name)).to.equal('LockLostError');
  });
});
