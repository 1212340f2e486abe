import { expect } from 'chai';
import type { LockHold, Redisson } from '../../lib';
import { monitor, redisUrl, sleep, sleepUntil, trackClient, uniqueName } from '../support';
import { Child } from './childProcess';
import { client, connection, LONG_LEASE_MS, openScene, SOON_MS, subscribers, within } from './scene';

/** More than a timer of Node can. */
const FOREVER_MS = 2 ** 31 + 60_000;

describe('limits', () => {
  const warnings: string[] = [];
  const warned = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`);

  beforeEach(() => {
    warnings.length = 0;
    process.on('warning', warned);
  });

  afterEach(async () => {
    // A warning is told in the turn after its cause.
    await sleep(1);
    process.off('warning', warned);
    expect(warnings).to.deep.equal([]);
  });

  it('a lease longer than any timer holds, and nobody spins over it', async () => {
    const { direct, url } = await openScene();
    const name = uniqueName();
    const hold = await client(url).getLock(name).acquire({ leaseTime: FOREVER_MS });
    const waiting = client(url).getLock(name).acquire({ waitTime: FOREVER_MS, leaseTime: FOREVER_MS });
    await sleepUntil(async () => (await subscribers(direct, name)) > 0);
    const seen = trackClient(await monitor(url));
    await sleep(300);
    // No overflowing timer, which fires at once and for ever, here or in the watchdog.
    expect((await seen.sentNames()).length).to.be.lessThan(3);
    expect(hold.isHeld).to.be.true;
    expect(hold.signal.aborted).to.be.false;
    expect(await direct.pttl(name)).to.be.greaterThan(2 ** 31);
    await hold.unlock();
    const next = await within(SOON_MS, 'the waiter gets in', waiting);
    expect(await direct.pttl(name)).to.be.greaterThan(2 ** 31);
    await next.unlock();
  });

  it('2000 waiters of one process on one lock are one waiter for Redis, and all get in, one at a time', async () => {
    const { direct, url } = await openScene();
    const name = uniqueName();
    const held = await client(url).getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    const redisson = client(url);
    let inside = 0;
    let most = 0;
    let visits = 0;
    const contenders = Array.from({ length: 2_000 }, () =>
      redisson.getLock(name).withLock(async () => {
        most = Math.max(most, ++inside);
        visits++;
        await Promise.resolve();
        inside--;
      }),
    );
    await sleepUntil(async () => (await subscribers(direct, name)) > 0);
    const seen = trackClient(await monitor(url));
    await sleep(300);
    expect(await subscribers(direct, name)).to.equal(1);
    expect((await seen.sent()).filter(({ name: command }) => command.startsWith('eval')).length).to.be.lessThan(3);
    await seen.clear();
    await held.unlock();
    await within(30_000, 'all get in', Promise.all(contenders));
    expect([most, visits]).to.deep.equal([1, 2_000]);
    // A hand-over each, and a real unlock now and then.
    const commands = (await seen.sent()).filter(({ name: command }) => command.startsWith('eval')).length;
    expect(commands).to.be.lessThan(2_000 + 400);
  }).timeout(60_000);

  it('2000 waiters that share one signal leave together when it aborts', async () => {
    const { direct, url } = await openScene();
    const name = uniqueName();
    const held = await client(url).getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    const redisson = client(url);
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const contenders = Array.from({ length: 2_000 }, () => redisson.getLock(name).acquire(options));
    const outcomes = Promise.allSettled(contenders);
    await sleepUntil(async () => (await subscribers(direct, name)) > 0);
    controller.abort('enough');
    const reasons = new Set(
      (await outcomes).map((one) => (one.status === 'rejected' ? (one.reason as unknown) : 'in')),
    );
    expect(reasons).to.deep.equal(new Set(['enough']));
    await sleepUntil(async () => (await subscribers(direct, name)) === 0, { message: 'nobody listens any more' });
    await held.unlock();
    expect(await direct.exists(name)).to.equal(0);
  });

  it('3000 locks of one client are renewed in batches, by one timer', async () => {
    const { direct, url } = await openScene();
    // Long, since a machine that is busy with other things may stop all of this for a second or two.
    const redisson = client(url, { lockWatchdogTimeout: 9_000, timeout: 9_000 });
    const prefix = uniqueName('many');
    const holds = await Promise.all(
      Array.from({ length: 3_000 }, (_, i) => redisson.getLock(`${prefix}:${i}`).acquire()),
    );
    const seen = trackClient(await monitor(url));
    const renewals = async (): Promise<number> => (await seen.sentNames()).filter((n) => n.startsWith('eval')).length;
    await sleepUntil(async () => (await renewals()) >= 30, { timeout: 8_000, interval: 100, message: '30 batches' });
    await sleep(500);
    // 30 batches each time; and not a command for each lock.
    expect(await renewals()).to.be.within(30, 150);
    expect(holds.filter((hold) => hold.isHeld).length).to.equal(holds.length);
    await Promise.all(holds.map((hold) => hold.unlock()));
    expect(await direct.exists(...holds.map(({ name }) => name))).to.equal(0);
  }).timeout(30_000);

  it('a hundred clients compete for one lock, one inside at a time, and nobody asks in vain while it is held', async () => {
    const direct = connection();
    const name = uniqueName();
    const held = await client(redisUrl()).getLock(name).acquire({ leaseTime: LONG_LEASE_MS });
    const clients: Redisson[] = Array.from({ length: 100 }, () => client(redisUrl(), { timeout: 5_000 }));
    let inside = 0;
    let most = 0;
    const contenders = clients.map((one) =>
      one.getLock(name).withLock(async () => {
        most = Math.max(most, ++inside);
        await sleep(1);
        inside--;
      }),
    );
    await sleepUntil(async () => (await subscribers(direct, name)) === 100, { timeout: 20_000 });
    // Each has made its second attempt, too.
    await sleep(500);
    const seen = trackClient(await monitor(redisUrl()));
    await sleep(300);
    expect((await seen.sent()).filter((command) => command.name.startsWith('eval'))).to.have.lengthOf(0);
    await held.unlock();
    await within(30_000, 'all get in', Promise.all(contenders));
    expect(most).to.equal(1);
  }).timeout(60_000);

  it('keeps the memory flat over repeated runs', async function () {
    this.timeout(120_000);
    const child = trackClient(new Child('memoryRuns.ts', [redisUrl(), uniqueName()], ['--expose-gc']));
    const heaps = JSON.parse(await child.line(0)) as number[];
    const half = heaps.length / 2;
    const early = Math.min(...heaps.slice(0, half));
    const late = Math.min(...heaps.slice(half));
    // What a run leaves would add up; a run has more than a thousand waiters, each of more than a kilobyte.
    expect(late - early, `heaps after each run: ${heaps.join(', ')}`).to.be.lessThan(400_000);
  });

  it('20 commands that time out together after a stall give their connection up once', async () => {
    const { proxy } = await openScene();
    const redisson = client(proxy.url, { timeout: 100, retryAttempts: 0 });
    const lock = redisson.getLock(uniqueName());
    await lock.isLocked();
    proxy.blackhole();
    const asking = Promise.allSettled(Array.from({ length: 20 }, () => lock.isLocked()));
    await sleep(1);
    stall(400);
    const codes = (await asking).map((one) => one.status === 'rejected' && (one.reason as { code: string }).code);
    expect(new Set(codes)).to.deep.equal(new Set(['COMMAND_TIMEOUT']));
    proxy.cut();
    await proxy.pass();
    await sleepUntil(() =>
      lock.isLocked().then(
        () => true,
        () => false,
      ),
    );
  });

  it('an answer that came while the event loop was blocked is an answer, however late it is read', async () => {
    const redisson = client((await openScene()).url, { timeout: 100, retryAttempts: 0 });
    const lock = redisson.getLock(uniqueName());
    await lock.isLocked();
    const asking = lock.isLocked();
    // Written at the end of this turn; the answer comes while nobody reads.
    await new Promise(setImmediate);
    stall(400);
    expect(await asking).to.equal(false);
  });

  it('an operation that is never awaited rejects nothing unhandled when the client is shut down', async () => {
    const { url } = await openScene();
    const name = uniqueName();
    const redisson = client(url);
    const hold: LockHold = await client(url).getLock(name).acquire();
    const waiting = Promise.allSettled(Array.from({ length: 10 }, () => redisson.getLock(name).acquire()));
    await redisson.shutdown();
    const outcomes = await waiting;
    expect(outcomes.map(({ status }) => status)).to.deep.equal(outcomes.map(() => 'rejected'));
    await hold.unlock();
  });
});

/** Blocks the event loop of this process. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
