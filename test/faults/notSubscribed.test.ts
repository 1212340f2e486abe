// Ids in titles: test/README.md
import { expect } from 'chai';
import { LockTimeoutError, type Redisson, SubscriptionTimeoutError } from '../../lib';
import { monitor, monotonicNow, sleep, sleepUntil, trackClient, uniqueName } from '../support';
import { client, gone, listening, LONG_LEASE_MS, openScene, type Scene, SOON_MS, within } from './scene';

/** Reconnects that are spoilt: far more than a test sees. */
const MANY = 200;
/** The command time-out, which is also the longest pause between two looks. */
const TIMEOUT_MS = 1_000;

/** A7: commands are answered, but no subscription is acknowledged and no message arrives. */
describe('a client that cannot subscribe (A7)', function () {
  // Pauses and time-outs of whole seconds are what this is about; a hang is told by what hangs.
  this.timeout(60_000);
  let scene: Scene;
  let deaf: Redisson;
  let other: Redisson;
  let name: string;

  beforeEach(async () => {
    scene = await openScene();
    name = uniqueName();
    other = client(scene.url);
    deafen();
    deaf = client(scene.proxy.url, { timeout: TIMEOUT_MS });
  });

  function deafen(): void {
    for (let i = 0; i < MANY; i++) void scene.proxy.swallowNextReply({ command: /\r\nS?SUBSCRIBE\r\n/i });
  }

  /** The subscriber connection works again. */
  async function hears(): Promise<void> {
    await scene.proxy.pass();
    await scene.direct.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await listening(scene.direct, name);
  }

  /** Calls that all attempt at first: a few at a time, as each must be answered within the command time-out. */
  async function crowdOf<T>(size: number, call: () => Promise<T>): Promise<{ readonly all: Promise<T>[] }> {
    const all: Promise<T>[] = [];
    while (all.length < size) {
      for (let i = 0; i < 50; i++) all.push(call());
      await sleep(5);
    }
    return { all };
  }

  /** How many scripts run on each object in so many ms. */
  async function attempts(ms: number, ...names: readonly string[]): Promise<number[]> {
    const seen = await monitor(scene.url, ({ name: command }) => command.startsWith('eval'));
    try {
      await sleep(ms);
      const texts = (await seen.commands()).map(({ args }) => args.join(' '));
      return names.map((one) => texts.filter((text) => text.includes(one)).length);
    } finally {
      seen.stop();
    }
  }

  it('gets a lock in bounded time after its holder has released it, and so do those behind it in the queue', async () => {
    const held = await other.getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    const waits = [1, 2, 3].map(async () => {
      const hold = await deaf.getLock(name).acquire({ waitTime: 25_000 });
      await sleep(1);
      await hold.unlock();
    });
    await sleep(300);
    await held.unlock();
    await within(SOON_MS, 'all get in', Promise.all(waits));
    await gone(scene.direct, name);
  });

  it('gets a free lock soon although others of it wait for the subscription', async () => {
    const held = await other.getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    const first = deaf.getLock(name).acquire({ waitTime: 25_000 });
    await sleep(300);
    await held.unlock();
    const fresh = deaf.getLock(name).acquire({ waitTime: 15_000 });
    await (await within(SOON_MS, 'the first', first)).unlock();
    await (await within(SOON_MS, 'the fresh one', fresh)).unlock();
  });

  it('waits as long as it was asked to, and not only until the time for a subscription is over', async () => {
    const impatient = client(scene.proxy.url, { timeout: TIMEOUT_MS, subscriptionTimeout: 300 });
    const held = await other.getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    const startedAt = monotonicNow();
    const error = await impatient
      .getLock(name)
      .acquire({ waitTime: 2_000 })
      .catch((e: unknown) => e);
    expect(error).to.be.instanceOf(LockTimeoutError);
    expect(monotonicNow() - startedAt).to.be.at.least(2_000);
    await held.unlock();
  });

  it('rejects all who wait without a limit together, and leaves those with one', async () => {
    const impatient = client(scene.proxy.url, { timeout: TIMEOUT_MS, subscriptionTimeout: 1_500 });
    const held = await other.getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    const timed = impatient.getLock(name).acquire({ waitTime: 25_000 });
    const waits = [1, 2, 3, 4].map(() =>
      impatient
        .getLock(name)
        .acquire()
        .catch((error: unknown) => error),
    );
    const ends = await within(SOON_MS, 'all are told', Promise.all(waits));
    for (const end of ends) expect(end).to.be.instanceOf(SubscriptionTimeoutError);
    await held.unlock();
    await (await within(SOON_MS, 'the timed one', timed)).unlock();
  });

  it('does not storm: of 1000 FIFO waiters one looks, of 1000 shared ones a few', async () => {
    const held = await other.getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    const ended = new AbortController();
    const { signal } = ended;
    // Nobody may give up on a busy machine.
    const crowd = client(scene.proxy.url, { timeout: 5_000 });
    const failed: unknown[] = [];
    const fail = (error: unknown): void => void (signal.aborted || failed.push(error));
    const line = Array.from({ length: 1_000 }, () =>
      crowd.getLock(name).acquire({ waitTime: 40_000, signal }).catch(fail),
    );
    const shared = uniqueName();
    const semaphore = crowd.getSemaphore(shared);
    const { all: contenders } = await crowdOf(1_000, () =>
      semaphore.tryAcquire(1, 40_000, undefined, { signal }).catch(fail),
    );
    await sleep(1_500);
    const seen = trackClient(await monitor(scene.url, ({ name: command }) => command.startsWith('eval')));
    const countOf = async (one: string): Promise<number> =>
      (await seen.commands()).filter(({ args }) => args.join(' ').includes(one)).length;
    const [ofLine, ofShared] = await attempts(3_000, name, shared);
    expect(ofLine, 'line').to.be.at.most(10);
    expect(ofLine! + ofShared!, 'both').to.be.at.most(80);
    // And they do look on, however long it takes two thousand callers on a busy machine.
    const look = async (): Promise<boolean> => (await countOf(name)) >= 1 && (await countOf(shared)) >= 9;
    await sleepUntil(look, { timeout: 20_000, interval: 100, message: 'one of the line and a few shared ones look' });
    expect(failed).to.deep.equal([]);
    ended.abort();
    await Promise.all([...line, ...contenders]);
    await held.unlock();
  });

  it('gets permits, and through a latch with a thousand others', async () => {
    const semaphore = other.getSemaphore(`${name}:s`);
    const latch = other.getCountDownLatch(`${name}:l`);
    await latch.trySetCount(1);
    const permits = [1, 2, 3].map(() => deaf.getSemaphore(`${name}:s`).tryAcquire(1, 25_000));
    const { all: passes } = await crowdOf(1_000, () => deaf.getCountDownLatch(`${name}:l`).await(25_000));
    await sleep(700);
    await semaphore.release(3);
    await latch.countDown();
    expect(await within(SOON_MS, 'permits', Promise.all(permits))).to.deep.equal([true, true, true]);
    expect((await within(SOON_MS, 'latch', Promise.all(passes))).every(Boolean)).to.equal(true);
    await scene.direct.del(`${name}:s`, `${name}:l`);
  });

  it('is woken by messages again when it hears, and looks no more', async () => {
    const held = await other.getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    const waiting = deaf.getLock(name).acquire({ waitTime: 30_000 });
    await sleep(1_200);
    await hears();
    await sleep(500);
    expect(await attempts(2_500, name)).to.deep.equal([0]);
    await held.unlock();
    await (await within(SOON_MS, 'the waiter', waiting)).unlock();
  });

  it('looks again, a few at a time, when its subscriber is lost for long', async () => {
    await scene.proxy.pass();
    const semaphore = deaf.getSemaphore(`${name}:s`);
    const ended = new AbortController();
    const { signal } = ended;
    let inside = 0;
    const { all: contenders } = await crowdOf(1_000, async () => {
      const isInside = await semaphore.tryAcquire(1, 30_000, undefined, { signal }).catch(() => false);
      if (isInside) inside++;
      return isInside;
    });
    await listening(scene.direct, name);
    deafen();
    await scene.direct.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    expect((await attempts(3_500, name))[0]).to.be.within(10, 50);
    await other.getSemaphore(`${name}:s`).release(500);
    await sleepUntil(() => inside === 500, { timeout: 20_000, message: () => `${inside} of 500 are inside` });
    ended.abort();
    expect((await Promise.all(contenders)).filter(Boolean)).to.have.length(500);
    await scene.direct.del(`${name}:s`);
  });
});
