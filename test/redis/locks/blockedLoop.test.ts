import { expect } from 'chai';
import { Redisson } from '../../../lib';
import { redisUrl, trackClient, turn, uniqueName } from '../../support';
import { stall } from './threadSupport';

const WAIT_MS = 300;
/** How often each is tried. */
const TRIES = 20;

/** Names of free objects, made before the loop is blocked. */
type Prepare = (client: Redisson) => Promise<() => Promise<unknown>>;

const locks: Readonly<Record<string, (client: Redisson) => () => Promise<unknown>>> = {
  lock: (client) => () => client.getLock(uniqueName()).tryLock(WAIT_MS),
  'lock, with a lease': (client) => () => client.getLock(uniqueName()).tryLock(WAIT_MS, 60_000),
  'spin lock': (client) => () => client.getSpinLock(uniqueName()).tryLock(WAIT_MS),
  'fair lock': (client) => () => client.getFairLock(uniqueName()).tryLock(WAIT_MS),
  'group lock': (client) => () => client.getMultiLock(uniqueName(), ['a', 'b']).tryLock(WAIT_MS),
  'red lock': (client) => () => client.getRedLock(...three(client)).tryLock(WAIT_MS),
  'red lock, with a lease': (client) => () => client.getRedLock(...three(client)).tryLock(WAIT_MS, 60_000),
  'open latch': (client) => () => client.getCountDownLatch(uniqueName()).await(WAIT_MS),
};

const kinds: Readonly<Record<string, Prepare>> = {
  ...Object.fromEntries(Object.entries(locks).map(([kind, make]) => [kind, async (client) => make(client)])),
  semaphore: async (client) => {
    const semaphore = client.getSemaphore(uniqueName());
    await semaphore.trySetPermits(TRIES);
    return () => semaphore.tryAcquire(1, WAIT_MS);
  },
  permit: async (client) => {
    const semaphore = client.getPermitExpirableSemaphore(uniqueName());
    await semaphore.trySetPermits(TRIES);
    return async () => (await semaphore.tryAcquire(WAIT_MS)) !== null;
  },
} satisfies Readonly<Record<string, Prepare>>;

function three(client: Redisson): ReturnType<Redisson['getLock']>[] {
  return Array.from({ length: 3 }, () => client.getLock(uniqueName()));
}

describe('a blocked event loop', () => {
  let client: Redisson;

  beforeEach(async () => {
    client = trackClient(Redisson.create(redisUrl()));
    await client.ping();
  });

  for (const [kind, prepare] of Object.entries(kinds)) {
    for (const [before, pause] of [
      ['before the commands are written', () => undefined],
      ['while the replies come', turn],
    ] as const) {
      it(`makes no free ${kind} busy (blocked ${before})`, async () => {
        const acquire = await prepare(client);
        const acquired = Array.from({ length: TRIES }, acquire);
        await pause();
        stall(WAIT_MS + 50);
        expect(await Promise.all(acquired)).to.deep.equal(Array.from({ length: TRIES }, () => true));
      });
    }
  }

  it('is no reason to say that Redis did not answer', async () => {
    const ran = Array.from({ length: TRIES }, () =>
      client.getLock(uniqueName()).withLock(() => 'ran', { waitTime: WAIT_MS }),
    );
    stall(WAIT_MS + 50);
    expect(new Set(await Promise.all(ran))).to.deep.equal(new Set(['ran']));
  });

  it('leaves a busy lock busy, and keeps nobody waiting who sleeps', async () => {
    const busy = await client.getLock(uniqueName()).acquire();
    const tried = client.getLock(busy.name).tryLock(WAIT_MS);
    let ended = false;
    void tried.then(() => (ended = true));
    await client.ping();
    await turn();
    stall(WAIT_MS + 1_000);
    // Its timer and what has arrived: no time for replies that nobody waits for.
    for (let i = 0; i < 5 && !ended; i++) await turn();
    expect([ended, await tried]).to.deep.equal([true, false]);
    await busy.unlock();
  });

  it('is no reason to say that Redis did not subscribe a channel', async () => {
    const names = Array.from({ length: 200 }, () => uniqueName());
    const holds = await Promise.all(names.map((name) => client.getLock(name).acquire()));
    const waiter = trackClient(Redisson.create({ url: redisUrl(), subscriptionTimeout: WAIT_MS }));
    await waiter.ping();
    const waits = names.map((name) => waiter.getLock(name).withLock(() => undefined));
    const rejected: unknown[] = [];
    for (const wait of waits) wait.catch((error: unknown) => rejected.push(error));
    // Before the attempts are answered, before the channels are subscribed, and afterwards.
    for (let i = 0; i < 4; i++) {
      await turn();
      stall(WAIT_MS + 50);
    }
    await Promise.all(holds.map((hold) => hold.unlock()));
    await Promise.allSettled(waits);
    expect(rejected).to.deep.equal([]);
  });

  it('lets every unlock resolve that Redis has answered when a drain, or a shutdown without, ends', async () => {
    for (const options of [{ drain: 200 }, undefined]) {
      const closing = trackClient(Redisson.create(redisUrl()));
      const holds = await Promise.all(Array.from({ length: TRIES }, () => closing.getLock(uniqueName()).acquire()));
      const unlocked = Promise.all(holds.map((hold) => hold.unlock()));
      // Without a drain only what has been answered counts.
      if (options === undefined) await turn();
      else void closing.shutdown(options);
      stall(400);
      await Promise.all([unlocked, closing.shutdown(options)]);
    }
  });
});
