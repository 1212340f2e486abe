// Ids in titles: test/README.md
import { expect } from 'chai';
import { LockLostError, type LockLostEvent } from '../../lib';
import { rejection } from '../redis/synchronizers/support';
import { type Monitor, monitor, redisUrl, type SeenCommand } from '../support';
import { collect } from '../support/collect';
import { titled, type LockUnderTest } from './lockContract';
import { LATE_MS, type LockStage, type Scenario, together, WATCHDOG_MS } from './LockStage';
import { definesForServer, monotonicNow, sleep, sleepUntil, turn } from './world';

/** A lease that is waited for. A machine that stands still for two seconds knows of it in time. */
const LEASE_MS = 3_000;

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
    // In memory: test/testing/contracts.test.ts, by real time.
    scenarios['a hold whose signal alone is kept ends as a loss: it is renewed no longer, and the signal aborts'] =
      dropped;
  }
  if (kind.traits.reentrant) {
    scenarios['a re-entry with a lease neither shortens the life of the lock nor stops the renewal'] = reentered;
    scenarios['a hold that is given up keeps the lock until its lease ends, whatever its thread releases'] = givenUp;
    scenarios['a re-entry that is under way at shutdown() leaves the lock to expire'] = shutDownInReentry;
  }
  // The others have no order.
  if (kind.traits.pubsub && kind.traits.shared !== true) {
    scenarios['a waiter gets in when the lease of one ends who waited before it in the same client'] = earlierWaiter;
  }
  describe('watchdog', () => together(kind, scenarios));
}

async function livesAndDies(stage: LockStage): Promise<void> {
  await stage.lock(stage.mortal).lock();
  for (let i = 0; i < 2; i++) await stage.untilRenewed();
  await stage.mortal.shutdown();
  expect(await stage.leastTtl()).to.be.within(1, WATCHDOG_MS);
  await stage.expectNoRenewal();
}

async function abortedAttempt(stage: LockStage): Promise<void> {
  const stop = new AbortController();
  const call = stage.lock().tryLock({ threadId: 1, signal: stop.signal });
  await turn();
  stop.abort(new Error('stop'));
  if ((await call.catch(() => false)) === true) await stage.lock().unlock(1);
  await stage.untilFree();
  await sleep(WATCHDOG_MS / 3);
  expect(await stage.isLocked()).to.equal(false);
}

async function renewed(stage: LockStage): Promise<void> {
  await watching(async (watch) => {
    await stage.lock().lock(-1, undefined, 1);
    const acquired = (await commands(stage, watch)).length;
    for (let i = 0; i < 2; i++) await stage.untilRenewed();
    expect(await stage.leastTtl()).to.be.within(1, WATCHDOG_MS);
    // Nothing else touches these keys but the test. A script that the server does not know is sent twice.
    const sent = await commands(stage, watch);
    expect(sent.length - acquired).to.be.within(2, 4);
    const times = sent.slice(acquired - 1).map(({ at }) => at);
    const gaps = times.flatMap((at, i) => (i === 0 || at - times[i - 1]! < 100 ? [] : [at - times[i - 1]!]));
    // A machine that stands still makes one of them longer.
    expect(Math.min(...gaps)).to.be.within((WATCHDOG_MS / 3) * 0.9, (WATCHDOG_MS / 3) * 1.2);
    await stage.lock().unlock(1);
    await watch.clear();
    await sleep((WATCHDOG_MS / 3) * 1.2);
    expect(await commands(stage, watch)).to.deep.equal([]);
  });
}

async function leased(stage: LockStage): Promise<void> {
  await stage.lock().lock(LEASE_MS, undefined, 1);
  await watching(async (watch) => {
    await stage.untilFree(LEASE_MS + LATE_MS);
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
  await sleepUntil(() => lost.length > 0, { timeout: WATCHDOG_MS + LATE_MS });
  await stage.lock().lock(-1, undefined, 1);
  await stage.untilRenewed();
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
  await sleepUntil(() => hold.signal.aborted, { timeout: WATCHDOG_MS / 3 + LATE_MS });
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
  let endedAt = 0;
  hold.signal.addEventListener('abort', () => (endedAt = monotonicNow()));
  // Redis has let it go by then. A machine that stands still is late with this timer as with that of the hold.
  await sleep(300);
  await sleepUntil(() => hold.signal.aborted, { timeout: 1_000 });
  expect(endedAt - startedAt).to.be.at.least(250);
  expect(hold.signal.reason).to.be.instanceOf(LockLostError);
  expect(await rejection(hold.unlock())).to.be.instanceOf(LockLostError);
}

async function dropped(stage: LockStage): Promise<void> {
  const drop = async (): Promise<AbortSignal> => (await stage.lock().acquire()).signal;
  const signal = await drop();
  await sleepUntil(
    () => {
      collect();
      return signal.aborted;
    },
    { timeout: 9_000, interval: 300, message: 'the signal aborts' },
  );
  expect(signal.reason).to.be.instanceOf(LockLostError);
  expect((signal.reason as Error).message).to.match(/its object was dropped without a release/);
  await stage.untilFree();
}

async function renewedTooOften(stage: LockStage): Promise<void> {
  const hold = await stage.lock().acquire({ maxRenewTimes: 1 });
  await new Promise((resolve) => hold.signal.addEventListener('abort', resolve));
  expect(await stage.isLocked()).to.equal(true);
  expect((hold.signal.reason as Error).message).to.contain('maxRenewTimes');
  await stage.expectNoRenewal();
}

async function givenUp(stage: LockStage): Promise<void> {
  const outer = await stage.lock().acquire({ threadId: 1, maxRenewTimes: 1 });
  const inner = await stage.lock().acquire({ threadId: 1 });
  await new Promise((resolve) => outer.signal.addEventListener('abort', resolve));
  await inner.unlock();
  expect(await rejection(outer.extend(60_000))).to.be.instanceOf(LockLostError);
  await stage.lock().lock(-1, undefined, 1);
  await stage.lock().unlock(1);
  await sleep(100);
  expect(await stage.isLocked(), 'locked while its caller may still work').to.equal(true);
  expect(await stage.leastTtl()).to.be.within(1, WATCHDOG_MS);
  expect(await rejection(outer.unlock())).to.be.instanceOf(LockLostError);
  await stage.untilFree(1_000);
}

/** Whatever is on its way when the client closes: a command, its reply, or what follows from that. */
const MOMENTS = 12;

async function shutDownInReentry(stage: LockStage): Promise<void> {
  const left = Array.from({ length: MOMENTS }, async (_, moment) => {
    const client = stage.newClient();
    const name = `${stage.name}:${moment}`;
    const lock = stage.kind.make(client, name);
    await lock.lock(-1, undefined, 1);
    const again = lock.lock(-1, undefined, 1).catch(() => undefined);
    for (let i = 0; i < moment; i++) await Promise.resolve();
    await client.shutdown();
    await again;
    await sleep(100);
    return stage.redis.exists(...(stage.kind.keys?.(name) ?? [name]));
  });
  stage.leavesKeys = true;
  expect(await Promise.all(left)).to.not.include(0);
}

async function reentered(stage: LockStage): Promise<void> {
  await stage.lock().lock(-1, undefined, 1);
  await stage.lock().lock(500, undefined, 1);
  expect(await stage.leastTtl()).to.be.greaterThan(1_000);
  // Later than the end of that lease.
  await stage.untilRenewed();
  expect(await stage.lock().isHeldByThread(1)).to.equal(true);
  await stage.lock().unlock(1);
  await stage.untilRenewed();
  expect(await stage.lock().isHeldByThread(1)).to.equal(true);
  await stage.lock().unlock(1);
  expect(await stage.isLocked()).to.equal(false);
}

async function earlierWaiter(stage: LockStage): Promise<void> {
  const [holder, waiter] = [stage.blocker(stage.client), stage.lock()];
  await stage.blocker().lock(30_000, undefined, 1);
  const held = holder.lock(LEASE_MS, undefined, 1);
  await stage.untilWaiting();
  const waiting = waiter.lock(-1, undefined, 2);
  await sleep(50);
  const unlockedAt = monotonicNow();
  await stage.blocker().unlock(1);
  await held;
  await waiting;
  // Nobody unlocks, so no message is sent.
  expect(monotonicNow() - unlockedAt).to.be.within(LEASE_MS - 10, LEASE_MS + LATE_MS);
  await waiter.unlock(2);
  await stage.expectNotOwner(holder.unlock(1));
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
async function commands(stage: LockStage, watch: Monitor): Promise<SeenCommand[]> {
  const questions = ['exists', 'hlen', 'pttl', 'keys'];
  return (await watch.sent()).filter(({ name, args }) => args.includes(stage.keys[0]!) && !questions.includes(name));
}
