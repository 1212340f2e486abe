import { expect } from 'chai';
import type { Redisson } from '../../lib';
import { Inspector } from '../../lib/operators/inspection';
import { uniqueName } from '../support';
import { EVERY_LOCK, isComposed, makeLock } from '../support/kinds';
import { client, openScene, SOON_MS, within } from './scene';

/** A call that takes something from whoever has it. */
interface Taking {
  readonly title: string;
  /** Makes what is taken; and makes it anew. @returns what there is of it, for whoever made it */
  make(client: Redisson, name: string, again: boolean): Promise<() => Promise<unknown>>;
  take(client: Redisson, name: string, inspector: Inspector): Promise<unknown>;
}

const LEASE = { leaseTime: 60_000, waitTime: SOON_MS };

const LOCKS = EVERY_LOCK.filter((kind) => !isComposed(kind)).flatMap((kind): Taking[] => {
  const make: Taking['make'] = async (redisson, name) => {
    const hold = await makeLock(kind, redisson, name).acquire(LEASE);
    return () => hold.extend(30_000).then(() => 'held');
  };
  return [
    { title: `forceUnlock() of a ${kind.noun}`, make, take: (own, name) => makeLock(kind, own, name).forceUnlock() },
    {
      title: `forceUnlock() of a ${kind.noun} by an inspector`,
      make,
      take: (_own, name, inspector) => inspector.forceUnlock(name),
    },
  ];
});

const TAKINGS: readonly Taking[] = [
  ...LOCKS,
  {
    title: 'delete() of a semaphore',
    async make(redisson, name, again) {
      const semaphore = redisson.getSemaphore(name);
      await semaphore.trySetPermits(again ? 2 : 1);
      return () => semaphore.availablePermits();
    },
    take: (redisson, name) => redisson.getSemaphore(name).delete(),
  },
  {
    title: 'delete() of a permit-expirable semaphore',
    async make(redisson, name, again) {
      const semaphore = redisson.getPermitExpirableSemaphore(name);
      await semaphore.trySetPermits(again ? 2 : 1);
      return () => semaphore.availablePermits();
    },
    take: (redisson, name) => redisson.getPermitExpirableSemaphore(name).delete(),
  },
  {
    title: 'setPermits()',
    async make(redisson, name, again) {
      const semaphore = redisson.getPermitExpirableSemaphore(name);
      await semaphore.setPermits(again ? 10 : 1);
      return () => semaphore.getPermits();
    },
    take: (redisson, name) => redisson.getPermitExpirableSemaphore(name).setPermits(2),
  },
  {
    title: 'delete() of a latch',
    async make(redisson, name, again) {
      const latch = redisson.getCountDownLatch(name);
      await latch.trySetCount(again ? 3 : 1);
      return () => latch.getCount();
    },
    take: (redisson, name) => redisson.getCountDownLatch(name).delete(),
  },
];

/** The scripts that these calls send, and not those that an inspector reads with. */
const TAKES = /\r\nevalsha\r\n|\r\neval\r\n.*redis\.call\('(?:del|hdel|incrby)'/is;

for (const then of ['cut', 'hang'] as const) {
  describe(`what takes from anybody, when its reply is lost (${then})`, () => {
    for (const { title, make, take } of TAKINGS) {
      it(`${title}: leaves the next one what it has, and says that it may have run`, async () => {
        const { proxy, direct, url } = await openScene();
        const name = uniqueName('taken');
        const [taker, other] = [client(proxy.url, { timeout: 500 }), client(url)];
        await make(other, name, false);
        await using inspector = new Inspector(taker);
        await inspector.inspect(name);
        if (then === 'cut') proxy.refuse();
        const lost = proxy.swallowNextReply({ command: TAKES, then });
        const taking = take(taker, name, inspector).catch((error: unknown) => error);
        await within(SOON_MS, 'it has run', lost);
        const there = await make(other, name, true);
        const before = await there();
        if (then === 'hang') proxy.cut();
        await proxy.pass();
        expect(await taking).to.include({ mayHaveRun: true });
        // What comes later on the same connection is behind a repeat.
        await taker.ping();
        expect(await there()).to.equal(before);
        await direct.del(...(await direct.keys(`*${name}*`)));
      });
    }
  });
}
