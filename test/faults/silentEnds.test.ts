import { expect } from 'chai';
import { LockLostError, type LockHold } from '../../lib';
import { allowLeftovers, monitor, type Monitor, redisUrl, sleepUntil, trackClient, uniqueName } from '../support';
import { LOCK_KINDS } from './kinds';
import { client, connection, LONG_LEASE_MS, SOON_MS, within } from './scene';

/** Enough to take a lock beside it, and far less than {@link SOON_MS}. */
const SHORT_LEASE_MS = 1_500;
const SHORT = { leaseTime: SHORT_LEASE_MS };
/** Outlives a machine that stands still for two seconds, while a waiter gets ready. */
const OUTER_LEASE_MS = 3_000;
const LONG = { leaseTime: LONG_LEASE_MS };
/** Their waiters ask again and again. */
const POLLING = ['spin lock', 'multi-lock', 'red lock'];

/*
 * A waiter sleeps until a message, or for as long as the lock had to live when it looked. Here its lease is
 * shortened after that, and then its holder dies: it is never given back.
 */
describe('a waiter does not sleep past the end of a lock that nobody announces', () => {
  let url: string;
  let seen: Monitor;
  let name: string;
  beforeEach(async () => {
    url = redisUrl();
    seen = trackClient(await monitor(url));
    name = uniqueName();
    // The counter of the tokens stays, so that they never go back.
    allowLeftovers({ keys: /redisson_lock_token/ });
  });

  /** Resolves when the waiter has looked a second time, which is what it sleeps by. */
  async function asleep<T>(start: () => Promise<T>): Promise<{ readonly entry: Promise<T> }> {
    await seen.clear();
    const entry = start();
    const looked = async () => (await seen.sentNames()).filter((command) => command.startsWith('eval')).length >= 2;
    await sleepUntil(looked, { message: 'the waiter sleeps' });
    return { entry };
  }

  async function leave(hold: LockHold): Promise<void> {
    await hold.unlock();
  }

  for (const kind of LOCK_KINDS.filter(({ reentrant }) => reentrant)) {
    it(`${kind.title}: an inner hold with a longer lease is given back, the outer one runs out`, async () => {
      const lock = kind.of(client(url), name);
      await lock.acquire({ ...SHORT, threadId: 7 });
      const inner = await lock.acquire({ ...LONG, threadId: 7 });
      const rival = kind.rival(client(url), name);
      const { entry } = await asleep(() => rival.acquire(LONG));
      await inner.unlock();
      await leave(await within(SOON_MS, 'the waiter gets in', entry));
    });
  }

  // In a fair queue this is the order; elsewhere it is one of several, and handOver.test.ts has the one that matters.
  for (const kind of LOCK_KINDS.filter(({ title }) => !POLLING.includes(title))) {
    it(`${kind.title}: somebody comes in before it, with a shorter lease, and it runs out`, async () => {
      const first = client(url);
      const held = await kind.rival(first, name).acquire(LONG);
      const { entry: dying } = await asleep(() => kind.of(first, name).acquire(SHORT));
      const { entry: second } = await asleep(() => kind.rival(client(url), name).acquire(LONG));
      const { entry: third } = await asleep(() => kind.rival(client(url), name).acquire(LONG));
      await held.unlock();
      await within(SOON_MS, 'everybody gets in', Promise.all([dying, second.then(leave), third.then(leave)]));
    });
  }

  it('fair lock: a waiter that knew nothing of the longer lease comes in before it and loses the lock', async () => {
    const owner = client(url).getFairLock(name);
    const outer = await owner.acquire({ leaseTime: OUTER_LEASE_MS, threadId: 7 });
    const { entry: before } = await asleep(() => client(url).getFairLock(name).acquire({ leaseTime: 300 }));
    const inner = await owner.acquire({ ...LONG, threadId: 7 });
    const { entry } = await asleep(() => client(url).getFairLock(name).acquire(LONG));
    await Promise.all([outer.unlock(), inner.unlock()]);
    const short = await within(SOON_MS, 'the first one gets in', before);
    await sleepUntil(() => short.signal.aborted);
    // It says so when it leaves, which frees nothing, but wakes who waits.
    expect(await short.unlock().catch((error: unknown) => error)).to.be.instanceOf(LockLostError);
    await leave(await within(SOON_MS, 'the second one gets in', entry));
  });

  it('a lost hold that Redis still has is free when its owner gives it back', async () => {
    const hold = await client(url).getLock(name).acquire({ leaseTime: OUTER_LEASE_MS });
    const { entry } = await asleep(() => client(url).getLock(name).acquire(LONG));
    // As by a renewal whose answer never came.
    await connection(url).pexpire(name, LONG_LEASE_MS);
    await sleepUntil(() => hold.signal.aborted);
    expect(await hold.unlock().catch((error: unknown) => error)).to.be.instanceOf(LockLostError);
    await leave(await within(SOON_MS, 'the waiter gets in', entry));
  });

  it('read lock: the reader with the longest lease leaves, the other one runs out', async () => {
    const lock = client(url).getReadWriteLock(name);
    await lock.readLock().acquire({ ...SHORT, threadId: 7 });
    const longer = await lock.readLock().acquire({ ...LONG, threadId: 8 });
    const writer = client(url).getReadWriteLock(name).writeLock();
    const { entry } = await asleep(() => writer.acquire(LONG));
    await longer.unlock();
    await leave(await within(SOON_MS, 'the writer gets in', entry));
  });

  it('permits: a permit gets a shorter lease, and it runs out', async () => {
    const semaphore = client(url).getPermitExpirableSemaphore(name);
    await semaphore.trySetPermits(1);
    const id = await semaphore.acquire(LONG_LEASE_MS);
    const rival = client(url).getPermitExpirableSemaphore(name);
    const { entry } = await asleep(() => rival.acquire(LONG_LEASE_MS));
    await semaphore.updateLeaseTime(id, SHORT_LEASE_MS);
    await rival.release(await within(SOON_MS, 'the waiter gets the permit', entry));
    await semaphore.delete();
  });
});
