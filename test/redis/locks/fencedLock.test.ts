// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { TimeUnit, type Redisson } from '../../../lib';
import { client, connection, listening, within } from '../../faults/scene';
import { allowLeftovers, monitor, redisUrl, sleep, TcpProxy, trackClient, uniqueName } from '../../support';

describe('fenced lock', () => {
  let name: string;
  let redis: Redis;
  let one: Redisson;
  let other: Redisson;

  beforeEach(() => {
    // The token outlives the lock: that is what it is for.
    allowLeftovers({ keys: /^redisson_lock_token:/ });
    name = uniqueName('fenced');
    redis = connection();
    one = client(redisUrl());
    other = client(redisUrl());
  });

  afterEach(() => redis.del(name, `redisson_lock_token:{${name}}`));

  it('has no token before the first hold, and tells the last one of anybody afterwards', async () => {
    const lock = one.getFencedLock(name);
    expect(await lock.getToken()).to.equal(0n);
    expect(await lock.lockAndGetToken()).to.equal(1n);
    await lock.unlock();
    await other.getFencedLock(name).lock();
    expect(await lock.getToken()).to.equal(2n);
    await other.getFencedLock(name).forceUnlock();
  });

  it('tokens are bigint and exact beyond 2^53', async () => {
    await redis.set(`redisson_lock_token:{${name}}`, (2n ** 60n).toString());
    expect(await one.getFencedLock(name).lockAndGetToken()).to.equal(2n ** 60n + 1n);
    expect(await one.getFencedLock(name).getToken()).to.equal(2n ** 60n + 1n);
  });

  it('G-05: explicit leases are honoured, in every unit', async () => {
    const lock = one.getFencedLock(name);
    await lock.lockAndGetToken(2, TimeUnit.SECONDS);
    expect(await lock.remainTimeToLive()).to.be.within(1_500, 2_000);
    await lock.unlock();
    await lock.tryLockAndGetToken(100, 700);
    expect(await lock.remainTimeToLive()).to.be.within(300, 700);
    await lock.unlock();
    await lock.lockAndGetToken();
    expect(await lock.remainTimeToLive()).to.be.above(20_000);
    await lock.unlock();
  });

  it('G-06: a re-entry has a token of its own, and deleting the lock keeps the tokens', async () => {
    const lock = one.getFencedLock(name);
    expect(await lock.lockAndGetToken(-1, undefined, 1)).to.equal(1n);
    expect(await lock.lockAndGetToken(-1, undefined, 1)).to.equal(2n);
    expect(await lock.forceUnlock()).to.equal(true);
    expect(await lock.lockAndGetToken(-1, undefined, 1)).to.equal(3n);
    await lock.unlock(1);
  });

  it('tryLockAndGetToken does not wait unless told to, and gives null when it was not taken', async () => {
    await one.getFencedLock(name).lock();
    const lock = other.getFencedLock(name);
    expect(await lock.tryLockAndGetToken()).to.equal(null);
    expect(await lock.tryLockAndGetToken({ threadId: 3 })).to.equal(null);
    expect(await lock.tryLockAndGetToken(0)).to.equal(null);
    expect(await lock.tryLockAndGetToken(50, TimeUnit.MILLISECONDS)).to.equal(null);
    expect(await lock.getToken()).to.equal(1n);
    const waiting = lock.tryLockAndGetToken(5_000, 1_000);
    await listening(redis, name);
    await one.getFencedLock(name).forceUnlock();
    expect(await within(1_000, 'the waiter enters', waiting)).to.equal(2n);
    await lock.unlock();
  });

  it('every hold has its token, those of a hand-over within the process too', async () => {
    const tokens: bigint[] = [];
    let inside = 0;
    const lock = one.getFencedLock(name);
    const first = await lock.acquire();
    const waiting = Array.from({ length: 20 }, () =>
      lock.withLock(async (hold) => {
        expect((inside += 1)).to.equal(1);
        await sleep(0);
        tokens.push(hold.token);
        inside -= 1;
      }),
    );
    await listening(redis, name);
    await sleep(50);
    const watch = trackClient(await monitor(redisUrl()));
    await first.unlock();
    await within(5_000, 'all enter', Promise.all(waiting));
    expect(tokens).to.deep.equal(Array.from({ length: 20 }, (_, i) => BigInt(i + 2)));
    // An unlock and an acquisition each would be 40.
    expect((await watch.sent()).filter((command) => command.name.startsWith('eval'))).to.have.length.below(38);
  });

  it('tokens grow strictly over clients', async () => {
    const tokens: bigint[] = [];
    const work = [one, other, client(redisUrl())].map(async (each) => {
      for (let i = 0; i < 15; i++) {
        await using hold = await each.getFencedLock(name).acquire();
        tokens.push(hold.token);
        await sleep(1);
      }
    });
    await within(8_000, 'all are through', Promise.all(work));
    expect(tokens).to.have.lengthOf(45);
    tokens.forEach((token, i) => expect(i === 0 || token > tokens[i - 1]!, `token ${i}`).to.equal(true));
  });

  it('an acquisition that is sent twice takes one token', async () => {
    const proxy = trackClient(await TcpProxy.start(redisUrl()));
    const far = client(proxy.url).getFencedLock(name);
    expect(await far.lockAndGetToken()).to.equal(1n);
    await far.unlock();
    const lost = proxy.swallowNextReply({ command: 'EVALSHA', then: 'cut' });
    const taking = far.lockAndGetToken();
    await lost;
    expect(await within(5_000, 'the acquisition', taking)).to.equal(2n);
    expect(await far.getHoldCount()).to.equal(1);
    await far.unlock();
  });

  it('is the lock that it is made of, and excludes the plain one of the same name', async () => {
    const lock = one.getFencedLock(name);
    expect([lock.name, lock.getName()]).to.deep.equal([name, name]);
    await lock.lockInterruptibly();
    expect(await lock.isLocked()).to.equal(true);
    expect(await lock.isHeldByCurrentThread()).to.equal(true);
    expect(await lock.getHoldCount()).to.equal(1);
    expect(await other.getLock(name).tryLock()).to.equal(false);
    await lock.unlock();
    expect(await lock.tryAcquire()).to.equal(null);
    await lock.unlock();
    const hold = await lock.tryAcquireHold({ leaseTime: 1_000 });
    expect(hold?.token).to.equal(3n);
    expect(await lock.isHeldByThread(hold!.threadId)).to.equal(true);
    await hold!.unlock();
    expect(await lock.tryLock()).to.equal(true);
    await lock.unlock();
  });
});
