import { expect } from 'chai';
import { monitor, RedisServer, sleep, sleepUntil, trackClient, uniqueName } from '../../support';
import { bareClient, untilListening } from '../synchronizers/support';
import { type Done, LockProcess } from './LockProcess';

const WATCHDOG_MS = 1_500;

/** A lock and two processes: what the package is for. */
describe('two processes', function () {
  this.timeout(40_000);
  let server: RedisServer;
  let holder: LockProcess;
  let waiter: LockProcess;
  let name: string;

  beforeEach(async () => {
    server = trackClient(await RedisServer.start());
    const processes = [LockProcess.start(server.url, WATCHDOG_MS), LockProcess.start(server.url, WATCHDOG_MS)];
    [holder, waiter] = (await Promise.all(processes)).map(trackClient) as [LockProcess, LockProcess];
    name = uniqueName();
  });

  /** The second process waits, on pub/sub. */
  async function waiting(): Promise<{ readonly done: Promise<Done<void>>; readonly isIn: () => boolean }> {
    let isIn = false;
    const done = waiter.do({ kind: 'lock', name }).finally(() => (isIn = true));
    done.catch(() => undefined);
    await untilListening(bareClient(server.url), `redisson_lock__channel:{${name}}`);
    await sleep(50);
    return { done, isIn: () => isIn };
  }

  it('the second waits without asking, and gets in within a moment of the unlock of the first', async () => {
    await holder.do({ kind: 'lock', name, leaseMs: 30_000 });
    const { done, isIn } = await waiting();
    const seen = trackClient(await monitor(server.url));
    await sleep(500);
    expect(await seen.sentNames(), 'commands while nothing happens').to.deep.equal([]);
    expect(isIn()).to.equal(false);
    const unlocked = await holder.do({ kind: 'unlock', name });
    const locked = await done;
    expect(locked.endedAt).to.be.greaterThan(unlocked.startedAt);
    expect(locked.endedAt - unlocked.startedAt, 'ms from unlock to lock').to.be.lessThan(500);
    await waiter.do({ kind: 'unlock', name });
  });

  it('a holder that lives keeps the lock for as long as it works, several leases long', async () => {
    await holder.do({ kind: 'lock', name });
    const { done, isIn } = await waiting();
    await sleep(WATCHDOG_MS * 2.5);
    expect(isIn()).to.equal(false);
    await holder.do({ kind: 'unlock', name });
    await done;
    await waiter.do({ kind: 'unlock', name });
  });

  it('a holder that is killed frees the lock within its lease, and not before', async () => {
    const locked = await holder.do({ kind: 'lock', name });
    const { done, isIn } = await waiting();
    await sleep(WATCHDOG_MS);
    await holder.kill();
    const left = await bareClient(server.url).pttl(name);
    expect(left).to.be.within(WATCHDOG_MS / 4, WATCHDOG_MS);
    await sleep(left / 2);
    expect(isIn()).to.equal(false);
    const inAt = await done;
    expect(inAt.endedAt - locked.endedAt).to.be.within(WATCHDOG_MS, 2 * WATCHDOG_MS + 1_500);
    await waiter.do({ kind: 'unlock', name });
  });

  it('a waiter that is killed costs the others nothing', async () => {
    await holder.do({ kind: 'lock', name, leaseMs: 30_000 });
    await waiting();
    await waiter.kill();
    await holder.do({ kind: 'unlock', name });
    const again = await holder.do({ kind: 'lock', name });
    expect(again.endedAt - again.startedAt).to.be.lessThan(1_000);
    await sleepUntil(async () => (await bareClient(server.url).exists(name)) === 1);
    await holder.do({ kind: 'unlock', name });
  });

  it('1000 waiters of one process on one held lock send nothing while nothing happens', async () => {
    await holder.do({ kind: 'lock', name, leaseMs: 30_000 });
    await waiter.do({ kind: 'wait', name, waiters: 1_000 });
    await untilListening(bareClient(server.url), `redisson_lock__channel:{${name}}`);
    await sleep(200);
    const seen = trackClient(await monitor(server.url));
    await sleep(1_000);
    expect(await seen.sentNames()).to.deep.equal([]);
  });
});
