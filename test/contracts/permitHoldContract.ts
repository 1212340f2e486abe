import { expect } from 'chai';
import {
  ConfigError,
  type LockHold,
  LockLostError,
  LockTimeoutError,
  type PermitHold,
  type RPermitExpirableSemaphore,
  ShutdownError,
  TimeUnit,
} from '../../lib';
import { newClient, openName, rejection } from '../redis/synchronizers/support';
import { risen } from '../support/sleepUntil';
import { sleep, sleepUntil } from './world';

/** Long enough for a machine that stands still for two seconds; a third of it is short enough to wait for. */
const WATCHDOG_MS = 4_500;

/** Permits that are held as objects: `acquireHold` and `withPermits` of the semaphore with leased permits. */
export function permitHoldSuite(): void {
  const stage = async (permits = 3) => {
    const client = newClient({ lockWatchdogTimeout: WATCHDOG_MS });
    const { redis, name } = openName('held');
    const semaphore = client.getPermitExpirableSemaphore(name);
    await semaphore.trySetPermits(permits);
    const other = newClient().getPermitExpirableSemaphore(name);
    return { client, redis, name, semaphore, other };
  };

  async function expectAllBack(semaphore: RPermitExpirableSemaphore, permits = 3): Promise<void> {
    await sleepUntil(async () => (await semaphore.availablePermits()) === permits);
    expect(await semaphore.acquiredPermits()).to.equal(0);
  }

  /** Resolves when the permit was renewed: it lives longer than it did. */
  async function renewed(semaphore: RPermitExpirableSemaphore, id: string): Promise<void> {
    await sleepUntil(risen(() => semaphore.getLeaseTime(id)));
  }

  it('are ordinary permits, renewed for longer than their lease, and released once', async () => {
    const { semaphore, other } = await stage();
    const hold = await semaphore.acquireHold({ permits: 2 });
    expect(hold).to.include({ permits: 2, isHeld: true });
    expect(hold.ids).to.have.length(2);
    for (const id of hold.ids) expect(id).to.match(/^[0-9a-f]{32}$/);
    // A renewal comes at each third of the lease.
    for (const id of [...hold.ids, hold.ids[0]!]) await renewed(other, id);
    expect(hold).to.include({ isHeld: true });
    expect(hold.signal.aborted).to.equal(false);
    expect(await other.availablePermits()).to.equal(1);
    for (const id of hold.ids) expect(await other.getLeaseTime(id)).to.be.within(1, WATCHDOG_MS);
    await Promise.all([hold.release(), hold.release()]);
    await hold.release();
    expect(hold).to.include({ isHeld: false });
    expect(hold.signal.aborted).to.equal(false);
    await expectAllBack(other);
  });

  it('of a lease of their own are not renewed: its end aborts the signal', async () => {
    const { client, semaphore, other } = await stage();
    const lost: string[] = [];
    client.onLockLost(({ name }) => lost.push(name));
    const hold = await semaphore.acquireHold({ leaseTime: 0.3, unit: TimeUnit.SECONDS });
    await new Promise((resolve) => hold.signal.addEventListener('abort', resolve));
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    expect(hold.isHeld).to.equal(false);
    expect(lost).to.deep.equal([semaphore.name]);
    expect((hold.signal.reason as Error).message).to.match(/^A hold of permits of semaphore 'held/);
    expect(await rejection(hold.release())).to.equal(hold.signal.reason);
    await expectAllBack(other);
  });

  it('are lost as soon as a renewal finds one of them gone; the others come back', async () => {
    const { client, semaphore, other } = await stage();
    const lost: unknown[] = [];
    client.onLockLost(({ cause }) => lost.push(cause));
    const hold = await semaphore.acquireHold({ permits: 3 });
    const beside = other.acquire();
    await other.release(hold.ids[1]!);
    await beside;
    await new Promise((resolve) => hold.signal.addEventListener('abort', resolve));
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    expect(lost).to.deep.equal([hold.signal.reason]);
    expect(await rejection(hold.release())).to.equal(hold.signal.reason);
    await sleepUntil(async () => (await other.availablePermits()) === 2);
    expect(await other.acquiredPermits()).to.equal(1);
  });

  it('whose release finds one gone reject with LockLostError, and leave nothing behind', async () => {
    const { semaphore, other } = await stage();
    const hold = await semaphore.acquireHold({ permits: 2, leaseTime: 30_000 });
    await other.release(hold.ids[0]!);
    expect(await rejection(hold.release())).to.be.instanceOf(LockLostError);
    expect(hold.signal.aborted).to.equal(true);
    await expectAllBack(other);
    const gone = await semaphore.acquireHold();
    await other.delete();
    await gone[Symbol.asyncDispose]();
    expect(gone.isHeld).to.equal(false);
  });

  it('are waited for, as long as waitTime says', async () => {
    const { semaphore, other } = await stage(1);
    const id = await other.acquire();
    const error = await rejection(semaphore.acquireHold({ waitTime: 500 }));
    expect(error).to.be.instanceOf(LockTimeoutError);
    expect(error).to.include({ reason: 'held', waitTime: 500, lockName: semaphore.name });
    expect(await rejection(semaphore.acquireHold({ waitTime: 0 }))).to.be.instanceOf(LockTimeoutError);
    const aborting = new AbortController();
    const waiting = semaphore.acquireHold({ signal: aborting.signal });
    const reason = new Error('enough');
    aborting.abort(reason);
    expect(await rejection(waiting)).to.equal(reason);
    const next = semaphore.acquireHold({ waitTime: 20_000 });
    await other.release(id);
    await using hold = await next;
    expect(await other.acquiredPermits()).to.equal(1);
    expect(hold.isHeld).to.equal(true);
  });

  it('withPermits runs the work, and releases them, also when it throws', async () => {
    const { semaphore, other } = await stage();
    let seen: PermitHold | undefined;
    const result = await semaphore.withPermits(2, async (hold) => {
      seen = hold;
      await renewed(other, hold.ids[0]!);
      expect(await other.availablePermits()).to.equal(1);
      return 'done';
    });
    expect(result).to.equal('done');
    expect(seen).to.include({ permits: 2, isHeld: false });
    const failure = new Error('no');
    expect(await rejection(semaphore.withPermits(1, () => Promise.reject(failure)))).to.equal(failure);
    expect(
      await rejection(
        semaphore.withPermits(1, (hold) => {
          throw new Error(`sync ${hold.permits}`);
        }),
      ),
    ).to.have.property('message', 'sync 1');
    await expectAllBack(other);
    const lost = semaphore.withPermits(1, (hold) => other.release(hold.ids[0]!));
    expect(await rejection(lost)).to.be.instanceOf(LockLostError);
    await expectAllBack(other);
  });

  it('zero permits are held without Redis', async () => {
    const { semaphore, other } = await stage();
    const hold = await semaphore.acquireHold({ permits: 0, leaseTime: 10 });
    expect(hold).to.deep.include({ permits: 0, ids: [], isHeld: true });
    await sleep(50);
    expect(hold.signal.aborted).to.equal(false);
    await hold.release();
    expect(hold.isHeld).to.equal(false);
    expect(await semaphore.withPermits(0, ({ permits }) => permits)).to.equal(0);
    await expectAllBack(other);
  });

  it('zero permits, which nothing can take away, keep no client that drains waiting, and their hold may be dropped', async () => {
    const { client, semaphore } = await stage();
    const hold = await semaphore.acquireHold({ permits: 0 });
    // Longer than a test may take.
    await client.shutdown({ drain: 60_000 });
    expect(hold.isHeld).to.equal(true);
    await hold.release();
    expect(hold.isHeld).to.equal(false);
  });

  it('bad input is refused at the call, and changes nothing', async () => {
    const { semaphore, other } = await stage();
    let ran = 0;
    const work = (): number => (ran += 1);
    for (const permits of [-1, 1.5, NaN, '1', null] as number[]) {
      expect(await rejection(semaphore.acquireHold({ permits }))).to.be.instanceOf(RangeError);
      expect(await rejection(semaphore.withPermits(permits, work))).to.be.instanceOf(RangeError);
    }
    for (const leaseTime of [0, -2, NaN, Infinity]) {
      expect(await rejection(semaphore.acquireHold({ leaseTime }))).to.be.instanceOf(RangeError);
    }
    expect(await rejection(semaphore.acquireHold({ waitTime: NaN }))).to.be.instanceOf(RangeError);
    for (const options of [5, 'x', null, { wait: 5 }, { maxRenewTimes: 1 }, { signal: 5 }] as object[]) {
      expect(await rejection(semaphore.acquireHold(options))).to.be.instanceOf(ConfigError);
    }
    for (const options of [{ permits: 1 }, { leaseTime: 5 }] as object[]) {
      expect(await rejection(semaphore.withPermits(1, work, options))).to.be.instanceOf(ConfigError);
    }
    const unit = 'SECONDS' as never;
    expect(await rejection(semaphore.acquireHold({ unit }))).to.be.instanceOf(TypeError);
    expect(await rejection(semaphore.withPermits(1, () => 1, { unit }))).to.be.instanceOf(TypeError);
    expect(await rejection(semaphore.withPermits(1, 'work' as never))).to.be.instanceOf(TypeError);
    expect(ran).to.equal(0);
    await expectAllBack(other);
  });

  it('a client that drains waits for them, renews them, and lets their work go on; then it leaves them', async () => {
    const { client, semaphore, other, name } = await stage();
    const plain = newClient().getSemaphore(`${name}:plain`);
    await plain.trySetPermits(1);
    let inner: LockHold | undefined;
    const work = semaphore.withPermits(1, async (hold) => {
      await renewed(other, hold.ids[0]!);
      await client.getLock(`${name}:inner`).withLock((hold) => (inner = hold));
    });
    const counted = client.getSemaphore(plain.name).withPermits(1, () => sleep(900));
    await sleepUntil(async () => (await other.acquiredPermits()) === 1 && (await plain.availablePermits()) === 0);
    const closing = client.shutdown({ drain: 20_000 });
    expect(await rejection(semaphore.acquireHold())).to.be.instanceOf(ShutdownError);
    await Promise.all([work, counted, closing]);
    expect(inner?.isHeld).to.equal(false);
    await expectAllBack(other);
    expect(await plain.availablePermits()).to.equal(1);
    await plain.delete();
    const left = newClient({ lockWatchdogTimeout: 900 });
    const hold = await left.getPermitExpirableSemaphore(name).acquireHold();
    await left.shutdown();
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    await sleepUntil(async () => (await other.availablePermits()) === 3);
  });
}
