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
import { useStage, WATCHDOG_MS } from './LockStage';
import { sleep, sleepUntil } from './world';

/** `extend`, `detach` and `attach`. */
export function lockTickets(kind: LockUnderTest): void {
  const stage = useStage(kind, WATCHDOG_MS);
  const { traits } = kind;

  /** The hash of a group lives as long as the longest lease that any of its values ever had. */
  const isGroup = traits.single === true && traits.counted === false;

  async function expectLease(least: number, most: number): Promise<void> {
    expect(await stage().redis.pttl(stage().keys[0]!)).to.be.within(least, isGroup ? 60_000 : most);
  }

  describe('another lease for a hold', () => {
    it('extend sets a lease instead of the one before, and -1 has it renewed again', async () => {
      const hold = await stage().lock().acquire({ leaseTime: 300 });
      await hold.extend(20, TimeUnit.SECONDS);
      await expectLease(15_000, 20_000);
      await sleep(400);
      expect(hold.isHeld).to.equal(true);
      await hold.extend(-1);
      await expectLease(1, WATCHDOG_MS);
      await sleep(2 * WATCHDOG_MS);
      expect(hold.isHeld).to.equal(true);
      expect(await stage().isLocked()).to.equal(true);
      await hold.extend(300);
      await new Promise((resolve) => hold.signal.addEventListener('abort', resolve));
      expect(hold.signal.reason).to.be.instanceOf(LockLostError);
      if (isGroup) stage().leavesKeys = true;
      else await stage().untilFree();
      expect(await rejection(hold.extend(5_000))).to.be.instanceOf(LockLostError);
      await hold[Symbol.asyncDispose]();
    });

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
    it('leaves its client held, and is taken up once, by another client, which renews it', async () => {
      const { client, other } = stage();
      const lost: string[] = [];
      client.onLockLost(({ name }) => lost.push(name));
      const hold = await stage().lock().acquire();
      const ticket = await hold.detach();
      expect(ticket).to.match(/^[\w.-]+$/);
      expect(hold.isHeld).to.equal(false);
      expect(hold.signal.aborted).to.equal(false);
      expect(await stage().isLocked()).to.equal(true);
      expect(await stage().lock().isHeldByThread(hold.threadId)).to.equal(false);
      expect(await stage().blocker().tryLock(50, undefined, undefined, 1)).to.equal(false);
      const taken = await other.attach(ticket);
      expect(taken).to.include({ name: hold.name, isHeld: true });
      expect(await stage().lock(other).isHeldByThread(taken.threadId)).to.equal(true);
      if (traits.fenced === true) expect(taken.token! > hold.token!).to.equal(true);
      for (const one of [client, other, client]) {
        expect(await rejection(one.attach(ticket))).to.be.instanceOf(LockLostError);
      }
      await hold.unlock();
      await sleep(2 * WATCHDOG_MS);
      expect(taken.isHeld).to.equal(true);
      expect(await stage().blocker(client).tryLock(0, undefined, undefined, 1)).to.equal(false);
      const waiting = stage().blocker(client).lock(-1, undefined, 1);
      await stage().untilWaiting();
      await taken.unlock();
      await waiting;
      await stage().blocker(client).unlock(1);
      expect(lost).to.deep.equal([]);
    });

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

    it('ends with its lease, when nobody takes it up', async () => {
      const hold = await stage().lock().acquire();
      const startedAt = performance.now();
      const ticket = await hold.detach({ leaseTime: 0.5, unit: TimeUnit.SECONDS });
      expect(await stage().isLocked()).to.equal(true);
      const next = await stage().lock(stage().other).acquire({ waitTime: 10_000 });
      expect(performance.now() - startedAt).to.be.within(490, 8_000);
      expect(await rejection(stage().client.attach(ticket))).to.be.instanceOf(LockLostError);
      expect(next.isHeld).to.equal(true);
      await next.unlock();
    });

    it('the lease at attach counts, also a shorter one; its loss is told to the one who has it', async () => {
      const { client, other } = stage();
      const lost: [string, string][] = [];
      client.onLockLost(({ name }) => lost.push(['client', name]));
      other.onLockLost(({ name }) => lost.push(['other', name]));
      const ticket = await (await stage().lock().acquire({ leaseTime: 60_000 })).detach({ leaseTime: 60_000 });
      await expectLease(50_000, 60_000);
      const hold = await other.attach(ticket, { leaseTime: 300 });
      await expectLease(1, 300);
      await new Promise((resolve) => hold.signal.addEventListener('abort', resolve));
      expect(lost).to.deep.equal([['other', hold.name]]);
      expect(await rejection(hold.detach())).to.equal(hold.signal.reason);
      await stage().untilFree();
    });

    /** Longer than the leases of these tests, so that a shorter one is set by a command of its own. */
    const LONG = { lockWatchdogTimeout: 20_000 };

    it('whose attach() could not set its shorter lease goes back: the ticket stays valid', async () => {
      const failing = stage().newClient(LONG);
      const hold = await stage().lock(stage().newClient(LONG)).acquire();
      const ticket = await hold.detach({ leaseTime: 30_000 });
      stage().failing(failing, /^release /, 1);
      const error = await rejection(failing.attach(ticket, { leaseTime: 2_000 }));
      expect(error).to.be.instanceOf(ConnectionError);
      expect(await stage().isLocked()).to.equal(true);
      // It is given back in the background.
      const taken = await sleepUntil(() =>
        stage()
          .client.attach(ticket)
          .catch(() => null),
      );
      await sleep(2 * WATCHDOG_MS);
      expect(taken.isHeld).to.equal(true);
      expect(await stage().lock().isHeldByThread(taken.threadId)).to.equal(true);
      expect(await rejection(failing.attach(ticket))).to.be.instanceOf(LockLostError);
      await taken.unlock();
      expect(await stage().isLocked()).to.equal(false);
    });

    for (const [when, what, leaseTime] of [
      ['a hold without a lease', [1], -1],
      ['a hold without a lease, whose old one cannot be set again', [2], -1],
      ['a hold with a lease', [1], 15_000],
    ] as const) {
      it(`whose detach() fails keeps what it had: ${when}`, async () => {
        const client = stage().newClient(LONG);
        const lost: string[] = [];
        client.onLockLost(({ name }) => lost.push(name));
        const hold = await stage().lock(client).acquire({ leaseTime });
        stage().failing(client, /^change the owner /, 1);
        if (what[0] === 2) stage().failing(client, /^release /, 2);
        expect(await rejection(hold.detach({ leaseTime: 400 }))).to.be.instanceOf(ConnectionError);
        expect(hold.isHeld).to.equal(true);
        await sleep(600);
        expect(hold.isHeld).to.equal(true);
        expect(await stage().lock(client).isHeldByThread(hold.threadId)).to.equal(true);
        await expectLease(10_000, 20_000);
        expect(hold.signal.aborted).to.equal(false);
        await (await stage().client.attach(await hold.detach())).unlock();
        expect(await stage().isLocked()).to.equal(false);
        expect(lost).to.deep.equal([]);
      });
    }

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
}
