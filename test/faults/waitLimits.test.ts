import { expect } from 'chai';
import { LockTimeoutError } from '../../lib';
import { monotonicNow, RedisServer, sleep, uniqueName } from '../support';
import { type FaultyLock, LOCK_KINDS } from './kinds';
import { client, connection, listening, LONG_LEASE_MS, SOON_MS, within } from './scene';

/** Short, so that several commands go unanswered during one pause of the server. */
const SETTINGS = { timeout: 300 };
/** How long the server hangs: longer than a command and all its repeats wait. */
const PAUSE_MS = 1_500;
const WAIT_MS = 30_000;
/** Outlives a machine that stands still for two seconds, while the waiters get ready. */
const RIVAL_LEASE_MS = 3_500;
/** How long a wait may last beyond its time: far less than a call without a limit waits for a server. */
const LATE_MS = 3_000;

/** A9: a server that hangs for a while ends no wait that has a time of its own. */
describe('a timed wait (A9), when the server hangs for longer than a command waits,', () => {
  let server: RedisServer;
  let name: string;

  before(async () => {
    server = await RedisServer.start();
  });

  after(() => server.stop());

  beforeEach(() => {
    name = uniqueName();
  });

  for (const kind of LOCK_KINDS) {
    it(`goes on, from its first attempt: ${kind.title}`, async () => {
      const lock = kind.of(client(server.url, SETTINGS), name);
      await lock.unlock().catch(() => undefined);
      server.pause();
      const waiting = lock.acquire({ waitTime: WAIT_MS, leaseTime: LONG_LEASE_MS });
      waiting.catch(() => undefined);
      await sleep(PAUSE_MS);
      server.resume();
      await (await within(SOON_MS, 'it gets in', waiting)).unlock();
    });
  }

  it('goes on, from a later attempt, whatever the kind of the lock', async () => {
    const nameOf = (kind: FaultyLock): string => `${name}:${LOCK_KINDS.indexOf(kind)}`;
    // They end while the server hangs: the waiters try again then, and get no answer.
    await Promise.all(
      LOCK_KINDS.map((kind) => kind.rival(client(server.url), nameOf(kind)).acquire({ leaseTime: RIVAL_LEASE_MS })),
    );
    const endsAt = monotonicNow() + RIVAL_LEASE_MS;
    const waits = LOCK_KINDS.map((kind) => {
      const lock = kind.of(client(server.url, SETTINGS), nameOf(kind));
      const waiting = lock.tryLock(WAIT_MS, LONG_LEASE_MS);
      waiting.catch(() => undefined);
      return { kind, lock, waiting };
    });
    const direct = connection(server.url);
    for (const kind of LOCK_KINDS) if (kind.title !== 'spin lock') await listening(direct, nameOf(kind));
    await sleep(endsAt - monotonicNow() - 300);
    server.pause();
    await sleep(endsAt - monotonicNow() + PAUSE_MS);
    server.resume();
    for (const { kind, lock, waiting } of waits) {
      expect(await within(SOON_MS, `the ${kind.title} gets in`, waiting), kind.title).to.equal(true);
      await lock.unlock();
    }
  }).timeout(20_000);

  it('goes on: permits with ids, and a latch', async () => {
    const redisson = client(server.url, SETTINGS);
    const semaphore = redisson.getPermitExpirableSemaphore(name);
    const latch = redisson.getCountDownLatch(`${name}:latch`);
    await semaphore.trySetPermits(1);
    server.pause();
    const waiting = Promise.all([semaphore.tryAcquire(WAIT_MS, LONG_LEASE_MS), latch.await(WAIT_MS)]);
    waiting.catch(() => undefined);
    await sleep(PAUSE_MS);
    server.resume();
    const [id, open] = await within(SOON_MS, 'both get in', waiting);
    expect([id?.length, open]).to.deep.equal([32, true]);
    expect(await semaphore.availablePermits()).to.equal(0);
  });

  it('that ends meanwhile tells the silence, not that somebody else holds it', async () => {
    const redisson = client(server.url, SETTINGS);
    const locks = [redisson.getLock(name), redisson.getMultiLock(redisson.getLock(name), redisson.getLock(`${name}2`))];
    await locks[0]!.isLocked();
    server.pause();
    for (const [waitTime, lock] of [
      [100, locks[0]!],
      [700, locks[0]!],
      [700, locks[1]!],
    ] as const) {
      const startedAt = monotonicNow();
      const error = await lock.acquire({ waitTime }).catch((reason: unknown) => reason);
      expect(monotonicNow() - startedAt).to.be.within(waitTime - 1, waitTime + LATE_MS);
      expect(error).to.be.instanceOf(LockTimeoutError).with.property('code', 'LOCK_TIMEOUT');
      expect((error as LockTimeoutError).message).to.match(/Redis did not answer/);
      expect((error as LockTimeoutError).cause).to.have.property('code', 'COMMAND_TIMEOUT');
      expect(await lock.tryLock(100)).to.equal(false);
    }
    server.resume();
    const other = await client(server.url).getLock(name).acquire({ waitTime: WAIT_MS, leaseTime: LONG_LEASE_MS });
    const busy = await locks[0]!.acquire({ waitTime: 100 }).catch((reason: unknown) => reason);
    expect(busy).to.be.instanceOf(LockTimeoutError);
    expect((busy as LockTimeoutError).message).to.match(/somebody else holds it/);
    await other.unlock();
  });
});
