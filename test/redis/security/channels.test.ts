import { expect } from 'chai';
import { Redis } from 'ioredis';
import * as sinon from 'sinon';
import { CommandError, Redisson, type RLock } from '../../../lib';
import { RedisServer, sleepUntil, trackClient } from '../../support';
import { rulesOf } from '../../support/securityPage';

type Use = (one: Redisson, other: Redisson) => Promise<unknown>;

/** Somebody with all rights waits in the queue of that lock. */
async function queued(lock: RLock, admin: Redis): Promise<() => Promise<unknown>> {
  const abort = new AbortController();
  const waiting = lock.acquire({ signal: abort.signal }).catch(() => undefined);
  await sleepUntil(async () => ((await admin.pubsub('CHANNELS')) as string[]).length > 0);
  return () => {
    abort.abort();
    return waiting;
  };
}

describe('docs/security.md: a user without the rights to channels', function () {
  this.timeout(60_000);

  let server: RedisServer;
  let admin: Redis;
  let one: Redisson;
  let other: Redisson;

  before(async () => {
    server = await RedisServer.start();
  });
  after(() => server.stop());

  async function connect(block: string, without: string): Promise<void> {
    admin = trackClient(new Redis(server.url));
    await admin.flushall();
    const rules = [...rulesOf('connection'), ...rulesOf(block)].filter((rule) => rule !== without);
    await admin.call('acl', 'setuser', 'service', 'reset', 'on', '>secret', ...rules);
    one = trackClient(Redisson.create(`redis://service:secret@127.0.0.1:${server.port}`));
    other = trackClient(Redisson.create(server.url));
  }

  function unlocked(lockOf: (client: Redisson) => RLock): Use {
    return async () => (await lockOf(one).acquire()).unlock();
  }

  describe('PUBLISH: what others wait for is done, and it is told once that nobody hears of it:', () => {
    const uses: readonly [what: string, block: string, use: Use][] = [
      ["release lock 'app:x'", 'lock', unlocked((client) => client.getLock('app:x'))],
      ["release lock 'app:x'", 'fenced', unlocked((client) => client.getFencedLock('app:x'))],
      ["release lock 'app:x'", 'nonReentrant', unlocked((client) => client.getNonReentrantLock('app:x'))],
      ["release lock 'app:x'", 'readWrite', unlocked((client) => client.getReadWriteLock('app:x').readLock())],
      ["release lock 'app:x'", 'readWrite', unlocked((client) => client.getReadWriteLock('app:x').writeLock())],
      [
        "force the release of lock 'app:x'",
        'lock',
        async () => {
          await other.getLock('app:x').lock();
          expect(await one.getLock('app:x').forceUnlock()).to.equal(true);
        },
      ],
      [
        "release fair lock 'app:x'",
        'fair',
        async () => {
          const hold = await one.getFairLock('app:x').acquire();
          const leave = await queued(other.getFairLock('app:x'), admin);
          await hold.unlock();
          await leave();
        },
      ],
      [
        "set permits of semaphore 'app:x'",
        'semaphore',
        async () => expect(await one.getSemaphore('app:x').trySetPermits(3)).to.equal(true),
      ],
      [
        "release permits of semaphore 'app:x'",
        'semaphore',
        async () => {
          await other.getSemaphore('app:x').trySetPermits(1);
          expect(await one.getSemaphore('app:x').releaseIfExists(4)).to.equal(true);
          expect(await other.getSemaphore('app:x').availablePermits()).to.equal(5);
        },
      ],
      [
        "semaphore 'app:x'",
        'permitExpirableSemaphore',
        async () => {
          await other.getPermitExpirableSemaphore('app:x').trySetPermits(1);
          const semaphore = one.getPermitExpirableSemaphore('app:x');
          await semaphore.release(await semaphore.acquire());
          expect(await semaphore.availablePermits()).to.equal(1);
        },
      ],
      [
        "count down latch 'app:x'",
        'countDownLatch',
        async () => {
          await other.getCountDownLatch('app:x').trySetCount(1);
          await one.getCountDownLatch('app:x').countDown();
          expect(await other.getCountDownLatch('app:x').getCount()).to.equal(0);
        },
      ],
    ];
    for (const [what, block, use] of uses) {
      it(`${block}: ${what}`, async () => {
        await connect(block, '+publish');
        const warn = sinon.stub(process, 'emitWarning');
        await use(one, other);
        await use(one, other).catch(() => undefined);
        const told = warn.args.filter(
          ([, options]) => (options as { code?: string })?.code === 'IOREDISSON_NO_PUBLISH',
        );
        expect(told.length).to.equal(1);
        expect(String(told[0]![0])).to.contain(what).and.to.contain('docs/security.md');
        expect(await admin.exists('redisson_lock_queue:{app:x}')).to.equal(0);
      });
    }
  });

  describe('SUBSCRIBE: the first wait is told, and leaves nothing:', () => {
    const waits: readonly [block: string, prepare: Use, wait: Use][] = [
      ...(['getLock', 'getFairLock', 'getFencedLock', 'getNonReentrantLock'] as const).map(
        (get) =>
          [
            { getLock: 'lock', getFairLock: 'fair', getFencedLock: 'fenced', getNonReentrantLock: 'nonReentrant' }[get],
            () => other[get]('app:x').acquire(),
            () => one[get]('app:x').acquire({ waitTime: 20_000 }),
          ] as [string, Use, Use],
      ),
      [
        'readWrite',
        () => other.getReadWriteLock('app:x').writeLock().acquire(),
        () => one.getReadWriteLock('app:x').readLock().acquire(),
      ],
      [
        'semaphore',
        () => other.getSemaphore('app:x').trySetPermits(0),
        () => one.getSemaphore('app:x').tryAcquire(1, 20_000),
      ],
      [
        'permitExpirableSemaphore',
        () => other.getPermitExpirableSemaphore('app:x').trySetPermits(0),
        () => one.getPermitExpirableSemaphore('app:x').acquire(),
      ],
      [
        'countDownLatch',
        () => other.getCountDownLatch('app:x').trySetCount(1),
        () => one.getCountDownLatch('app:x').await(),
      ],
    ];
    for (const [block, prepare, wait] of waits) {
      it(block, async () => {
        await connect(block, '+subscribe');
        await prepare(one, other);
        const before = (await admin.keys('*')).sort();
        const error: unknown = await wait(one, other).catch((reason: unknown) => reason);
        expect(error).to.be.instanceOf(CommandError).and.to.include({ reply: 'NOPERM' });
        await sleepUntil(async () => (await admin.keys('*')).sort().join() === before.join());
      });
    }
  });
});
