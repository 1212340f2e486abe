import { expect } from 'chai';
import type { LockHold } from '../../lib';
import { monotonicNow, RedisServer, sleep, TcpProxy, trackClient, uniqueName } from '../support';
import { client, connection, gone, listening, LONG_LEASE_MS, openScene, type Scene, SOON_MS, within } from './scene';

const LEASE = { leaseTime: LONG_LEASE_MS };

describe('a waiter', () => {
  let scene: Scene;
  let name: string;
  let held: LockHold;

  /** Somebody past the proxy holds the lock, for longer than any test waits. */
  beforeEach(async () => {
    scene = await openScene();
    name = uniqueName();
    held = await client(scene.url).getLock(name).acquire(LEASE);
  });

  function start(): Promise<LockHold> {
    return client(scene.proxy.url).getLock(name).acquire(LEASE);
  }

  async function getsIn(waiting: Promise<LockHold>): Promise<void> {
    const hold = await within(SOON_MS, 'the waiter gets in', waiting);
    await hold.unlock();
    await gone(scene.direct, name);
  }

  it('whose subscriber is killed subscribes again and is woken', async () => {
    const waiting = start();
    await listening(scene.direct, name);
    await scene.direct.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await listening(scene.direct, name);
    await held.unlock();
    await getsIn(waiting);
  });

  it('gets in when the unlock fell into the gap in which nobody listened', async () => {
    const waiting = start();
    await listening(scene.direct, name);
    scene.proxy.refuse();
    await scene.direct.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await held.unlock();
    await scene.proxy.accept();
    await getsIn(waiting);
  });

  it('gets in when the message was lost and then the connection', async () => {
    const waiting = start();
    await listening(scene.direct, name);
    scene.proxy.blackhole('down');
    await held.unlock();
    await sleep(50);
    scene.proxy.cut();
    await scene.proxy.pass();
    await getsIn(waiting);
  });

  it('gets in when every connection broke and the unlock came before they were back', async () => {
    const waiting = start();
    await listening(scene.direct, name);
    scene.proxy.refuse();
    scene.proxy.cut();
    await held.unlock();
    await sleep(100);
    await scene.proxy.accept();
    await getsIn(waiting);
  });

  it('finds a dead subscriber out by itself when its own commands go unanswered', async () => {
    const redisson = client(scene.proxy.url, { timeout: 300 });
    const waiting = redisson.getLock(name).acquire(LEASE);
    await listening(scene.direct, name);
    scene.proxy.blackhole();
    await held.unlock();
    // Some other command of the same process meets the silence.
    const silent = redisson
      .getLock(uniqueName())
      .isLocked()
      .catch(() => undefined);
    await sleep(700);
    await scene.proxy.pass();
    await getsIn(waiting);
    await silent;
  });

  it('that subscribes over a slow line misses no unlock', async () => {
    scene.proxy.delay(150);
    const waiting = start();
    await sleep(100);
    await held.unlock();
    await getsIn(waiting);
  });

  it('keeps its place when another one of the process is aborted, times out, or fails', async () => {
    const redisson = client(scene.proxy.url);
    const lock = redisson.getLock(name);
    const controller = new AbortController();
    const aborted = lock.acquire({ ...LEASE, signal: controller.signal }).catch((error: unknown) => error);
    const timedOut = lock.tryAcquireHold({ ...LEASE, waitTime: 100 });
    const waiting = lock.acquire(LEASE);
    const behind = lock.acquire(LEASE);
    await listening(scene.direct, name);
    controller.abort('enough');
    expect(await aborted).to.equal('enough');
    expect(await timedOut).to.equal(null);
    expect(await Promise.race([waiting, behind, sleep(50)])).to.equal(undefined);
    await held.unlock();
    const first = await within(SOON_MS, 'the waiter gets in', waiting);
    await first.unlock();
    await getsIn(behind);
  });

  it('of many in one process is told at once when Redis cannot be reached, as all of them are', async () => {
    const redisson = client(scene.proxy.url, { timeout: 300, retryAttempts: 0 });
    const waiting = Array.from({ length: 20 }, () =>
      redisson
        .getLock(name)
        .acquire(LEASE)
        .then(
          () => 'in',
          (error: { code?: string }) => error.code,
        ),
    );
    await listening(scene.direct, name);
    scene.proxy.refuse();
    scene.proxy.cut();
    const outcomes = await within(SOON_MS, 'all are told', Promise.all(waiting));
    expect(new Set(outcomes)).to.deep.equal(new Set(['CONNECTION']));
    await scene.proxy.accept();
    await held.unlock();
  });
});

describe('a waiter, when the server', () => {
  let server: RedisServer;
  let name: string;

  beforeEach(async () => {
    server = trackClient(await RedisServer.start());
    name = uniqueName();
  });

  it('is restarted without its data, gets in as soon as it is back', async () => {
    const direct = connection(server.url);
    await client(server.url).getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    const waiting = client(server.url).getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    await listening(direct, name);
    await server.restart();
    const hold = await within(SOON_MS, 'the waiter gets in', waiting);
    await hold.unlock();
    await gone(direct, name);
  });

  it('is away for a while, waits on and is woken afterwards', async () => {
    const proxy = trackClient(await TcpProxy.start(server.url));
    const direct = connection(server.url);
    const held = await client(server.url).getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    const waiting = client(proxy.url).getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    await listening(direct, name);
    proxy.refuse();
    proxy.cut();
    await sleep(1_500);
    await proxy.accept();
    await listening(direct, name);
    expect(await Promise.race([waiting, sleep(50)])).to.equal(undefined);
    await held.unlock();
    await (await within(SOON_MS, 'the waiter gets in', waiting)).unlock();
  });

  describe('hangs', () => {
    /** The bound of tryLock. */
    const WAIT_MS = 400;
    /** Generous for a machine that stands still for a while, and far less than what would end the wait otherwise. */
    const BOUND_MS = 5_000;
    const SETTINGS = { timeout: 20_000 };

    it('gets its answer in time from a first attempt that hangs', async () => {
      const lock = client(server.url, SETTINGS).getLock(name);
      await lock.isLocked();
      server.pause();
      const startedAt = monotonicNow();
      expect(await lock.tryLock(WAIT_MS, LONG_LEASE_MS)).to.be.false;
      expect(monotonicNow() - startedAt).to.be.within(WAIT_MS - 1, BOUND_MS);
      server.resume();
    });

    it('gets its answer in time from its sleep, and so does everybody behind it', async () => {
      const redisson = client(server.url, SETTINGS);
      await client(server.url).getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
      await redisson.getLock(name).isLocked();
      const startedAt = monotonicNow();
      const waiting = Array.from({ length: 5 }, () => redisson.getLock(name).tryAcquireHold({ waitTime: WAIT_MS }));
      await listening(connection(server.url), name);
      server.pause();
      expect(await Promise.all(waiting)).to.deep.equal([null, null, null, null, null]);
      expect(monotonicNow() - startedAt).to.be.within(WAIT_MS - 1, BOUND_MS);
      server.resume();
    });

    for (const how of ['its time is up', 'it is aborted']) {
      it(`gets its answer in time from a multi-lock that has some of its locks, when ${how}`, async () => {
        const members = [0, 1].map((i) => `${name}:${i}`);
        const redisson = client(server.url, SETTINGS);
        await client(server.url).getLock(members[1]!).acquire({ leaseTime: LONG_LEASE_MS });
        const lock = redisson.getMultiLock(...members.map((member) => redisson.getLock(member)));
        const stop = new AbortController();
        const startedAt = monotonicNow();
        const timed = how === 'its time is up';
        const waiting = timed
          ? lock.tryLock(2 * WAIT_MS, LONG_LEASE_MS)
          : lock.lock(LONG_LEASE_MS, undefined, { signal: stop.signal }).catch((reason: unknown) => reason);
        const direct = connection(server.url);
        await listening(direct, members[1]!);
        expect(await direct.exists(members[0]!)).to.equal(1);
        server.pause();
        if (!timed) stop.abort('enough');
        expect(await waiting).to.equal(timed ? false : 'enough');
        expect(monotonicNow() - startedAt).to.be.within(timed ? 2 * WAIT_MS - 1 : 0, BOUND_MS);
        server.resume();
        await gone(direct, members[0]!);
      });
    }

    it('gets its answer in time while it cannot subscribe', async () => {
      const proxy = trackClient(await TcpProxy.start(server.url));
      const lock = client(proxy.url, SETTINGS).getLock(name);
      await client(server.url).getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
      await lock.isLocked();
      const lost = proxy.swallowNextReply({ command: 'subscribe', then: 'hang' });
      const startedAt = monotonicNow();
      expect(await lock.tryLock(WAIT_MS)).to.be.false;
      expect(monotonicNow() - startedAt).to.be.within(WAIT_MS - 1, BOUND_MS);
      await lost;
    });
  });
});
