'use strict';
// What must hold on every runtime. Plain JavaScript for whatever can `require` the package that a user installs: Node,
// Bun, Deno. It needs nothing but the package and ioredis.
//
//   <runtime> program.cjs <redisson.yaml> [quick]
//
// One line per promise: `ok <what>` or `FAIL <what>: <why>`. It ends by itself, with exit code 0 where all hold: what
// keeps it alive is a failure, too.
const { readFileSync } = require('node:fs');
const { Redisson, Config } = require('ioredisson');

const YAML = readFileSync(process.argv[2], 'utf8');
/** Nothing here waits for it: who gets in after less was woken. */
const LEASE = { leaseTime: 60_000 };
/** Far less than the lease, and generous for a loaded machine. */
const SOON = { ...LEASE, waitTime: 20_000 };

/** It takes seconds. */
const RENEWAL = 'the watchdog renews, and a loss aborts the signal';

const clients = [];
let count = 0;
let failed = 0;

function client(more = '') {
  const made = Redisson.create(Config.fromYAML(more + YAML));
  clients.push(made);
  return made;
}

const name = () => `runtime-${process.pid}-${++count}`;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function equal(found, wanted, what) {
  if (JSON.stringify(found) === JSON.stringify(wanted)) return;
  throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
}

/** Blocks the event loop. */
function block(ms) {
  for (const end = performance.now() + ms; performance.now() < end;);
}

const KINDS = {
  lock: (one, called) => one.getLock(called),
  'fair lock': (one, called) => one.getFairLock(called),
  'fenced lock': (one, called) => one.getFencedLock(called),
  'spin lock': (one, called) => one.getSpinLock(called),
  'write lock': (one, called) => one.getReadWriteLock(called).writeLock(),
  'non-reentrant lock': (one, called) => one.getNonReentrantLock(called),
  'non-reentrant fair lock': (one, called) => one.getNonReentrantFairLock(called),
  'group lock': (one, called) => one.getMultiLock(called, ['a', 'b']),
};

const PROMISES = {
  ...Object.fromEntries(
    Object.entries(KINDS).map(([kind, of]) => [
      `${kind}: one is inside, and who waits gets in with its release`,
      async () => {
        const [one, other] = [client(), client()];
        const called = name();
        const held = await of(one, called).acquire(LEASE);
        equal(await of(other, called).tryLock(), false, 'tryLock beside a holder');
        const waiting = of(other, called).acquire(SOON);
        await sleep(30);
        await held.unlock();
        await (await waiting).unlock();
      },
    ]),
  ),

  'sections beside each other take turns, and one inside another re-enters': async () => {
    const lock = client().getLock(name());
    let inside = 0;
    const section = () =>
      lock.withLock(async () => {
        equal(++inside, 1, 'inside');
        await sleep(2);
        await lock.withLock(async () => await sleep(2));
        equal(await lock.getHoldCount(), 1, 'holds');
        inside--;
      });
    await Promise.all([section(), section(), section()]);
  },

  'a thread follows await, timers and microtasks': async () => {
    const one = client();
    await one.runInThread(async () => {
      const id = one.currentThreadId();
      await sleep(1);
      equal(one.currentThreadId(), id, 'after a timer');
      equal(await new Promise((resolve) => queueMicrotask(() => resolve(one.currentThreadId()))), id, 'in a microtask');
      equal(await new Promise((resolve) => setImmediate(() => resolve(one.currentThreadId()))), id, 'in an immediate');
    });
    equal(one.currentThreadId(), undefined, 'outside');
  },

  'a semaphore, permits that expire and a latch: who waits is woken': async () => {
    const [one, other] = [client(), client()];
    const semaphore = name();
    await one.getSemaphore(semaphore).trySetPermits(1);
    await one.getSemaphore(semaphore).acquire();
    const waiting = other.getSemaphore(semaphore).tryAcquire(1, 20_000);
    await one.getSemaphore(semaphore).release();
    equal(await waiting, true, 'semaphore');
    const permits = name();
    await one.getPermitExpirableSemaphore(permits).trySetPermits(1);
    const id = await one.getPermitExpirableSemaphore(permits).acquire();
    const next = other.getPermitExpirableSemaphore(permits).tryAcquire(20_000);
    await one.getPermitExpirableSemaphore(permits).release(id);
    equal(typeof (await next), 'string', 'permit');
    const latch = name();
    await one.getCountDownLatch(latch).trySetCount(1);
    const open = other.getCountDownLatch(latch).await(20_000);
    await one.getCountDownLatch(latch).countDown();
    equal(await open, true, 'latch');
    await one.getSemaphore(semaphore).delete();
    await one.getPermitExpirableSemaphore(permits).delete();
  },

  'an abort ends the waiting, and leaves nothing': async () => {
    const [one, other] = [client(), client()];
    const called = name();
    const held = await one.getLock(called).acquire(LEASE);
    const reason = new Error('enough');
    const controller = new AbortController();
    const waiting = other
      .getLock(called)
      .acquire({ signal: controller.signal })
      .catch((error) => error);
    await sleep(30);
    controller.abort(reason);
    equal((await waiting) === reason, true, 'the reason');
    await held.unlock();
    equal(await one.getLock(called).isLocked(), false, 'locked');
  },

  [RENEWAL]: async () => {
    const one = client('lockWatchdogTimeout: 2000\n');
    const lock = one.getLock(name());
    const hold = await lock.acquire();
    await sleep(3_000);
    equal([hold.isHeld, await lock.isLocked()], [true, true], 'held after more than a lease');
    const lost = new Promise((resolve) => hold.signal.addEventListener('abort', () => resolve(hold.signal.reason)));
    await client().getLock(lock.name).forceUnlock();
    equal((await lost).code, 'LOCK_LOST', 'reason');
  },

  'a process that is done ends by itself': async () => {
    // By its end: see below.
    await client().ping();
  },
};

const THREADED = 'lockWatchdogTimeout: 2000\nwatchdogThread: true\n';

const THREAD = {
  'the watchdog thread keeps a lock while the event loop is blocked': async () => {
    const one = client(THREADED);
    const lock = one.getLock(name());
    const hold = await lock.acquire();
    // The thread starts.
    await sleep(1_000);
    block(4_000);
    equal([hold.isHeld, await lock.isHeldByThread(hold.threadId)], [true, true], 'held');
    await hold.unlock();
  },
};

const NO_THREAD = {
  'the watchdog thread is refused at the start': async () => {
    let code = 'none';
    try {
      client(THREADED);
    } catch (error) {
      code = error.code;
      equal(/watchdogThread/.test(error.message), true, error.message);
    }
    equal(code, 'CONFIG', 'code');
  },
};

const { bun, deno } = process.versions;
Object.assign(PROMISES, (bun ?? deno) === undefined ? THREAD : NO_THREAD);

async function main() {
  if (process.argv[3] === 'quick') delete PROMISES[RENEWAL];
  process.on('unhandledRejection', (error) => {
    failed++;
    console.log(`FAIL unhandled rejection: ${error?.stack ?? error}`);
  });
  for (const [what, keep] of Object.entries(PROMISES)) {
    try {
      await keep();
      console.log(`ok ${what}`);
    } catch (error) {
      failed++;
      console.log(`FAIL ${what}: ${error?.stack ?? error}`);
    }
    await Promise.all(clients.splice(0).map((one) => one.shutdown()));
  }
  process.exitCode = failed === 0 ? 0 : 1;
}

void main();
