// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { Redisson } from '../../../lib';
import { client, connection, openScene, within } from '../../faults/scene';
import { monitor, monotonicNow, redisUrl, RedisServer, sleep, sleepUntil, trackClient } from '../../support';
import { rejection } from '../synchronizers/support';
import { FairQueue, openFairScene } from './fairQueue';

describe('fair lock: waiters that go, and waiters that stay', () => {
  let name: string;
  let redis: Redis;
  let queue: FairQueue;
  let one: Redisson;

  beforeEach(() => {
    ({ name, redis, queue, one } = openFairScene());
  });

  afterEach(() =>
    redis.del(
      name,
      `redisson_lock_queue:{${name}}`,
      `redisson_lock_timeout:{${name}}`,
      `redisson_lock_claim:{${name}}`,
    ),
  );

  it('G-01: a waiter whose time is up takes exactly its own wait off those behind it', async () => {
    const lock = one.getFairLock(name);
    await lock.lock(-1, undefined, 1);
    const first = lock.tryLock(400, -1, undefined, 2);
    await queue.untilLength(1);
    const second = lock.tryLock(20_000, -1, undefined, 3);
    await queue.untilLength(2);
    const before = await queue.deadlineOf(3);
    const lookedAt = monotonicNow();
    expect(await first).to.equal(false);
    await queue.untilLength(1);
    expect(await queue.threads()).to.deep.equal([3]);
    const passed = monotonicNow() - lookedAt;
    expect(await queue.deadlineOf(3)).to.be.closeTo(before - 400 - passed, 100);
    await lock.unlock(1);
    expect(await within(2_000, 'the second enters', second)).to.equal(true);
    await lock.unlock(3);
  });

  it('an aborted waiter leaves the queue, and so does one whose attempt is under way', async () => {
    const lock = one.getFairLock(name);
    await lock.lock(-1, undefined, 1);
    const asleep = new AbortController();
    const attempting = new AbortController();
    const first = rejection(lock.tryLock(60_000, -1, undefined, { threadId: 2, signal: asleep.signal }));
    await queue.untilLength(1);
    const second = lock.lock(-1, undefined, 3);
    await queue.untilLength(2);
    const before = await queue.deadlineOf(3);
    const third = rejection(lock.lock(-1, undefined, { threadId: 4, signal: attempting.signal }));
    attempting.abort(new Error('enough'));
    asleep.abort(new Error('stop'));
    expect((await first).message).to.equal('stop');
    expect((await third).message).to.equal('enough');
    await queue.untilLength(1);
    expect(await queue.threads()).to.deep.equal([3]);
    expect(await queue.deadlineOf(3)).to.be.closeTo(before - 60_000, 1_000);
    await lock.unlock(1);
    await within(2_000, 'the second enters', second);
    await lock.unlock(3);
    expect(await queue.isEmpty()).to.equal(true);
  });

  it('a client that is shut down takes its waiters along', async () => {
    const other = client(redisUrl());
    const lock = one.getFairLock(name);
    await lock.lock(-1, undefined, 1);
    const gone = rejection(other.getFairLock(name).lock(-1, undefined, 2));
    await queue.untilLength(1);
    const next = lock.lock(-1, undefined, 3);
    await queue.untilLength(2);
    await other.shutdown();
    expect(await gone).to.have.property('code', 'SHUTDOWN');
    await queue.untilLength(1);
    await lock.unlock(1);
    await within(1_000, 'the next one enters', next);
    await lock.unlock(3);
  });

  it('a shutdown takes back an attempt that is on the wire, and refuses everybody from then on', async () => {
    const { proxy } = await openScene();
    const far = client(proxy.url);
    for (const lock of [far.getFairLock(name), far.getLock(`${name}:plain`)]) {
      await lock.lock();
      await lock.unlock();
    }
    proxy.delay(150, 'down');
    const underWay = [
      rejection(far.getFairLock(name).lock(-1, undefined, 1)),
      rejection(far.getFairLock(name).lock(-1, undefined, 2)),
      rejection(far.getLock(`${name}:plain`).tryLock({ threadId: 1 })),
    ];
    await sleepUntil(async () => (await redis.exists(name, `${name}:plain`)) === 2);
    const closing = far.shutdown();
    const late = rejection(far.getLock(`${name}:late`).tryLock());
    for (const error of await Promise.all([...underWay, late])) expect(error).to.have.property('code', 'SHUTDOWN');
    await closing;
    await sleepUntil(async () => (await redis.exists(name, `${name}:plain`)) === 0);
    expect(await queue.isEmpty()).to.equal(true);
    expect(await redis.exists(`${name}:late`)).to.equal(0);
  });

  it('who leaves when it is its turn passes the turn on', async () => {
    const other = client(redisUrl());
    const lock = one.getFairLock(name);
    await lock.lock(-1, undefined, 1);
    const stop = new AbortController();
    const first = lock.lock(-1, undefined, { threadId: 2, signal: stop.signal }).catch(() => undefined);
    await queue.untilLength(1);
    const second = other.getFairLock(name).lock(-1, undefined, 3);
    await queue.untilLength(2);
    // The message of the unlock and the abort meet.
    const unlocking = lock.unlock(1);
    await sleep(0);
    stop.abort(new Error('stop'));
    await unlocking;
    await first;
    if (await lock.isHeldByThread(2)) await lock.unlock(2);
    await within(1_500, 'the second enters', second);
    await other.getFairLock(name).unlock(3);
  });

  it('a head that leaves has the next one attempt: the lease may end earlier than that one knows', async () => {
    const gone = client(redisUrl());
    const hold = await gone.getFairLock(name).acquire({ leaseTime: 60_000 });
    // Thread ids that Java has not: nobody listens for others.
    const first = rejection(gone.getFairLock(name).acquire());
    await queue.untilLength(1);
    const second = one.getFairLock(name).acquire();
    await queue.untilLength(2);
    const listening = (): Promise<unknown> => redis.pubsub('CHANNELS', `redisson_lock__channel:{${name}}:*`);
    await sleepUntil(async () => ((await listening()) as string[]).length === 2);
    // The head hears of it, nobody else. The ticket is not attached, and this client looks after nothing any more.
    await hold.detach({ leaseTime: 1_500 });
    await sleep(300);
    await gone.shutdown();
    expect(await first).to.have.property('code', 'SHUTDOWN');
    await (await within(4_000, 'the second enters when the lease ends', second)).unlock();
  });

  it('a killed waiter costs the others its own wait at most, and nobody asks in a hot loop', async () => {
    const lock = one.getFairLock(name);
    await lock.lock(-1, undefined, 1);
    await queue.addDead('dead:1', 600);
    const next = lock.lock(-1, undefined, 2);
    await queue.untilLength(2);
    const watch = trackClient(await monitor(redisUrl()));
    const releasedAt = monotonicNow();
    await lock.unlock(1);
    await within(3_000, 'the next one enters', next);
    expect(monotonicNow() - releasedAt).to.be.below(1_500);
    expect((await watch.sent()).filter(({ name: command }) => command.startsWith('eval'))).to.have.length.below(8);
    await lock.unlock(2);
  });

  it('a killed waiter with a long wait costs a free lock a few seconds, whoever asks then', async () => {
    await queue.addDead('dead:1', 300_000);
    const startedAt = monotonicNow();
    const lock = one.getFairLock(name);
    const watch = trackClient(await monitor(redisUrl()));
    expect(await lock.tryLock(8_000)).to.equal(true);
    expect(monotonicNow() - startedAt).to.be.within(2_500, 4_500);
    expect((await watch.sent()).filter(({ name: command }) => command.startsWith('eval'))).to.have.length.below(10);
    await lock.unlock();
    expect(await queue.isEmpty()).to.equal(true);
  });

  it('a live waiter is never dropped because it waits long, and keeps its place', async () => {
    const hasty = client(redisUrl(), { fairLockWaitTimeout: 400, lockWatchdogTimeout: 600 });
    const lock = hasty.getFairLock(name);
    await lock.lock(-1, undefined, 1);
    const entered: number[] = [];
    const waiting = [2, 3, 4].map(async (threadId, i) => {
      await sleep(i * 30);
      await lock.lock(-1, undefined, threadId);
      entered.push(threadId);
      await lock.unlock(threadId);
    });
    await queue.untilLength(3);
    // Far longer than the 600 ms and three times 400 ms that were predicted.
    for (let i = 0; i < 12; i++) {
      await sleep(200);
      expect(await queue.threads()).to.deep.equal([2, 3, 4]);
      for (const left of (await queue.deadlines()).values()) expect(left).to.be.above(0);
    }
    await lock.unlock(1);
    await within(3_000, 'all enter', Promise.all(waiting));
    expect(entered).to.deep.equal([2, 3, 4]);
  });

  it('FL-03 FL-04 FL-09: waits that time out, succeed or die never push the deadlines of the others', async () => {
    const lock = one.getFairLock(name);
    const threads = [1, 2, 3];
    await Promise.all(
      threads.map(async (threadId) => {
        for (let i = 0; i < 12; i++) {
          if (!(await lock.tryLock(25, 3_000, undefined, threadId))) continue;
          await sleep(30);
          await lock.unlock(threadId);
        }
      }),
    );
    await sleepUntil(() => queue.isEmpty(), { message: 'an empty queue' });
    await lock.lock(3_000, undefined, 1);
    await queue.addDead(`dead:${2 ** 32}`, 3_000 + 500);
    const last = lock.tryLock(2_000, -1, undefined, 2);
    await queue.untilLength(2);
    // The lease, the wait of the dead one, the own wait.
    expect(await queue.deadlineOf(2)).to.be.within(5_000, 5_700);
    expect(await lock.forceUnlock()).to.equal(true);
    expect(await last).to.equal(false);
    expect(await lock.isLocked()).to.equal(false);
  });

  it('leaves the queue when Redis is back, if it was away when the waiter was aborted', async () => {
    const { proxy } = await openScene();
    const far = client(proxy.url, { timeout: 500, retryAttempts: 1 });
    const near = one.getFairLock(name);
    await near.lock(-1, undefined, 1);
    const stop = new AbortController();
    const waiting = rejection(far.getFairLock(name).lock(-1, undefined, { threadId: 2, signal: stop.signal }));
    await queue.untilLength(1);
    await sleep(50);
    proxy.refuse();
    proxy.cut();
    stop.abort(new Error('stop'));
    expect((await waiting).message).to.equal('stop');
    await sleep(2_500);
    expect(await queue.threads()).to.deep.equal([2]);
    await proxy.accept();
    await queue.untilLength(0);
    await near.unlock(1);
  });

  it('FL-28 A9: a timed waiter whose attempts time out keeps its place, and gets in once Redis answers', async () => {
    const server = trackClient(await RedisServer.start());
    const own = client(server.url, { timeout: 300, retryAttempts: 10 });
    const raw = connection(server.url);
    const own28 = new FairQueue(raw, name);
    const lock = own.getFairLock(name);
    await lock.lock(1_000, undefined, 1);
    const second = lock.lock(2_000, undefined, 2);
    await own28.untilLength(1);
    const timed = lock.tryLock(20_000, 1_000, undefined, 3);
    await own28.untilLength(2);
    await raw.client('PAUSE', 2_500, 'WRITE');
    // Longer than the lease of the first, so both ask, and are not answered in time.
    await within(8_000, 'the second enters', second);
    expect(await within(8_000, 'the timed one enters behind it', timed)).to.equal(true);
    expect(await own28.isEmpty()).to.equal(true);
  });
});
