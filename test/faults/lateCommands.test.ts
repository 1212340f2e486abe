import { expect } from 'chai';
import { CommandTimeoutError, type Redisson, type RLock } from '../../lib';
import { monotonicNow, RedisServer, TcpProxy, trackClient, uniqueName } from '../support';
import { client, connection, gone, listening, LONG_LEASE_MS, warmUp } from './scene';

/** A server that can be stopped in its tracks: what was sent to it meanwhile runs when nobody wants it any more. */
describe('a late command: an acquisition that runs after its caller has gone', () => {
  let server: RedisServer;
  let redisson: Redisson;
  let lock: RLock;

  beforeEach(async () => {
    server = trackClient(await RedisServer.start());
    redisson = client(server.url);
    lock = redisson.getLock(uniqueName());
    await warmUp(lock);
  });

  async function noLateHold(): Promise<void> {
    server.resume();
    const direct = connection(server.url);
    // The hold may have to appear before it can go: the undo has run when a command sent behind it is answered.
    await redisson.getLock(uniqueName()).isLocked();
    await gone(direct, lock.name);
    expect(await client(server.url).getLock(lock.name).tryLock(1_000, 1_000)).to.be.true;
  }

  it('is undone after a tryLock whose time was up', async () => {
    server.pause();
    const startedAt = monotonicNow();
    expect(await lock.tryLock(200, LONG_LEASE_MS)).to.be.false;
    expect(monotonicNow() - startedAt).to.be.lessThan(900);
    await noLateHold();
  });

  it('is undone after an abort', async () => {
    server.pause();
    const controller = new AbortController();
    const locking = lock.lock(LONG_LEASE_MS, undefined, { signal: controller.signal });
    const reason = new Error('enough');
    setTimeout(() => controller.abort(reason), 50);
    expect(await locking.catch((error: unknown) => error)).to.equal(reason);
    await noLateHold();
  });

  it('is undone after the command time-out of a single attempt', async () => {
    server.pause();
    const error = await lock.tryAcquire(LONG_LEASE_MS).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(CommandTimeoutError);
    await noLateHold();
  });

  it('is undone when the lock is still held as often as before: a re-entry that was given up', async () => {
    await lock.lock(LONG_LEASE_MS, undefined, 7);
    server.pause();
    expect(await lock.tryLock(200, LONG_LEASE_MS, undefined, 7)).to.be.false;
    server.resume();
    const direct = connection(server.url);
    await redisson.getLock(uniqueName()).isLocked();
    expect(Object.values(await direct.hgetall(lock.name))).to.deep.equal(['1']);
    await lock.unlock(7);
    expect(await direct.exists(lock.name)).to.equal(0);
  });

  it('is undone when its connection broke while it lay in the server', async () => {
    const proxy = trackClient(await TcpProxy.start(server.url));
    redisson = client(proxy.url);
    lock = redisson.getLock(lock.name);
    await warmUp(lock);
    server.pause();
    expect(await lock.tryLock(200, LONG_LEASE_MS)).to.be.false;
    proxy.cut();
    await noLateHold();
  });

  it('takes nothing from a thread that has taken the lock again since', async () => {
    server.pause();
    expect(await lock.tryLock(200, LONG_LEASE_MS, undefined, 7)).to.be.false;
    const again = lock.lock(LONG_LEASE_MS, undefined, 7);
    server.resume();
    await again;
    const direct = connection(server.url);
    await redisson.getLock(uniqueName()).isLocked();
    expect(Object.values(await direct.hgetall(lock.name))).to.deep.equal(['1']);
    await lock.unlock(7);
    expect(await direct.exists(lock.name)).to.equal(0);
  });

  it('that sits behind a slow network is undone as well', async () => {
    const proxy = trackClient(await TcpProxy.start(server.url));
    redisson = client(proxy.url);
    lock = redisson.getLock(lock.name);
    await warmUp(lock);
    proxy.delay(600, 'up');
    expect(await lock.tryLock(100, LONG_LEASE_MS)).to.be.false;
    await proxy.pass();
    await noLateHold();
  });

  it('is undone when a predecessor hands it the lock by a command that is sent again, after it has gone', async () => {
    const direct = connection(server.url);
    const held = await client(server.url).getLock(lock.name).acquire();
    const stop = new AbortController();
    const first = redisson.getLock(lock.name).acquire({ leaseTime: LONG_LEASE_MS });
    await listening(direct, lock.name);
    const second = lock.acquire({ leaseTime: LONG_LEASE_MS, signal: stop.signal });
    // The hand-over meets a server that does not know its script.
    await direct.script('FLUSH');
    await held.unlock();
    const unlocking = (await first).unlock();
    stop.abort(new Error('enough'));
    expect(await second.catch((error: Error) => error.message)).to.equal('enough');
    await unlocking;
    await noLateHold();
  });

  it('of a waiter in a queue of Redis leaves no place in that queue', async () => {
    const fair = client(server.url).getFairLock(lock.name);
    const holder = client(server.url);
    const held = await holder.getLock(lock.name).acquire();
    server.pause();
    expect(await fair.tryLock(200, LONG_LEASE_MS)).to.be.false;
    server.resume();
    const direct = connection(server.url);
    await gone(direct, `redisson_lock_queue:{${lock.name}}`, `redisson_lock_timeout:{${lock.name}}`);
    await held.unlock();
    expect(await direct.exists(lock.name)).to.equal(0);
  });
});
