import { expect } from 'chai';
import {
  ConfigError,
  ConnectionError,
  IllegalMonitorStateError,
  type LockHold,
  LockLostError,
  ShutdownError,
  TimeUnit,
  UnsupportedOperationError,
} from '../../lib';
import { rejection } from '../redis/synchronizers/support';
import type { LockUnderTest } from './lockContract';
import { type LockStage, type Scenario, together, useStage, WATCHDOG_MS } from './LockStage';
import { monotonicNow, sleep, sleepUntil } from './world';

/** A lease that ends within a test. A machine that stands still for two seconds knows of it in time. */
const LEASE_MS = 3_000;

/** `extend`, `detach` and `attach`. */
export function lockTickets(kind: LockUnderTest): void {
  const stage = useStage(kind);
  const { traits } = kind;

  describe('another lease for a hold', () => {
    it('extend rejects with LockLostError when the hold is gone, and refuses bad leases at the call', async () => {
      const hold = await stage().lock().acquire();
      for (const lease of [0, -2, NaN, Infinity, Number.MAX_VALUE, '5', undefined] as number[]) {
        expect(await rejection(hold.extend(lease))).to.be.instanceOf(RangeError);
      }
      expect(await rejection(hold.extend(5, 'SECONDS' as never))).to.be.instanceOf(TypeError);
      expect(hold.isHeld).to.equal(true);
      await stage().vanish();
      expect(await rejection(hold.extend(5_000))).to.be.instanceOf(LockLostError);
      expect(hold.signal.aborted).to.equal(true);
      const released = await stage().lock().acquire();
      await released.unlock();
      expect(await rejection(released.extend(5_000))).to.be.instanceOf(LockLostError);
      expect(await stage().isLocked()).to.equal(false);
    });
  });

  describe('another lease for a hold, in time', () => {
    together(kind, {
      'extend sets a lease instead of the one before, and -1 has it renewed again': renewedAgain,
      'a longer lease by extend outlives the one before': longer,
    });
  });

  if (traits.detachable !== true) {
    it('detach is refused, and changes nothing', async () => {
      const hold = await stage().lock().acquire();
      expect(await rejection(hold.detach())).to.be.instanceOf(UnsupportedOperationError);
      expect(hold.isHeld).to.equal(true);
      expect(await stage().lock().isHeldByThread(hold.threadId)).to.equal(true);
      await hold.unlock();
    });
    return;
  }

  describe('a hold by ticket', () => {
    it('of many who want to take it up, one gets it', async () => {
      const ticket = await (await stage().lock().acquire()).detach();
      const tries = await Promise.allSettled(
        Array.from({ length: 6 }, (_, i) => (i % 2 ? stage().client : stage().other).attach(ticket)),
      );
      const got = tries.filter((one): one is PromiseFulfilledResult<LockHold> => one.status === 'fulfilled');
      expect(got).to.have.lengthOf(1);
      for (const one of tries) if (one.status === 'rejected') expect(one.reason).to.be.instanceOf(LockLostError);
      await got[0]!.value.unlock();
    });

    it('out of a section, which then ends without a release; a chain of tickets', async () => {
      const { client, other } = stage();
      const ticket = await stage()
        .lock()
        .withLock((hold) => hold.detach());
      expect(await stage().isLocked()).to.equal(true);
      const second = await (await other.attach(ticket)).detach();
      expect(second).not.to.equal(ticket);
      expect(await rejection(other.attach(ticket))).to.be.instanceOf(LockLostError);
      await client.runInThread(async () => {
        const third = await client.attach(second);
        await stage().lock().unlock();
        expect(third.isHeld).to.equal(false);
      });
      expect(await stage().isLocked()).to.equal(false);
    });

    it('only the one hold of its thread can leave', async () => {
      const { client } = stage();
      if (traits.reentrant) {
        const hold = await stage().lock().acquire({ threadId: 7 });
        const inner = await stage().lock().acquire({ threadId: 7 });
        expect(await rejection(hold.detach())).to.be.instanceOf(IllegalMonitorStateError);
        expect(await rejection(inner.detach())).to.be.instanceOf(IllegalMonitorStateError);
        await inner.unlock();
        await (await client.attach(await hold.detach())).unlock();
      }
      const left = await stage().lock().acquire();
      const taken = await client.attach(await left.detach());
      for (const again of [left.detach(), left.extend(1_000)]) {
        const error = await rejection(again);
        expect(error).to.be.instanceOf(LockLostError);
        expect(error.message).to.match(/this hold of it was detached before/);
      }
      await taken.unlock();
      const released = await stage().lock().acquire();
      await released.unlock();
      expect(await rejection(released.detach())).to.be.instanceOf(LockLostError);
      const gone = await stage().lock().acquire();
      await stage().vanish();
      expect(await rejection(gone.detach())).to.be.instanceOf(LockLostError);
      expect(gone.signal.aborted).to.equal(true);
      expect(await stage().isLocked()).to.equal(false);
    });

    it('detach() beside another call of its thread: one of them comes first, nothing is lost', async () => {
      const { client, other } = stage();
      const lost: string[] = [];
      client.onLockLost(({ name }) => lost.push(name));
      for (let steps = 0; steps < 6; steps++) {
        const twice = await stage().lock().acquire();
        const first = twice.detach().catch((error: Error) => error);
        for (let i = 0; i < steps; i++) await Promise.resolve();
        const tickets = await Promise.all([first, twice.detach().catch((error: Error) => error)]);
        const ticket = tickets.filter((one) => typeof one === 'string');
        expect(ticket, `after ${steps} steps: ${tickets.join()}`).to.have.lengthOf(1);
        await (await other.attach(ticket[0]!)).unlock();
        if (!traits.reentrant) continue;
        const hold = await stage().lock().acquire();
        const leaving = hold.detach().catch((error: Error) => error);
        for (let i = 0; i < steps; i++) await Promise.resolve();
        const entered = await stage().lock().tryLock({ threadId: hold.threadId });
        const left = await leaving;
        expect(entered, `after ${steps} steps`).to.equal(left instanceof IllegalMonitorStateError);
        if (entered) {
          await stage().lock().unlock({ threadId: hold.threadId });
          await hold.unlock();
        } else await (await other.attach(left as string)).unlock();
      }
      expect(lost).to.deep.equal([]);
      expect(await stage().isLocked()).to.equal(false);
    });

    it('no ticket, a changed one, bad options, a client that is shut down: each an error, and nothing is changed', async () => {
      const { client } = stage();
      const hold = await stage().lock().acquire();
      for (const leaseTime of [0, -2, NaN, Infinity]) {
        expect(await rejection(hold.detach({ leaseTime }))).to.be.instanceOf(RangeError);
      }
      for (const options of [5, null, { lease: 5 }, { waitTime: 5 }] as object[]) {
        expect(await rejection(hold.detach(options))).to.be.instanceOf(ConfigError);
      }
      expect(hold.isHeld).to.equal(true);
      const ticket = await hold.detach({ leaseTime: 20_000 });
      const middle = Math.floor(ticket.length / 2);
      const tampered = ticket.slice(0, middle) + (ticket[middle] === 'x' ? 'y' : 'x') + ticket.slice(middle + 1);
      for (const none of [undefined, null, 5, '', 'ticket', tampered, `${ticket}x`, ticket.slice(0, -1)] as string[]) {
        expect(await rejection(client.attach(none))).to.be.instanceOf(ConfigError);
      }
      for (const leaseTime of [0, -2, NaN]) {
        expect(await rejection(client.attach(ticket, { leaseTime }))).to.be.instanceOf(RangeError);
      }
      expect(await rejection(client.attach(ticket, { unit: 'SECONDS' as never }))).to.be.instanceOf(TypeError);
      expect(await rejection(client.attach(ticket, { waitTime: 5 } as object))).to.be.instanceOf(ConfigError);
      const closed = stage().newClient();
      await closed.shutdown();
      expect(await rejection(closed.attach(ticket))).to.be.instanceOf(ShutdownError);
      expect(await stage().isLocked()).to.equal(true);
      await (await client.attach(ticket)).unlock();
      expect(await stage().isLocked()).to.equal(false);
    });

    it('a client that drains does not wait for what has left it', async () => {
      const closing = stage().newClient();
      const hold = await stage().lock(closing).acquire();
      const ticket = await hold.detach({ leaseTime: 20_000 });
      await closing.shutdown({ drain: 20_000 });
      expect(hold.signal.aborted).to.equal(false);
      await (await stage().other.attach(ticket)).unlock();
      expect(await stage().isLocked()).to.equal(false);
    });
  });

  describe('a hold by ticket, in time', () => {
    together(kind, {
      'leaves its client held, and is taken up once, by another client, which renews it': takenUp,
      'ends with its lease, when nobody takes it up': notTakenUp,
      'the lease at attach counts, also a shorter one; its loss is told to the one who has it': shorterLease,
      'whose attach() could not set its shorter lease goes back: the ticket stays valid': goesBack,
    });
  });

  describe('a hold by ticket, without a lease that is shorter', () => {
    const scenarios: Record<string, Scenario> = {};
    for (const [when, nths, leaseTime] of [
      ['a hold without a lease', [1], -1],
      ['a hold without a lease, whose old one cannot be set again', [2], -1],
      ['a hold with a lease', [1], 18_000],
    ] as const) {
      scenarios[`whose detach() fails keeps what it had: ${when}`] = (one) => keepsIt(one, nths[0] === 2, leaseTime);
    }
    // Longer than the leases of these tests, so that a shorter one is set by a command of its own.
    together(kind, scenarios, 20_000);
  });
}

/** The hash of a group lives as long as the longest lease that any of its values ever had. */
function isGroup({ kind }: LockStage): boolean {
  return kind.traits.single === true && kind.traits.counted === false;
}

async function expectLease(stage: LockStage, least: number, most: number): Promise<void> {
  expect(await stage.redis.pttl(stage.keys[0]!)).to.be.within(least, isGroup(stage) ? 60_000 : most);
}

async function longer(stage: LockStage): Promise<void> {
  const hold = await stage.lock().acquire({ leaseTime: LEASE_MS });
  await hold.extend(20, TimeUnit.SECONDS);
  await expectLease(stage, 10_000, 20_000);
  await sleep(LEASE_MS + 100);
  expect(hold.isHeld).to.equal(true);
  expect(await stage.isLocked()).to.equal(true);
  await hold.unlock();
}

async function renewedAgain(stage: LockStage): Promise<void> {
  const hold = await stage.lock().acquire({ leaseTime: LEASE_MS });
  await hold.extend(-1);
  await expectLease(stage, 1, WATCHDOG_MS);
  await stage.untilRenewed();
  expect(hold.isHeld).to.equal(true);
  await hold.extend(LEASE_MS);
  await expectLease(stage, 1, LEASE_MS);
  await sleepUntil(() => hold.signal.aborted, { timeout: 10_000 });
  expect(hold.signal.reason).to.be.instanceOf(LockLostError);
  if (isGroup(stage)) stage.leavesKeys = true;
  else await stage.untilFree();
  expect(await rejection(hold.extend(5_000))).to.be.instanceOf(LockLostError);
  await hold[Symbol.asyncDispose]();
}

async function takenUp(stage: LockStage): Promise<void> {
  const { client, other, kind } = stage;
  const lost: string[] = [];
  client.onLockLost(({ name }) => lost.push(name));
  const hold = await stage.lock().acquire();
  const ticket = await hold.detach();
  expect(ticket).to.match(/^[\w.-]+$/);
  expect(hold.isHeld).to.equal(false);
  expect(hold.signal.aborted).to.equal(false);
  expect(await stage.isLocked()).to.equal(true);
  expect(await stage.lock().isHeldByThread(hold.threadId)).to.equal(false);
  expect(await stage.blocker().tryLock(50, undefined, undefined, 1)).to.equal(false);
  const taken = await other.attach(ticket);
  expect(taken).to.include({ name: hold.name, isHeld: true });
  expect(await stage.lock(other).isHeldByThread(taken.threadId)).to.equal(true);
  if (kind.traits.fenced === true) expect(taken.token! > hold.token!).to.equal(true);
  for (const one of [client, other, client]) {
    expect(await rejection(one.attach(ticket))).to.be.instanceOf(LockLostError);
  }
  await hold.unlock();
  await stage.untilRenewed();
  expect(taken.isHeld).to.equal(true);
  expect(await stage.blocker(client).tryLock(0, undefined, undefined, 1)).to.equal(false);
  const waiting = stage.blocker(client).lock(-1, undefined, 1);
  await stage.untilWaiting();
  await taken.unlock();
  await waiting;
  await stage.blocker(client).unlock(1);
  expect(lost).to.deep.equal([]);
}

async function notTakenUp(stage: LockStage): Promise<void> {
  const hold = await stage.lock().acquire();
  const startedAt = monotonicNow();
  const ticket = await hold.detach({ leaseTime: LEASE_MS / 1_000, unit: TimeUnit.SECONDS });
  expect(await stage.isLocked()).to.equal(true);
  const next = await stage.lock(stage.other).acquire({ waitTime: 10_000 });
  expect(monotonicNow() - startedAt).to.be.within(LEASE_MS - 10, 8_000);
  expect(await rejection(stage.client.attach(ticket))).to.be.instanceOf(LockLostError);
  expect(next.isHeld).to.equal(true);
  await next.unlock();
}

async function shorterLease(stage: LockStage): Promise<void> {
  const { client, other } = stage;
  const lost: [string, string][] = [];
  client.onLockLost(({ name }) => lost.push(['client', name]));
  other.onLockLost(({ name }) => lost.push(['other', name]));
  const ticket = await (await stage.lock().acquire({ leaseTime: 60_000 })).detach({ leaseTime: 60_000 });
  await expectLease(stage, 50_000, 60_000);
  const hold = await other.attach(ticket, { leaseTime: LEASE_MS });
  await expectLease(stage, 1, LEASE_MS);
  await sleepUntil(() => hold.signal.aborted, { timeout: 10_000 });
  expect(lost).to.deep.equal([['other', hold.name]]);
  expect(await rejection(hold.detach())).to.equal(hold.signal.reason);
  await stage.untilFree();
}

async function goesBack(stage: LockStage): Promise<void> {
  const { client, mortal: failing } = stage;
  const ticket = await (await stage.lock(stage.other).acquire()).detach({ leaseTime: 30_000 });
  stage.failing(failing, /^release /, 1);
  // Shorter than its watchdog time-out: it is set by a command of its own.
  expect(await rejection(failing.attach(ticket, { leaseTime: LEASE_MS }))).to.be.instanceOf(ConnectionError);
  expect(await stage.isLocked()).to.equal(true);
  // It is given back in the background.
  const taken = await sleepUntil(() => client.attach(ticket).catch(() => null));
  await stage.untilRenewed();
  expect(taken.isHeld).to.equal(true);
  expect(await stage.lock().isHeldByThread(taken.threadId)).to.equal(true);
  expect(await rejection(failing.attach(ticket))).to.be.instanceOf(LockLostError);
  await taken.unlock();
  expect(await stage.isLocked()).to.equal(false);
}

async function keepsIt(stage: LockStage, notSetAgain: boolean, leaseTime: number): Promise<void> {
  const { client, other } = stage;
  const lost: string[] = [];
  client.onLockLost(({ name }) => lost.push(name));
  const hold = await stage.lock().acquire({ leaseTime });
  stage.failing(client, /^change the owner /, 1);
  if (notSetAgain) stage.failing(client, /^release /, 2);
  expect(await rejection(hold.detach({ leaseTime: LEASE_MS }))).to.be.instanceOf(ConnectionError);
  expect(hold.isHeld).to.equal(true);
  await sleep(LEASE_MS + 100);
  expect(hold.isHeld).to.equal(true);
  expect(await stage.lock().isHeldByThread(hold.threadId)).to.equal(true);
  await expectLease(stage, 10_000, 20_000);
  expect(hold.signal.aborted).to.equal(false);
  await (await other.attach(await hold.detach())).unlock();
  expect(await stage.isLocked()).to.equal(false);
  expect(lost).to.deep.equal([]);
}
