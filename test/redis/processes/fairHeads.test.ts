// Ids in titles: test/README.md
import { expect } from 'chai';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { Redisson, RLock } from '../../../lib';
import { client, connection, within } from '../../faults/scene';
import { monitor, monotonicNow, redisUrl, sleep, sleepUntil, trackClient, uniqueName } from '../../support';
import { FairQueue } from '../locks/fairQueue';
import { LockProcess } from './LockProcess';

/** What is promised: a live waiter, whose process runs, is in so long after the lock has become free. */
const BOUND_MS = 5_000;
/** So long everything may take before a test says that it hangs. */
const HANG_MS = 60_000;

/** A lock with its queue, which the test holds with thread 1. */
interface Scene {
  readonly name: string;
  readonly reentrant: boolean;
  readonly queue: FairQueue;
  readonly lock: RLock;
}

describe('A2: dead and frozen waiters of a fair lock', function () {
  this.timeout(2 * HANG_MS);
  const redis = () => shared;
  let shared: ReturnType<typeof connection>;
  let holder: Redisson;
  let delays: IntervalHistogram;

  beforeEach(() => {
    shared = connection();
    holder = client(redisUrl());
    delays = monitorEventLoopDelay();
    delays.enable();
  });
  afterEach(() => delays.disable());

  /** {@link BOUND_MS}, and what this process has stood still at once: the live waiters are in it. */
  function bound(): number {
    return BOUND_MS + delays.max / 1e6;
  }

  const processes: LockProcess[] = [];
  // The connections of a frozen one stay open until then.
  afterEach(() => Promise.all(processes.splice(0).map((one) => one.kill())));

  async function process(): Promise<LockProcess> {
    const one = trackClient(await LockProcess.start(redisUrl()));
    processes.push(one);
    return one;
  }

  function lockOf(one: Redisson, { name, reentrant }: Pick<Scene, 'name' | 'reentrant'>): RLock {
    return reentrant ? one.getFairLock(name) : one.getNonReentrantFairLock(name);
  }

  /** Somebody has the lock for so long. */
  async function held(leaseMs: number, reentrant = true): Promise<Scene> {
    const name = uniqueName('fair');
    const queue = new FairQueue(redis(), name);
    const lock = lockOf(holder, { name, reentrant });
    await lock.lock(leaseMs, undefined, 1);
    return { name, reentrant, queue, lock };
  }

  /** Waiters of that process join the queue. */
  async function join(one: LockProcess, { name, reentrant, queue }: Scene, waiters: number, firstThread = 100) {
    const before = (await queue.owners()).length;
    await one.do({ kind: 'queue', name, reentrant, firstThread, waiters, insideMs: 0 });
    await queue.untilLength(before + waiters);
  }

  async function subscribed(name: string, count: number): Promise<void> {
    await sleepUntil(async () => ((await redis().pubsub('CHANNELS', `*${name}*`)) as string[]).length >= count, {
      message: `${count} subscribed`,
    });
  }

  /** When a waiter that joins now got in, in ms of the monotonic clock. */
  async function waiter(scene: Scene, threadId = 7): Promise<{ in: Promise<number> }> {
    const length = (await scene.queue.owners()).length;
    const lock = lockOf(client(redisUrl()), scene);
    const entered = lock.lock(-1, undefined, threadId).then(async () => {
      const at = monotonicNow();
      await lock.unlock(threadId);
      return at;
    });
    entered.catch(() => undefined);
    await scene.queue.untilLength(length + 1);
    await subscribed(scene.name, 1);
    return { in: entered };
  }

  /** How long somebody who only ever makes single attempts tries until it is in. */
  async function tries(scene: Scene, pauseMs: number): Promise<number> {
    const lock = lockOf(client(redisUrl()), scene);
    while (!(await lock.tryLock({ threadId: 8 }))) await sleep(pauseMs);
    const at = monotonicNow();
    await lock.unlock(8);
    return at;
  }

  const cases = [1, 3, 8, 30].flatMap((count) => [2_000, 20_000].map((leaseMs) => ({ count, leaseMs })));

  for (const state of ['dead', 'frozen'] as const) {
    for (const reentrant of [true, false]) {
      it(`1, 3, 8 and 30 ${state} heads cost a live waiter 5 s at most (${reentrant ? '' : 'non-'}reentrant)`, async () => {
        const one = await process();
        const scenes: { scene: Scene; next: { in: Promise<number> } }[] = [];
        for (const { count, leaseMs } of cases) {
          const scene = await held(30_000, reentrant);
          await join(one, scene, count);
          await subscribed(scene.name, count);
          scenes.push({ scene, next: await waiter(scene) });
          await redis().pexpire(scene.name, 15_000 + leaseMs);
        }
        if (state === 'dead') await one.kill();
        else one.freeze();
        const took = await Promise.all(
          scenes.map(async ({ scene, next }) => {
            const releasedAt = monotonicNow();
            await scene.lock.unlock(1);
            return (await within(HANG_MS, 'the live waiter gets in', next.in)) - releasedAt;
          }),
        );
        for (const [i, ms] of took.entries()) expect(ms, JSON.stringify(cases[i])).to.be.below(bound());
      });
    }

    it(`the same when the lease of a holder ends that never gives it back, with ${state} heads`, async () => {
      const LEASE_MS = 8_000;
      const one = await process();
      const scenes: { endsAt: number; next: { in: Promise<number> } }[] = [];
      for (const count of [1, 3, 8, 30]) {
        const endsAt = monotonicNow() + LEASE_MS;
        const scene = await held(LEASE_MS);
        await join(one, scene, count);
        await subscribed(scene.name, count);
        scenes.push({ endsAt, next: await waiter(scene) });
      }
      if (state === 'dead') await one.kill();
      else one.freeze();
      for (const { endsAt, next } of scenes) {
        const at = await within(HANG_MS, 'the live waiter gets in', next.in);
        expect(at - endsAt).to.be.within(0, bound());
      }
    });

    it(`${state} heads cost those who only ever call tryLock() 5 s at most`, async () => {
      const one = await process();
      const scenes: Scene[] = [];
      for (const count of [1, 3, 8, 30]) {
        const scene = await held(30_000);
        await join(one, scene, count);
        await subscribed(scene.name, count);
        scenes.push(scene);
      }
      if (state === 'dead') await one.kill();
      else one.freeze();
      const took = scenes.map(async (scene, i) => {
        const releasedAt = monotonicNow();
        // Once it is given back, once its holder dies.
        if (i % 2 === 0) await scene.lock.unlock(1);
        else await redis().del(scene.name);
        return (await within(HANG_MS, 'tryLock() gets in', tries(scene, 250))) - releasedAt;
      });
      for (const ms of await Promise.all(took)) expect(ms).to.be.below(bound());
    });
  }

  it('dead, frozen and live waiters in one queue: the live ones get in in their order, each within 5 s', async () => {
    const [dead, frozen] = await Promise.all([process(), process()]);
    const scene = await held(30_000);
    const live: { in: Promise<number> }[] = [];
    for (let i = 0; i < 4; i++) {
      await join(dead, scene, 1, 100 + i);
      await join(frozen, scene, 2, 200 + 2 * i);
      live.push(await waiter(scene, 10 + i));
    }
    await subscribed(scene.name, 16);
    await dead.kill();
    frozen.freeze();
    let releasedAt = monotonicNow();
    await scene.lock.unlock(1);
    for (const { in: entered } of live) {
      const at = await within(HANG_MS, 'a live waiter gets in', entered);
      expect(at).to.be.above(releasedAt);
      expect(at - releasedAt).to.be.below(bound());
      releasedAt = at;
    }
  });

  it('a head that is a second late is not passed, nor is one behind it', async () => {
    const slow = await process();
    const scene = await held(30_000);
    await join(slow, scene, 2);
    await subscribed(scene.name, 2);
    const behind = await waiter(scene, 7);
    const order = behind.in.then(() => redis().rpush(`${scene.name}:order`, 7));
    slow.freeze();
    const releasedAt = monotonicNow();
    await scene.lock.unlock(1);
    const attempts = tries(scene, 100);
    await sleep(1_000);
    slow.thaw();
    await within(HANG_MS, 'the live waiter gets in', order);
    expect(monotonicNow() - releasedAt).to.be.below(bound());
    expect(await redis().lrange(`${scene.name}:order`, 0, -1)).to.deep.equal(['100', '101', '7']);
    await attempts;
    await redis().del(`${scene.name}:order`, `${scene.name}:stays`);
  });

  it('a frozen waiter that was dropped and comes back joins the end of the queue', async () => {
    const frozen = await process();
    const scene = await held(30_000);
    await join(frozen, scene, 1);
    await subscribed(scene.name, 1);
    const next = await waiter(scene);
    frozen.freeze();
    const releasedAt = monotonicNow();
    await scene.lock.unlock(1);
    await within(HANG_MS, 'the live waiter gets in', next.in);
    expect(monotonicNow() - releasedAt).to.be.below(bound());
    await scene.lock.lock(30_000, undefined, 1);
    const first = await waiter(scene, 9);
    frozen.thaw();
    await scene.queue.untilLength(2);
    expect(await scene.queue.threads()).to.deep.equal([9, 100]);
    await scene.lock.unlock(1);
    await first.in;
    await sleepUntil(() => scene.queue.isEmpty());
    await redis().del(`${scene.name}:order`, `${scene.name}:stays`);
  });

  it('a hundred waiters send nothing while the lock is held, and a frozen head has each attempt once or twice', async () => {
    const frozen = await process();
    const scene = await held(60_000);
    await join(frozen, scene, 1);
    const many = client(redisUrl()).getFairLock(scene.name);
    const inside: number[] = [];
    const all = Array.from({ length: 100 }, async (_, i) => {
      await many.lock(-1, undefined, 1_000 + i);
      inside.push(i);
      await many.unlock(1_000 + i);
    });
    await scene.queue.untilLength(101);
    await subscribed(scene.name, 101);
    // They listen to the head's channel as well: it has a thread id that one of Java may have.
    const [head] = await scene.queue.owners();
    const channel = `redisson_lock__channel:{${scene.name}}:${head}`;
    await sleepUntil(async () => (await redis().pubsub('NUMSUB', channel))[1] === 2, { message: 'listening' });
    await sleep(300);
    const watch = trackClient(await monitor(redisUrl()));
    await sleep(1_000);
    expect(await watch.sentNames()).to.deep.equal([]);
    frozen.freeze();
    await scene.lock.unlock(1);
    await within(HANG_MS, 'all get in', Promise.all(all));
    expect(inside).to.deep.equal(Array.from({ length: 100 }, (_, i) => i));
    const scripts = (await watch.sent()).filter((command) => command.name.startsWith('eval'));
    // An attempt and an unlock each, the answers to the call, and some looks.
    expect(scripts.length).to.be.below(100 * 3 + 30);
  });
});
