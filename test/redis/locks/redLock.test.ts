import { expect } from 'chai';
import { IllegalMonitorStateError, LockLostError, LockTimeoutError, type Redisson, type RLock } from '../../../lib';
import { client, within } from '../../faults/scene';
import { monotonicNow, RedisServer, sleep, sleepUntil, trackClient, uniqueName } from '../../support';
import { Inside, rejection } from '../synchronizers/support';

/** Redisson's former RedissonRedLockTest, by the names of its tests: locks over two servers, two clients each. */
describe('RedLock', () => {
  let servers: RedisServer[];
  let name: string;
  /** One client per server. */
  let mine: Redisson[];
  let theirs: Redisson[];

  before(async () => {
    servers = await Promise.all([RedisServer.start(), RedisServer.start()]);
    for (const server of servers) trackClient(server);
  });

  beforeEach(() => {
    name = uniqueName('red');
    mine = servers.map(({ url }) => client(url));
    theirs = servers.map(({ url }) => client(url));
  });

  /** Locks 1 and 3 on the first server, 2 on the second. */
  function members(clients: Redisson[], count = 3): RLock[] {
    return Array.from({ length: count }, (_, i) => clients[i % 2]!.getLock(`${name}:${i}`));
  }

  function red(clients = mine, count = 3): RLock {
    return clients[0]!.getRedLock(...members(clients, count));
  }

  it('LockLeasetime: seven locks, many threads, never two inside', async () => {
    const inside = new Inside();
    await within(
      9_000,
      'all are through',
      Promise.all(
        Array.from({ length: 6 }, async () => {
          for (let i = 0; i < 3; i++) await red(mine, 7).withLock(() => inside.run(2), { leaseTime: 5_000 });
        }),
      ),
    );
    expect(inside.runs).to.equal(18);
    expect(inside.most).to.equal(1);
    for (const member of members(theirs, 7)) expect(await member.isLocked()).to.equal(false);
  });

  it('TryLockLeasetime: timed tries of two clients, until each has succeeded', async () => {
    const inside = new Inside();
    await within(
      9_000,
      'all are through',
      Promise.all(
        [mine, theirs, mine, theirs].map(async (clients) => {
          for (let i = 0; i < 3;) {
            const hold = await red(clients).tryAcquireHold({ waitTime: 2_000, leaseTime: 2_000 });
            if (hold === null) continue;
            await inside.run(2);
            await hold.unlock();
            i++;
          }
        }),
      ),
    );
    expect(inside.runs).to.equal(12);
    expect(inside.most).to.equal(1);
  });

  it('LockFailed: a majority held by others keeps it out, and what it took is given back', async () => {
    const [first, second, third] = members(theirs);
    await second!.lock();
    await third!.lock();
    expect(await red().tryLock()).to.equal(false);
    expect(await first!.isLocked()).to.equal(false);
    const startedAt = monotonicNow();
    expect(await red().tryLock(600)).to.equal(false);
    expect(monotonicNow() - startedAt).to.be.within(599, 2_500);
    expect(await rejection(red().acquire({ waitTime: 100 }))).to.be.instanceOf(LockTimeoutError);
    expect(await first!.isLocked()).to.equal(false);
    const waiting = red().lock(-1, undefined, 1);
    await sleep(100);
    await second!.unlock();
    await within(4_000, 'the majority', waiting);
    await red().unlock(1);
    await third!.unlock();
  });

  it('LockSuccess: one lock held by another does not matter, whichever, and a third one waits', async () => {
    for (const [i, blocked] of members(theirs).entries()) {
      await blocked.lock();
      const lock = red();
      expect(await lock.tryLock(900, -1, undefined, 1), `with lock ${i} held`).to.equal(true);
      const third = red().tryLock(3_000, -1, undefined, 2);
      await sleep(50);
      expect(await lock.isHeldByThread(1)).to.equal(true);
      await lock.unlock(1);
      expect(await third).to.equal(true);
      await red().unlock(2);
      await blocked.unlock();
    }
  });

  it('LockSuccess2: the wait is shared between the members, so that one that is busy is passed in time', async () => {
    const [, second] = members(theirs);
    await second!.lock();
    const lock = red();
    expect(await lock.tryLock(500, 5_000, undefined, 1)).to.equal(true);
    expect(await lock.isHeldByThread(1)).to.equal(true);
    expect(await members(mine)[0]!.remainTimeToLive()).to.be.within(3_000, 5_000);
    await lock.unlock(1);
    expect(await lock.isHeldByThread(1)).to.equal(false);
    await second!.unlock();
  });

  it('is lost with the majority, not before', async () => {
    const hold = await red().acquire();
    const [first, second, third] = members(mine);
    await second!.forceUnlock();
    expect(hold.isHeld).to.equal(true);
    expect(hold.signal.aborted).to.equal(false);
    await first!.forceUnlock();
    expect(hold.isHeld).to.equal(false);
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    expect(await rejection(hold.unlock())).to.be.instanceOf(LockLostError);
    expect(await third!.isLocked()).to.equal(false);
  });

  it('extend(-1) succeeds with a majority; one that finds too few left gives the others back', async () => {
    const hold = await red().acquire({ leaseTime: 20_000 });
    const [first, second, third] = members(theirs);
    await second!.forceUnlock();
    await hold.extend(-1);
    expect(hold.isHeld).to.equal(true);
    expect(await third!.remainTimeToLive()).to.be.above(20_000);
    await first!.forceUnlock();
    expect(await rejection(hold.extend(-1))).to.be.instanceOf(LockLostError);
    expect(hold.isHeld).to.equal(false);
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    await sleepUntil(async () => !(await third!.isLocked()), { message: 'the third is given back' });
    expect(await rejection(hold.unlock())).to.be.instanceOf(LockLostError);
  });

  it('unlock ignores a minority of errors, and tells when nothing was held', async () => {
    const lock = red();
    await lock.lock(-1, undefined, 1);
    await members(mine)[1]!.forceUnlock();
    await lock.unlock(1);
    expect(await rejection(lock.unlock(1))).to.be.instanceOf(IllegalMonitorStateError);
  });

  it('RedissonTwoLockedThread: the second one waits for the first one to unlock', async () => {
    const first = red();
    await first.lock(-1, undefined, 1);
    const startedAt = monotonicNow();
    const waiting = red().lock(-1, undefined, 2);
    await sleep(300);
    await first.unlock(1);
    await within(3_000, 'the second', waiting);
    expect(monotonicNow() - startedAt).to.be.above(299);
    await red().unlock(2);
  });

  it('ConnectionFailed: a server that was down before costs a moment, and the majority is enough', async function () {
    this.timeout(20_000);
    const gone = await RedisServer.start();
    const url = gone.url;
    await gone.stop();
    const clients = [client(servers[0]!.url), client(url)];
    const lock = red(clients);
    const startedAt = monotonicNow();
    await lock.lock(-1, undefined, 1);
    expect(await lock.tryLock({ threadId: 2 })).to.equal(false);
    await lock.unlock(1);
    expect(monotonicNow() - startedAt).to.be.below(10_000);
    expect(await members(clients)[0]!.isLocked()).to.equal(false);
    expect(await members(clients)[2]!.isLocked()).to.equal(false);
  });

  it('rejects with the error when too many servers are down', async function () {
    this.timeout(20_000);
    const gone = await RedisServer.start();
    const url = gone.url;
    await gone.stop();
    const clients = [client(url, { timeout: 200, retryAttempts: 0 }), client(servers[0]!.url)];
    const error = await within(10_000, 'the error', rejection(red(clients).lock()));
    expect(error).to.have.property('code', 'CONNECTION');
    expect(await members(clients)[1]!.isLocked()).to.equal(false);
  });
});
