// Ids in titles: test/README.md
import { expect } from 'chai';
import { LockLostError, type LockLostEvent } from '../../lib';
import { rejection } from '../redis/synchronizers/support';
import { type Monitor, monitor, redisUrl } from '../support';
import { titled, type LockUnderTest } from './lockContract';
import { type LockStage, type Scenario, together, WATCHDOG_MS } from './LockStage';
import { definesForServer, monotonicNow, sleep, sleepUntil, turn } from './world';

/** The watchdog: who is kept and who is not, and what a lost lock looks like to its owner. */
export function lockWatchdog(kind: LockUnderTest): void {
  const scenarios: Record<string, Scenario> = {
    [titled(kind, 'B-AUTOEXPIRE', 'a living owner keeps it, a dead one for no longer than the watchdog time-out')]:
      livesAndDies,
    [titled(kind, 'B-INTTRY', 'a single attempt that is aborted on the wire is never renewed')]: abortedAttempt,
    'an unlock after the loss is refused, and leaves the new owner alone': lateUnlock,
    'starts again for a lock that was lost and taken again': lostAndTaken,
    'a hold whose lock vanishes is told within a period: signal, isHeld, onLockLost, unlock': vanished,
    'a hold with a lease is told no later than Redis lets the lock go': leaseEnds,
    'maxRenewTimes gives the hold up and leaves the lock to expire': renewedTooOften,
  };
  if (definesForServer()) {
    scenarios['renews a hold without lease every third of the time-out, and nothing after the unlock'] = renewed;
    scenarios['renews nothing that has a lease'] = leased;
  }
  if (kind.traits.reentrant) {
    scenarios['a re-entry with a lease neither shortens the life of the lock nor stops the renewal'] = reentered;
  }
  describe('watchdog', () => together(kind, scenarios));
}

async function livesAndDies(stage: LockStage): Promise<void> {
  await stage.lock(stage.mortal).lock();
  for (let i = 0; i < 4; i++) {
    await sleep(WATCHDOG_MS / 2);
    expect(await stage.isLocked()).to.equal(true);
  }
  await stage.mortal.shutdown();
  expect(await stage.isLocked()).to.equal(true);
  await stage.untilFree(WATCHDOG_MS + 1_000);
}

async function abortedAttempt(stage: LockStage): Promise<void> {
  const stop = new AbortController();
  const call = stage.lock().tryLock({ threadId: 1, signal: stop.signal });
  await turn();
  stop.abort(new Error('stop'));
  if ((await call.catch(() => false)) === true) await stage.lock().unlock(1);
  await stage.untilFree();
  await sleep(WATCHDOG_MS);
  expect(await stage.isLocked()).to.equal(false);
}

async function renewed(stage: LockStage): Promise<void> {
  await stage.lock().lock(-1, undefined, 1);
  await watching(async (watch) => {
    await sleep(WATCHDOG_MS * 1.5);
    expect(await lowestPttl(stage)).to.be.within(1, WATCHDOG_MS);
    // Four thirds have passed; nothing else touches these keys but our own looks at them.
    expect((await commands(stage, watch)).length).to.be.within(3, 6);
    await stage.lock().unlock(1);
    await watch.clear();
    await sleep(WATCHDOG_MS / 2);
    expect(await commands(stage, watch)).to.deep.equal([]);
  });
}

async function leased(stage: LockStage): Promise<void> {
  await stage.lock().lock(WATCHDOG_MS, undefined, 1);
  await watching(async (watch) => {
    await stage.untilFree(WATCHDOG_MS + 1_000);
    expect(await commands(stage, watch)).to.deep.equal([]);
  });
  await stage.expectNotOwner(stage.lock().unlock(1));
}

async function lateUnlock(stage: LockStage): Promise<void> {
  await stage.blocker(stage.client).lock(100, undefined, 1);
  await stage.lock(stage.other).lock(-1, undefined, 2);
  await stage.expectNotOwner(stage.blocker(stage.client).unlock(1));
  expect(await stage.lock(stage.other).isHeldByThread(2)).to.equal(true);
  await stage.lock(stage.other).unlock(2);
}

async function lostAndTaken(stage: LockStage): Promise<void> {
  const lost: LockLostEvent[] = [];
  stage.client.onLockLost((event) => lost.push(event));
  await stage.lock().lock(-1, undefined, 1);
  await stage.vanish();
  await sleepUntil(() => lost.length > 0, { timeout: WATCHDOG_MS + 1_000 });
  await stage.lock().lock(-1, undefined, 1);
  await sleep(WATCHDOG_MS * 1.5);
  expect(await stage.lock().isHeldByThread(1)).to.equal(true);
  await stage.lock().unlock(1);
}

async function vanished(stage: LockStage): Promise<void> {
  const events: LockLostEvent[] = [];
  stage.client.onLockLost((event) => events.push(event));
  const hold = await stage.lock().acquire();
  let aborted = 0;
  hold.signal.addEventListener('abort', () => (aborted += 1));
  await stage.vanish();
  await sleepUntil(() => hold.signal.aborted, { timeout: WATCHDOG_MS + 1_000 });
  expect(hold.isHeld).to.equal(false);
  expect(hold.signal.reason).to.be.instanceOf(LockLostError);
  expect(await rejection(hold.unlock())).to.be.instanceOf(LockLostError);
  await hold[Symbol.asyncDispose]();
  expect(aborted).to.equal(1);
  // A lock made of several may lose them one by one.
  expect(events.length).to.be.within(1, stage.keys.length);
  expect(events[0]!.threadId).to.equal(hold.threadId);
}

async function leaseEnds(stage: LockStage): Promise<void> {
  const startedAt = monotonicNow();
  const hold = await stage.lock().acquire({ leaseTime: 300 });
  await new Promise((resolve) => hold.signal.addEventListener('abort', resolve));
  expect(monotonicNow() - startedAt).to.be.within(250, 1_300);
  expect(hold.signal.reason).to.be.instanceOf(LockLostError);
  expect(await rejection(hold.unlock())).to.be.instanceOf(LockLostError);
}

async function renewedTooOften(stage: LockStage): Promise<void> {
  const hold = await stage.lock().acquire({ maxRenewTimes: 1 });
  await new Promise((resolve) => hold.signal.addEventListener('abort', resolve));
  expect(await stage.isLocked()).to.equal(true);
  expect((hold.signal.reason as Error).message).to.contain('maxRenewTimes');
  await stage.untilFree(WATCHDOG_MS + 1_000);
}

async function reentered(stage: LockStage): Promise<void> {
  await stage.lock().lock(-1, undefined, 1);
  await stage.lock().lock(50, undefined, 1);
  expect(await lowestPttl(stage)).to.be.greaterThan(WATCHDOG_MS / 3);
  await sleep(WATCHDOG_MS * 1.2);
  expect(await stage.lock().isHeldByThread(1)).to.equal(true);
  await stage.lock().unlock(1);
  await sleep(WATCHDOG_MS * 1.2);
  expect(await stage.lock().isHeldByThread(1)).to.equal(true);
  await stage.lock().unlock(1);
  expect(await stage.isLocked()).to.equal(false);
}

/** The lowest pttl of the keys. */
async function lowestPttl(stage: LockStage): Promise<number> {
  return Math.min(...(await Promise.all(stage.keys.map((key) => stage.redis.pttl(key)))));
}

async function watching(work: (watch: Monitor) => Promise<void>): Promise<void> {
  const watch = await monitor(redisUrl());
  try {
    await work(watch);
  } finally {
    watch.stop();
  }
}

/** What clients sent about the first key of this lock, but the questions of the tests. */
async function commands(stage: LockStage, watch: Monitor): Promise<string[]> {
  const questions = ['exists', 'hlen', 'pttl', 'keys'];
  const sent = (await watch.sent()).filter(({ args }) => args.includes(stage.keys[0]!));
  return sent.map(({ name }) => name).filter((name) => !questions.includes(name));
}
