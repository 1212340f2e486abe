import { expect } from 'chai';
import type { Worker } from 'node:worker_threads';
import { Redis } from 'ioredis';
import * as fs from 'node:fs';
import { type LockLostError, type Redisson, type RedissonOptions } from '../../../lib';
import { RedisServer, skip, sleep, sleepUntil, tlsFiles, trackClient } from '../../support';
import { EVERY_LOCK, makeLock } from '../../support/kinds';
import { bareClient, newClient, rejection } from '../synchronizers/support';
import { prepareThread, stall, threadConnection, threadReady } from './threadSupport';

/** A thread needs a moment to start; a lease that is longer than that also where the machine is loaded. */
const WATCHDOG_MS = 1_500;
const STALL_MS = 3 * WATCHDOG_MS;

describe('the watchdog thread', function () {
  this.timeout(60_000);
  let server: RedisServer;
  let redis: Redis;

  before(async () => {
    prepareThread();
    server = trackClient(await RedisServer.start());
  });

  beforeEach(async () => {
    redis = bareClient(server.url);
    await redis.flushall();
  });

  function open(options: RedissonOptions = {}): Redisson {
    return newClient({ url: server.url, lockWatchdogTimeout: WATCHDOG_MS, ...options });
  }

  function losses(client: Redisson): string[] {
    const told: string[] = [];
    client.onLockLost(({ name, cause }) => told.push(`${name}: ${cause.why}`));
    return told;
  }

  it('keeps the locks of every kind while the event loop is blocked for longer than their lease', async () => {
    const client = open({ watchdogThread: true });
    const told = losses(client);
    // A red lock needs servers of its own.
    const locks = EVERY_LOCK.filter(({ name }) => name !== 'red').map((kind) => makeLock(kind, client, kind.name));
    const holds = await Promise.all(locks.map((lock) => lock.acquire()));
    await client.getLock('javaStyle').lock();
    const pool = client.getPermitExpirableSemaphore('pool');
    await pool.trySetPermits(3);
    const permits = await pool.acquireHold({ permits: 2 });
    await threadReady(redis, client);
    const keys = (await redis.keys('*')).filter((key) => !key.startsWith('redisson_'));

    stall(STALL_MS);

    expect(holds.filter(({ isHeld }) => !isHeld)).to.deep.equal([]);
    // Nobody has it for longer than the last renewal, so none of the keys had expired in between.
    for (const key of keys.filter((one) => !one.includes('pool')))
      expect(await redis.pttl(key), key).to.be.greaterThan(0);
    await sleep(WATCHDOG_MS);
    expect(told).to.deep.equal([]);
    expect(permits.isHeld).to.equal(true);
    expect(await pool.acquiredPermits()).to.equal(2);
    await permits.release();
    await pool.delete();
    for (const hold of holds) await hold.unlock();
    await client.getLock('javaStyle').forceUnlock();
    expect((await redis.keys('*')).filter((key) => !key.startsWith('redisson_'))).to.deep.equal([]);
  });

  it('loses them after maxStall, and tells so as soon as the event loop runs again; without the thread after the lease', async () => {
    const threaded = open({ watchdogThread: { maxStall: 500 } });
    const plain = open();
    const [toldThreaded, toldPlain] = [losses(threaded), losses(plain)];
    const one = await threaded.getLock('threaded').acquire();
    const two = await plain.getLock('plain').acquire();
    await threadReady(redis, threaded);

    stall(STALL_MS);

    expect([one.isHeld, two.isHeld]).to.deep.equal([false, false]);
    expect(toldThreaded).to.have.length(1);
    expect(toldPlain).to.have.length(1);
    // C17: it says what happened.
    expect((one.signal.reason as LockLostError).why).to.match(/the event loop was blocked for longer than maxStall/);
    expect((one.signal.reason as LockLostError).cause)
      .to.be.instanceOf(Error)
      .with.property('message')
      .that.contains('maxStall (500 ms)');
    expect(await redis.keys('*')).to.deep.equal([]);
    await Promise.all([one, two].map((hold) => rejection(hold.unlock())));
    // The thread goes on.
    const again = await threaded.getLock('threaded').acquire();
    stall(WATCHDOG_MS / 4);
    await sleep(WATCHDOG_MS * 1.5);
    expect(again.isHeld).to.equal(true);
    await again.unlock();
  });

  it('is optional for each hold, starts with the first that needs it, and ends with the client', async () => {
    const started: Worker[] = [];
    const note = (worker: Worker): unknown => started.push(worker);
    process.on('worker', note);
    try {
      const client = open();
      const plain = await client.getLock('plain').acquire();
      await client.getLock('leased').acquire({ leaseTime: 10_000, watchdogThread: true });
      expect(started).to.have.length(0);
      const threaded = await client.getLock('threaded').acquire({ watchdogThread: true });
      await threadReady(redis, client);
      expect(started).to.have.length(1);

      stall(STALL_MS);

      expect([plain.isHeld, threaded.isHeld]).to.deep.equal([false, true]);
      await client.getLock('other').withLock(() => undefined, { watchdogThread: { maxStall: 1_000 } });
      expect(started).to.have.length(1);
      const ended = new Promise((resolve) => started[0]!.once('exit', resolve));
      await client.shutdown();
      await ended;
      await sleepUntil(async () => (await threadConnection(redis, client)) === undefined);
      await rejection(plain.unlock());
    } finally {
      process.off('worker', note);
    }
  });

  it('gives a hold up after maxRenewTimes renewals, whoever made them, and renews the others on', async () => {
    const client = open({ watchdogThread: true });
    const told = losses(client);
    const limited = await client.getLock('limited').acquire({ maxRenewTimes: 2 });
    const other = await client.getLock('other').acquire();
    await threadReady(redis, client);

    // Two renewals, a third of a lease apart, and the last lease.
    stall(STALL_MS);

    expect([limited.isHeld, other.isHeld]).to.deep.equal([false, true]);
    expect(await redis.exists('limited')).to.equal(0);
    expect(told).to.have.length(1);
    expect(told[0]).to.match(/^limited: .*maxRenewTimes/);
    expect((limited.signal.reason as LockLostError).cause).to.be.instanceOf(Error);
    await rejection(limited.unlock());
    await other.unlock();
  });

  it('C1: parallel branches that re-enter take turns, with a lease or without, while 1000 other locks are renewed', async () => {
    const client = open({ watchdogThread: true });
    const others = await Promise.all(Array.from({ length: 1_000 }, (_, i) => client.getLock(`other${i}`).acquire()));
    await threadReady(redis, client);
    const lock = client.getLock('lock');
    let inside = 0;
    let overlaps = 0;
    const section = async (): Promise<void> => {
      if (++inside > 1) overlaps++;
      await redis.ping();
      inside--;
    };

    for (let i = 0; i < 200; i++) {
      await lock.withLock(() => Promise.all([lock.withLock(section, { leaseTime: 5_000 }), lock.withLock(section)]));
    }

    expect(overlaps).to.equal(0);
    await Promise.all(others.map((hold) => hold.unlock()));
  });

  it('renews over TLS', async function () {
    const files = tlsFiles();
    if (files === undefined) skip(this, 'no openssl to make certificates with');
    const secure = trackClient(await RedisServer.start({ tls: files }));
    const client = open({ url: secure.url, sslTruststore: files.ca, watchdogThread: true });
    const hold = await client.getLock('secure').acquire();
    const { port } = new URL(secure.url);
    const direct = new Redis({ port: Number(port), tls: { ca: fs.readFileSync(files.ca) } });
    await threadReady(trackClient(direct), client);

    stall(STALL_MS);

    expect(hold.isHeld).to.equal(true);
    await hold.unlock();
  });
});
