import { expect } from 'chai';
import type { Redis } from 'ioredis';
import * as sinon from 'sinon';
import * as path from 'node:path';
import type { Worker } from 'node:worker_threads';
import type { LogLine, Redisson, RedissonOptions } from '../../lib';
import { bundleProgram } from '../../tools/threadFile';
import * as workerFile from '../../lib/watchdogThread/workerFile';
import { prepareThread, sendLater, stall, threadConnection, threadReady } from '../redis/locks/threadSupport';
import { monitor, redisUrl, RedisServer, sleep, sleepUntil, TcpProxy, trackClient, uniqueName } from '../support';
import { Child } from './childProcess';
import { client, connection } from './scene';

const WATCHDOG_MS = 1_500;
const STALL_MS = 2.5 * WATCHDOG_MS;

describe('the watchdog thread under faults', function () {
  this.timeout(60_000);
  let server: RedisServer;
  let redis: Redis;
  let holder: string;

  before(async () => {
    prepareThread();
    holder = bundleProgram(path.join(__dirname, 'threadHolder.ts'));
    server = trackClient(await RedisServer.start());
  });

  beforeEach(async () => {
    redis = connection(server.url);
    await redis.flushall();
  });

  function open(options: RedissonOptions = {}): Redisson {
    return client(server.url, { lockWatchdogTimeout: WATCHDOG_MS, watchdogThread: true, ...options });
  }

  /** A logger that keeps the warnings. */
  function warnings(): { told: string[]; logger: NonNullable<RedissonOptions['logger']> } {
    const told: string[] = [];
    const none: LogLine = () => undefined;
    return { told, logger: { debug: none, info: none, error: none, warn: (_, message) => told.push(message) } };
  }

  /** Starts what `start` starts, and returns the thread. */
  async function workerOf(start: () => Promise<unknown>): Promise<Worker> {
    const started = new Promise<Worker>((resolve) => process.once('worker', resolve));
    await start();
    return started;
  }

  it('keeps the locks of a blocked event loop when its connection is cut and all scripts are forgotten', async () => {
    const redisson = open();
    const holds = await Promise.all(Array.from({ length: 20 }, (_, i) => redisson.getLock(`lock-${i}`).acquire()));
    const id = await threadReady(redis, redisson);
    await sendLater(server.url, WATCHDOG_MS / 2, [
      ['SCRIPT', 'FLUSH'],
      ['CLIENT', 'KILL', 'ID', id],
    ]);

    stall(STALL_MS);

    expect(holds.filter(({ isHeld }) => !isHeld)).to.deep.equal([]);
    for (const hold of holds) await hold.unlock();
    expect(await redis.dbsize()).to.equal(0);
  });

  it('tells of a lock that was deleted while the event loop was blocked, and of no other', async () => {
    const redisson = open();
    const told: string[] = [];
    redisson.onLockLost(({ name, cause }) => told.push(`${name}: ${cause.why}`));
    const holds = await Promise.all(['a', 'b'].map((name) => redisson.getLock(name).acquire()));
    await threadReady(redis, redisson);
    await sendLater(server.url, WATCHDOG_MS / 4, [['DEL', 'a']]);

    stall(STALL_MS);

    expect(holds.map(({ isHeld }) => isHeld)).to.deep.equal([false, true]);
    await sleepUntil(() => told.length > 0);
    expect(told).to.deep.equal(['a: the renewal found it gone (expired, deleted, or Redis lost it)']);
    await holds[1]!.unlock();
  });

  it('a thread that crashes, and one that cannot start, are told of once, and the main thread renews the locks', async () => {
    const [crashed, unstartable] = [warnings(), warnings()];
    const one = open({ logger: crashed.logger });
    const two = open({ logger: unstartable.logger });
    const worker = await workerOf(() => one.getLock('one').lock());
    await threadReady(redis, one);
    const stub = sinon.stub(workerFile, 'workerFile').returns('/nowhere/thread.js');
    await two.getLock('two').lock();
    stub.restore();
    await worker.terminate();
    await sleep(2 * WATCHDOG_MS);
    expect(await redis.exists('one', 'two')).to.equal(2);
    expect(crashed.told).to.have.length(1);
    expect(unstartable.told).to.have.length(1);
    for (const text of [crashed.told[0], unstartable.told[0]]) expect(text).to.contain('watchdog thread');
    await one.getLock('one').forceUnlock();
    await two.getLock('two').forceUnlock();
    expect(await threadConnection(redis, one)).to.equal(undefined);
  });

  it('after a crash the next hold starts another thread, which takes over the older holds; the third one waits', async () => {
    const { told, logger } = warnings();
    const redisson = open({ logger });
    const older = redisson.getLock('older').acquire();
    const first = await workerOf(() => older);
    const id = await threadReady(redis, redisson);
    await first.terminate();
    const holds = [await older];

    const second = await workerOf(async () => holds.push(await redisson.getLock('newer').acquire()));
    await sleepUntil(async () => ![undefined, id].includes(await threadConnection(redis, redisson)), {
      timeout: 10_000,
      message: 'another connection of a thread',
    });
    stall(STALL_MS);

    expect(holds.map(({ isHeld }) => isHeld)).to.deep.equal([true, true]);
    const exited = new Promise((resolve) => second.once('exit', resolve));
    await second.terminate();
    await exited;
    const started: Worker[] = [];
    const note = (worker: Worker): unknown => started.push(worker);
    process.on('worker', note);
    holds.push(await redisson.getLock('newest').acquire());
    await sleep(2 * WATCHDOG_MS);
    process.off('worker', note);
    expect([started.length, told.length]).to.deep.equal([0, 2]);
    expect(holds.map(({ isHeld }) => isHeld)).to.deep.equal([true, true, true]);
    for (const hold of holds) await hold.unlock();
  });

  it('a thread without a connection costs no lock: the main thread renews what the thread is late with', async () => {
    const redisson = open();
    const hold = await redisson.getLock('lock').acquire();
    await threadReady(redis, redisson);
    // Each of its connections is cut as soon as it is there.
    const until = performance.now() + 2 * WATCHDOG_MS;
    while (performance.now() < until) {
      const id = await threadConnection(redis, redisson);
      if (id !== undefined) await redis.client('KILL', 'ID', Number(id));
      await sleep(5);
    }
    expect(hold.isHeld).to.equal(true);
    await hold.unlock();
  });

  it('a server that restarts empty: the loss is told, later locks are kept', async () => {
    const own = trackClient(await RedisServer.start());
    const look = connection(own.url);
    const redisson = client(own.url, { lockWatchdogTimeout: WATCHDOG_MS, watchdogThread: true });
    const told: string[] = [];
    redisson.onLockLost(({ name }) => told.push(name));
    const lost = await redisson.getLock('lost').acquire();
    await threadReady(look, redisson);
    await own.restart();
    await sleepUntil(() => told.length > 0, { timeout: 10_000 });
    expect(told).to.deep.equal(['lost']);
    const hold = await redisson.getLock('later').acquire();
    await threadReady(look, redisson);
    stall(STALL_MS);
    expect(hold.isHeld).to.equal(true);
    await hold.unlock();
    await lost.unlock().catch(() => undefined);
  });

  it('a process that is killed takes its locks with it', async () => {
    const direct = connection();
    const name = uniqueName();
    const child = trackClient(new Child(holder, [redisUrl(), name, String(WATCHDOG_MS)]));
    expect(await child.line(0)).to.equal('held');
    // Longer than its lease: the thread renews it.
    await sleep(1.5 * WATCHDOG_MS);
    expect(await direct.exists(name)).to.equal(1);
    child.stop();
    await sleepUntil(async () => (await direct.exists(name)) === 0, { timeout: 3 * WATCHDOG_MS });
  });

  it('no late renewal prolongs the lease that the same thread sets after an unlock', async () => {
    const proxy = trackClient(await TcpProxy.start(server.url));
    const redisson = client(proxy.url, { lockWatchdogTimeout: 3_000, watchdogThread: true });
    const lock = redisson.getLock('lock');
    const inner = redisson.getLock('inner');
    await lock.lock(-1, undefined, 1);
    const outer = await inner.acquire({ threadId: 1 });
    await threadReady(redis, redisson);
    // Its first renewal also brings the script.
    await sleep(1_300);
    await inner.lock(2_500, undefined, 1);
    const before = proxy.stats.bytesUp;
    proxy.delay(600, 'up');
    await sleepUntil(() => proxy.stats.bytesUp > before, { message: 'a renewal of the thread' });
    proxy.delay(0, 'up');

    await Promise.all([lock.unlock(1).then(() => lock.lock(2_000, undefined, 1)), outer.unlock()]);

    await sleep(1_000);
    for (const key of ['lock', 'inner']) expect(await redis.pttl(key), key).to.be.at.most(2_000);
    await Promise.all([lock, inner].map((one) => one.forceUnlock()));
  });

  /** A client whose thread has renewed `name` for thread 1 with a command that arrives only `ms` later. */
  async function lateRenewal(name: string, ms: number): Promise<Redisson> {
    const proxy = trackClient(await TcpProxy.start(server.url));
    const redisson = client(proxy.url, { lockWatchdogTimeout: 3_000, watchdogThread: true });
    await redisson.getLock(name).lock(-1, undefined, 1);
    await threadReady(redis, redisson);
    // Its first renewal also brings the script.
    await sleep(1_300);
    const before = proxy.stats.bytesUp;
    proxy.delay(ms, 'up');
    await sleepUntil(() => proxy.stats.bytesUp > before, { message: 'a renewal of the thread' });
    proxy.delay(0, 'up');
    return redisson;
  }

  it('C2: a renewal of the thread that is stuck in the network delays neither the next acquisition nor its abort', async () => {
    const redisson = await lateRenewal('lock', 2_500);
    const lock = redisson.getLock('lock');
    await lock.unlock(1);
    const from = performance.now();

    expect(await lock.tryLock(100, 2_000, undefined, 1)).to.equal(true);
    const abort = new AbortController();
    const waiting = lock.lock(2_000, undefined, { threadId: 2, signal: abort.signal }).catch((error: unknown) => error);
    abort.abort('enough');

    expect(await waiting).to.equal('enough');
    expect(performance.now() - from).to.be.lessThan(800);
    await sleep(2_700);
    expect(await redis.pttl('lock')).to.equal(-2);
  });

  it('C1: branches of one thread are never inside together, whatever the thread is renewing', async () => {
    const redisson = await lateRenewal('other', 2_500);
    const lock = redisson.getLock('lock');
    let inside = 0;
    let overlaps = 0;
    const section = async (): Promise<void> => {
      if (++inside > 1) overlaps++;
      await redis.ping();
      inside--;
    };
    await lock.withLock(() => Promise.all([lock.withLock(section, { leaseTime: 2_000 }), lock.withLock(section)]));
    await redisson.runInThread(() =>
      Promise.all(
        [2_000, -1].map(async (leaseTime) => {
          const hold = await lock.acquire({ leaseTime });
          await section();
          await hold.unlock();
        }),
      ),
    );

    expect(overlaps).to.equal(0);
    expect(await redis.exists('lock')).to.equal(0);
    await redisson.getLock('other').unlock(1);
  });

  it('5000 locks are renewed by the thread alone, in batches', async () => {
    const redisson = open({ lockWatchdogTimeout: 6_000 });
    const locks = Array.from({ length: 5_000 }, (_, i) => redisson.getLock(`lock-${i}`));
    await Promise.all(locks.map((lock) => lock.lock(-1, undefined, 1)));
    const id = await threadReady(redis, redisson);
    const address = async (one: string): Promise<string> =>
      /addr=(\S+)/.exec((await redis.client('LIST', 'ID', Number(one))) as string)![1]!;
    const thread = await address(id);
    const seen = trackClient(await monitor(server.url));
    // Longer than the lease: this thread can renew nothing.
    stall(7_000);
    const until = Date.now();
    // The first on a connection brings the script: EVAL. Reading what was seen may take a busy machine some time.
    const renewals = (await seen.sent()).filter(
      ({ name, args, at }) => name.startsWith('eval') && args.includes('6000') && at <= until,
    );
    const byThread = renewals.filter(({ source }) => source === thread);
    // 50 batches each 2 s; a busy machine may be behind by a round.
    expect(byThread.length).to.be.within(100, 210);
    // The main thread renews what the other is late with: before and after it was blocked.
    expect(renewals.length - byThread.length).to.be.lessThan(byThread.length);
    expect(await redis.dbsize()).to.equal(5_000);
    await Promise.all(locks.map((lock) => lock.unlock(1)));
    expect(await redis.dbsize()).to.equal(0);
  });

  it('costs nothing when it is off: no thread, and node:worker_threads is not loaded', async () => {
    const child = trackClient(new Child(holder, [redisUrl(), uniqueName(), '30000', 'off']));
    expect(await child.line(0)).to.equal('held');
    expect(await child.line(1)).to.equal('loaded 0');
  });
});
