// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { DisLock, type RLock, type Redisson } from '../../../lib';
import { FENCED } from '../../../lib/kinds/fenced';
import { NON_REENTRANT } from '../../../lib/kinds/nonReentrant';
import { LOCK, lockChannel } from '../../../lib/kinds/reentrant';
import { within } from '../../faults/scene';
import { trackClient } from '../../support';
import { EVERY_LOCK, makeLock } from '../../support/kinds';
import { Inside, listeners, newClient, openTwoNames, untilListening } from '../synchronizers/support';

/** A kind of exclusive lock. */
interface Kind {
  readonly title: string;
  readonly make: (client: Redisson, name: string) => RLock;
  /** Whether its waiters listen to a channel that the names `x` and `{x}` share. */
  readonly channel?: (name: string) => string;
  /** Whether Redisson's queue of waiters, a key in Redis, is one for both names, so that they wait for each other. */
  readonly sharesQueue?: boolean;
}

/** Those that exclude, and that a single name makes; of those that are made of others, the multi-lock. */
const KINDS: readonly Kind[] = EVERY_LOCK.filter(({ name }) => !['read', 'group', 'red'].includes(name)).map((kind) => {
  const sharesQueue = 'queue' in kind.keysOf('', '');
  const { channelOf } = kind.name === 'multi' ? LOCK : kind;
  return {
    title: kind.noun,
    make: (client, name) =>
      kind.name === 'multi' ? client.getMultiLock(client.getLock(name)) : makeLock(kind, client, name),
    ...(channelOf !== undefined && !sharesQueue && { channel: (name: string) => channelOf(name, '') }),
    sharesQueue,
  };
});

/** A waiter, and whether it is in. */
function waitFor(lock: RLock, threadId: number): { readonly done: Promise<void>; readonly isIn: () => boolean } {
  let isIn = false;
  const done = lock.lock(-1, undefined, threadId).then(() => {
    isIn = true;
  });
  done.catch(() => undefined);
  return { done, isIn: () => isIn };
}

// Redisson gives both names one channel; they are two locks all the same.
describe('A1: the names x and {x}', () => {
  let redis: Redis;
  let one: Redisson;
  let two: Redisson;
  let bare: string;
  let braced: string;

  beforeEach(() => {
    ({ redis, bare, braced } = openTwoNames());
    one = newClient();
    two = newClient();
  });

  for (const { title, make, channel, sharesQueue = false } of KINDS) {
    describe(title, () => {
      for (const order of ['x, then {x}', '{x}, then x']) {
        it(`who holds both and unlocks one hands on that one only: ${order}`, async () => {
          const [first, second] = order.startsWith('x') ? [bare, braced] : [braced, bare];
          await make(one, first).lock(-1, undefined, 1);
          await make(one, second).lock(-1, undefined, 1);
          const waiter = waitFor(make(one, second), 2);
          if (channel !== undefined) await untilListening(redis, channel(bare));
          await make(one, first).unlock(1);
          // Commands of one client run in order: what the unlock had sent by now has been answered.
          expect(await make(one, second).isHeldByThread?.(1)).to.equal(true);
          expect(waiter.isIn()).to.equal(false);
          if (title !== 'multi-lock') {
            expect(await redis.exists(first), `${first} is free`).to.equal(0);
            expect(await redis.hlen(second)).to.equal(title === 'write lock' ? 2 : 1);
          }
          await make(one, second).unlock(1);
          await within(2_000, 'the waiter enters', waiter.done);
          await make(one, second).unlock(2);
          expect(await redis.exists(bare, braced)).to.equal(0);
        });
      }

      if (!sharesQueue) {
        it('a free lock is acquired at once while others wait for the other name', async () => {
          await make(two, braced).lock(-1, undefined, 1);
          const waiter = waitFor(make(one, braced), 2);
          if (channel !== undefined) await untilListening(redis, channel(bare));
          await within(2_000, 'the free lock is acquired', make(one, bare).lock(-1, undefined, 3));
          expect(waiter.isIn()).to.equal(false);
          await make(one, bare).unlock(3);
          await make(two, braced).unlock(1);
          await within(2_000, 'the waiter enters', waiter.done);
          await make(one, braced).unlock(2);
        });

        it('neither takes a wake-up of the other away, and the channel is left with the last of them', async () => {
          for (const [first, second] of [
            [bare, braced],
            [braced, bare],
          ] as const) {
            await make(two, bare).lock(-1, undefined, 1);
            await make(two, braced).lock(-1, undefined, 1);
            const waiters = [waitFor(make(one, first), 2), waitFor(make(one, second), 3)] as const;
            if (channel !== undefined) await untilListening(redis, channel(bare));
            await make(two, second).unlock(1);
            await within(2_000, 'the waiter of the one', waiters[1].done);
            expect(waiters[0].isIn()).to.equal(false);
            if (channel !== undefined) expect(await listeners(redis, channel(bare))).to.equal(1);
            await make(one, second).unlock(3);
            await make(two, first).unlock(1);
            await within(2_000, 'the waiter of the other', waiters[0].done);
            await make(one, first).unlock(2);
            if (channel !== undefined) await untilListening(redis, channel(bare), 0);
          }
        });

        it('hammered from two clients: never two inside, and everybody is done', async function () {
          this.timeout(30_000);
          const inside = new Map([bare, braced].map((name) => [name, new Inside()]));
          const turns = 12;
          const threads = [one, two].flatMap((client) =>
            [bare, braced].flatMap((name) => [1, 2, 3].map((threadId) => ({ client, name, threadId }))),
          );
          await Promise.all(
            threads.map(async ({ client, name, threadId }) => {
              // Threads of one number in both names: who holds both is what went wrong.
              for (let i = 0; i < turns; i++) {
                const lock = make(client, name);
                await lock.lock(-1, undefined, threadId);
                await inside.get(name)!.run(i % 3);
                await lock.unlock(threadId);
              }
            }),
          );
          for (const { most, runs } of inside.values()) expect([most, runs]).to.deep.equal([1, 6 * turns]);
          expect(await redis.exists(bare, braced)).to.equal(0);
        });
      }
    });
  }

  it('@DisLock: one of x and one of {x} run side by side, two of one name do not', async () => {
    const inside = { bare: new Inside(), braced: new Inside(), both: new Inside() };
    class Work {
      @DisLock({ key: () => bare, waitTime: 10_000, client: one })
      async bare(): Promise<void> {
        await Promise.all([inside.bare.run(2), inside.both.run(2)]);
      }

      @DisLock({ key: () => braced, waitTime: 10_000, client: one })
      async braced(): Promise<void> {
        await Promise.all([inside.braced.run(2), inside.both.run(2)]);
      }
    }
    const work = new Work();
    await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? work.bare() : work.braced())));
    expect([inside.bare.most, inside.braced.most, inside.both.most]).to.deep.equal([1, 1, 2]);
    expect([inside.bare.runs, inside.braced.runs]).to.deep.equal([10, 10]);
  });

  it('kinds that share a key hand it on to each other, and to nobody of the other name', async () => {
    const makers = [LOCK, FENCED, NON_REENTRANT].map(({ lockOf }) => lockOf);
    const inside = new Map([bare, braced].map((name) => [name, new Inside()]));
    await Promise.all(
      [bare, braced].flatMap((name) =>
        makers.map(async (make, i) => {
          for (let turn = 0; turn < 20; turn++) {
            const lock = make(one, name);
            await lock.lock(-1, undefined, 10 + i);
            await inside.get(name)!.run(0);
            await lock.unlock(10 + i);
          }
        }),
      ),
    );
    for (const { most, runs } of inside.values()) expect([most, runs]).to.deep.equal([1, 60]);
  });

  it('names that a mapper makes x and {x} of are two locks; two names for one raw name are one', async () => {
    const table = new Map([
      ['a', bare],
      ['b', braced],
      ['c', bare],
    ]);
    const mapped = newClient({ nameMapper: { map: (name) => table.get(name)!, unmap: (name) => name } });
    await mapped.getLock('a').lock(-1, undefined, 1);
    await mapped.getLock('b').lock(-1, undefined, 1);
    const waiters = [waitFor(mapped.getLock('b'), 2), waitFor(mapped.getLock('c'), 3)] as const;
    await untilListening(redis, lockChannel(bare));
    await mapped.getLock('a').unlock(1);
    await within(2_000, 'the second name of x', waiters[1].done);
    expect([waiters[0].isIn(), await redis.hlen(bare), await redis.hlen(braced)]).to.deep.equal([false, 1, 1]);
    await mapped.getLock('b').unlock(1);
    await within(2_000, 'the waiter of {x}', waiters[0].done);
    await mapped.getLock('b').unlock(2);
    await mapped.getLock('a').unlock(3);
  });

  it('a plain lock whose name makes its channel that of a fair waiter gets nothing of the fair lock', async () => {
    // The channel of thread 2 among the waiters of the fair lock x.
    const odd = `{${bare}}:${one.getId()}:2`;
    trackClient({ close: () => redis.del(odd) });
    await two.getLock(odd).lock(-1, undefined, 1);
    const plain = waitFor(one.getLock(odd), 5);
    await untilListening(redis, `redisson_lock__channel:${odd}`);
    await one.getFairLock(bare).lock(-1, undefined, 2);
    await one.getFairLock(bare).unlock(2);
    expect([plain.isIn(), await redis.exists(bare), await redis.hlen(odd)]).to.deep.equal([false, 0, 1]);
    await two.getLock(odd).unlock(1);
    await within(2_000, 'the plain waiter', plain.done);
    await one.getLock(odd).unlock(5);
  });
});
