// Ids in titles: test/README.md
import { expect } from 'chai';
import type { RLock } from '../../../lib';
import { client, connection, listening, within } from '../../faults/scene';
import { monitor, monotonicNow, RedisServer, redisUrl, sleep, sleepUntil, trackClient } from '../../support';
import { type FairScene, openFairScene } from './fairQueue';
import { JavaFairLock } from './JavaFairLock';

/** What is promised: a live waiter is in so long after the lock has become free. */
const BOUND_MS = 5_000;
/** So long everything may take before a test says that it hangs: the lease that a waiter saw is longer. */
const HANG_MS = 20_000;
/** Nobody who waits for the end of this lease gets in in time. */
const LEASE_MS = 60_000;

// Redisson's unlock tells the head of the queue, on the head's own channel, and nobody else.
describe('A2: an unlock by Java, and a head that does not come', function () {
  this.timeout(2 * HANG_MS);
  let scene: FairScene;
  let java: JavaFairLock;

  beforeEach(async () => {
    scene = openFairScene();
    java = new JavaFairLock(scene.redis, scene.name);
    expect(await java.acquire(1, LEASE_MS)).to.equal(true);
    const keys = [scene.name, `redisson_lock_queue:{${scene.name}}`, `redisson_lock_timeout:{${scene.name}}`];
    trackClient({ close: () => scene.redis.del(...keys) });
  });

  const channelOf = (owner: string, name = scene.name): string => `redisson_lock__channel:{${name}}:${owner}`;

  /** How many listen to the channel of each of these threads of Java. */
  async function listeners(...threads: number[]): Promise<number[]> {
    const channels = threads.map((thread) => channelOf(`${java.clientId}:${thread}`));
    const counts = (await scene.redis.pubsub('NUMSUB', ...channels)) as (string | number)[];
    return counts.filter((_, i) => i % 2 === 1).map(Number);
  }

  async function heard(count: number, ...threads: number[]): Promise<void> {
    await sleepUntil(async () => (await listeners(...threads)).every((listening) => listening === count), {
      message: `${count} listen to ${threads.join(', ')}`,
    });
  }

  /** Joins the queue. */
  async function waits(lock: RLock, threadId = 7, insideMs = 0): Promise<{ in: Promise<number> }> {
    const length = (await scene.queue.owners()).length;
    const entered = lock.lock(-1, undefined, threadId).then(async () => {
      const at = monotonicNow();
      if (insideMs > 0) await sleep(insideMs);
      await lock.unlock(threadId);
      return at;
    });
    entered.catch(() => undefined);
    await scene.queue.untilLength(length + 1);
    return { in: entered };
  }

  async function dead(...threads: number[]): Promise<void> {
    for (const thread of threads) expect(await java.acquire(thread)).to.equal(false);
  }

  async function getsInOnTime(waiter: { in: Promise<number> }, freeAt: number): Promise<void> {
    const at = await within(HANG_MS, 'the live waiter gets in', waiter.in);
    expect(at - freeAt).to.be.within(0, BOUND_MS);
  }

  it('1, 3 and 30 dead heads, and frozen ones, cost a live waiter 5 s at most, reentrant or not', async () => {
    const frozen = connection();
    const cases = [1, 3, 30].flatMap((count) => [true, false].map((reentrant) => ({ count, reentrant })));
    const took = cases.map(async ({ count, reentrant }) => {
      const one = openFairScene();
      const jvm = new JavaFairLock(one.redis, one.name);
      expect(await jvm.acquire(1, LEASE_MS)).to.equal(true);
      for (let thread = 100; thread < 100 + count; thread++) {
        await jvm.acquire(thread);
        // Redis counts it as told.
        if (reentrant) await frozen.subscribe(channelOf(`${jvm.clientId}:${thread}`, one.name));
      }
      const lock = reentrant ? one.one.getFairLock(one.name) : one.one.getNonReentrantFairLock(one.name);
      const entered = lock.acquire();
      await listening(one.redis, one.name, count + (reentrant ? count : 0) + 1);
      const freeAt = monotonicNow();
      await jvm.unlock(1);
      const hold = await within(HANG_MS, 'the live waiter gets in', entered);
      const ms = monotonicNow() - freeAt;
      await hold.unlock();
      return ms;
    });
    for (const [i, ms] of (await Promise.all(took)).entries())
      expect(ms, JSON.stringify(cases[i])).to.be.below(BOUND_MS);
    await frozen.unsubscribe();
  });

  it('the unlock comes before anybody listens', async () => {
    await dead(100);
    const waiter = await waits(scene.one.getFairLock(scene.name));
    const freeAt = monotonicNow();
    await java.unlock(1);
    await getsInOnTime(waiter, freeAt);
  });

  it('heads that leave without a word, or are dropped for their age, before the unlock tells a dead one', async () => {
    await dead(100, 101, 102);
    // In the order of the queue, but with a wait that is over at once.
    expect(await java.acquire(103, LEASE_MS, 1)).to.equal(false);
    await dead(104);
    const waiter = await waits(scene.one.getFairLock(scene.name));
    await heard(1, 100, 101, 102, 103, 104);
    await java.leave(100);
    await java.leave(101);
    for (const thread of [102, 103]) {
      await scene.redis.zadd(`redisson_lock_timeout:{${scene.name}}`, Date.now() - 1, `${java.clientId}:${thread}`);
    }
    const freeAt = monotonicNow();
    await java.unlock(1);
    expect(await scene.queue.threads()).to.deep.equal([104, 7]);
    await getsInOnTime(waiter, freeAt);
  });

  it('the lease of one of Java, shorter than the one that the head has seen, ends without an unlock', async () => {
    await dead(100);
    const waiter = await waits(scene.one.getFairLock(scene.name));
    await heard(1, 100);
    await java.unlock(1);
    const freeAt = monotonicNow() + 1_500;
    expect(await java.acquire(100, 1_500)).to.equal(true);
    await getsInOnTime(waiter, freeAt);
  });

  it('the same, and the next head is of Java, which sleeps as long as it was told before', async () => {
    await dead(100, 101);
    const waiter = await waits(scene.one.getFairLock(scene.name));
    await heard(1, 100, 101);
    await java.unlock(1);
    const freeAt = monotonicNow() + 1_500;
    expect(await java.acquire(100, 1_500)).to.equal(true);
    await getsInOnTime(waiter, freeAt);
  });

  it('one of Java that loses the time which a waiter before it kept for others is woken, since it sleeps longer', async () => {
    const ear = connection();
    const heardBy201: string[] = [];
    ear.on('message', (channel: string, message: string) => {
      if (channel.endsWith(':201')) heardBy201.push(message);
    });
    // The next one hears of the unlock, so that nobody behind it is notified of that.
    await ear.subscribe(...[200, 201].map((thread) => channelOf(`${java.clientId}:${thread}`)));
    for (const thread of [100, 101]) await java.acquire(thread, LEASE_MS, 5_000);
    const waiter = await waits(scene.one.getFairLock(scene.name), 7, 500);
    for (const thread of [200, 201]) await java.acquire(thread, LEASE_MS, 5_000);
    expect(await scene.queue.deadlineOf(201)).to.be.above(600_000);
    await java.leave(100, 5_000);
    await java.leave(101, 5_000);
    expect(heardBy201).to.deep.equal([]);
    await java.unlock(1);
    await within(HANG_MS, 'ours gets in', waiter.in);
    expect(await scene.queue.deadlineOf(201)).to.be.below(200_000);
    expect(heardBy201).to.deep.equal(['0']);
    for (const thread of [200, 201]) await java.leave(thread, 5_000);
    await ear.unsubscribe();
  });

  it('live and dead ones of Java between two waiters of one process', async () => {
    const lock = scene.one.getFairLock(scene.name);
    const first = await waits(lock, 7, 1_000);
    await dead(100, 101);
    const second = await waits(lock, 8);
    await listening(scene.redis, scene.name, 2);
    await java.unlock(1);
    await within(BOUND_MS, 'the first gets in', first.in);
    // The live one takes its turn when it is told, as one of Java does.
    await sleepUntil(() => java.acquire(100, LEASE_MS), { message: 'Java is in' });
    await heard(1, 101);
    const freeAt = monotonicNow();
    await java.unlock(100);
    await getsInOnTime(second, freeAt);
  });

  it('the connection that listens is lost, and the unlock comes meanwhile', async () => {
    await dead(100, 101);
    const waiter = await waits(scene.one.getFairLock(scene.name));
    await heard(1, 100, 101);
    await scene.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const freeAt = monotonicNow();
    await java.unlock(1);
    await getsInOnTime(waiter, freeAt);
  });

  it('the server refuses to look after the queue for a while', async () => {
    const server = trackClient(await RedisServer.start());
    const direct = connection(server.url);
    const jvm = new JavaFairLock(direct, scene.name);
    expect(await jvm.acquire(1, LEASE_MS)).to.equal(true);
    for (const thread of [100, 101]) expect(await jvm.acquire(thread)).to.equal(false);
    await direct.call('ACL', 'SETUSER', 'ours', 'on', 'nopass', 'allkeys', 'allchannels', '+@all');
    const lock = client(server.url.replace('://', '://ours:any@')).getFairLock(scene.name);
    const entered = lock.lock().then(() => monotonicNow());
    entered.catch(() => undefined);
    await listening(direct, scene.name, 3);
    // A check that has to write is refused, and the waiter, which sleeps, is told nothing.
    await direct.call('ACL', 'SETUSER', 'ours', '-hset');
    await direct.config('RESETSTAT');
    await jvm.unlock(1);
    await sleepUntil(async () => /errorstat_(ERR|NOPERM)/.test(await direct.info('errorstats')), {
      message: 'a refusal',
    });
    await direct.call('ACL', 'SETUSER', 'ours', '+hset');
    const freeAt = monotonicNow();
    expect((await within(HANG_MS, 'the live waiter gets in', entered)) - freeAt).to.be.within(0, BOUND_MS);
    await lock.unlock();
  });

  it('a live waiter of another process is the one that gets in, in the order of the queue', async () => {
    await dead(100);
    const other = client(redisUrl());
    const first = await waits(other.getFairLock(scene.name), 7, 200);
    const second = await waits(scene.one.getFairLock(scene.name), 8);
    await heard(2, 100);
    const freeAt = monotonicNow();
    await java.unlock(1);
    await getsInOnTime(first, freeAt);
    expect(await second.in).to.be.above(await first.in);
  });

  it('a hundred waiters of one process listen once to each channel before them, and send nothing', async () => {
    await dead(100, 101);
    const lock = scene.one.getFairLock(scene.name);
    const stop = new AbortController();
    const all = Array.from({ length: 100 }, (_, i) =>
      lock.lock(-1, undefined, { threadId: 1_000 + i, signal: stop.signal }),
    );
    const ended = Promise.allSettled(all);
    await scene.queue.untilLength(102);
    await heard(1, 100, 101);
    await listening(scene.redis, scene.name, 102);
    await sleep(500);
    const watch = trackClient(await monitor(redisUrl()));
    await sleep(700);
    expect(await watch.sentNames()).to.deep.equal([]);
    stop.abort(new Error('stop'));
    await ended;
    await heard(0, 100, 101);
  });

  it('where nobody but this package waits, nobody listens to others, and nobody looks', async () => {
    await java.unlock(1);
    const [holder, other] = [client(redisUrl()).getFairLock(scene.name), client(redisUrl()).getFairLock(scene.name)];
    const hold = await holder.acquire();
    const first = other.acquire();
    await scene.queue.untilLength(1);
    const second = scene.one.getFairLock(scene.name).acquire();
    await scene.queue.untilLength(2);
    await listening(scene.redis, scene.name, 2);
    // Both attempt once more when they listen.
    await sleep(100);
    const watch = trackClient(await monitor(redisUrl()));
    await sleep(700);
    expect(await watch.sentNames()).to.deep.equal([]);
    const channels = (await scene.redis.pubsub('CHANNELS', `*${scene.name}*`)) as string[];
    const counts = (await scene.redis.pubsub('NUMSUB', ...channels)) as (string | number)[];
    expect(counts.filter((_, i) => i % 2 === 1).map(Number)).to.deep.equal([1, 1]);
    await hold.unlock();
    await (await first).unlock();
    await (await second).unlock();
  });
});
