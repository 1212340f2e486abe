import { expect } from 'chai';
import { monotonicNow, redisUrl, sleep, sleepUntil, TcpProxy, trackClient, uniqueName } from '../support';
import { client, connection, LONG_LEASE_MS, SOON_MS, warmUp, within } from './scene';

const SHORT_MS = 300;

describe('a hold within a hold', () => {
  it('that outlasted the outer one frees the lock when it is given back, and wakes who waits', async () => {
    const redisson = client(redisUrl());
    const lock = redisson.getLock(uniqueName());
    const outer = await lock.acquire({ leaseTime: SHORT_MS });
    const inner = await lock.acquire({ threadId: outer.threadId, leaseTime: LONG_LEASE_MS });
    const waiting = client(redisUrl()).getLock(lock.name).acquire();
    await sleep(SHORT_MS + 50);
    expect([outer.isHeld, inner.isHeld]).to.deep.equal([true, true]);
    await inner.unlock();
    expect(outer.isHeld).to.be.false;
    const next = await within(SOON_MS, 'the waiter gets in', waiting);
    await next.unlock();
  });

  it('whose acquisition was undone leaves the outer one its lease, and no more', async () => {
    const proxy = trackClient(await TcpProxy.start(redisUrl()));
    const direct = connection();
    const lock = client(proxy.url).getLock(uniqueName());
    await warmUp(lock);
    const outer = await lock.acquire({ leaseTime: 2_000 });
    const startedAt = monotonicNow();
    proxy.delay(150, 'up');
    const inner = await lock.tryAcquireHold({ threadId: outer.threadId, leaseTime: LONG_LEASE_MS, waitTime: 50 });
    expect(inner).to.equal(null);
    await proxy.pass();
    await sleepUntil(async () => (await direct.exists(lock.name)) === 0, {
      timeout: SOON_MS,
      message: 'the end of it',
    });
    expect(monotonicNow() - startedAt).to.be.lessThan(SOON_MS);
    expect(outer.isHeld).to.be.false;
  });
});
