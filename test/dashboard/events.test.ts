import { expect } from 'chai';
import { Redisson, TimeUnit } from '../../lib';
import { createDashboard } from '../../lib/operators/dashboard';
import type { LockDetail, LockEvent, WindowView } from '../../lib/operators/dashboard/wire';
import { redisUrl, sleepUntil, trackClient, uniqueName } from '../support';
import { ask, serve } from './support/world';

/** Renewed every two seconds, when a loss is noticed; a machine that stands still for two more loses nothing. */
const WATCHDOG_MS = 6_000;

const clientOf = (url: string): Redisson => trackClient(Redisson.create({ url, lockWatchdogTimeout: WATCHDOG_MS }));

describe('the dashboard: events of locks of its own process', function () {
  this.timeout(20_000);
  let redisson: Redisson;
  let base: string;
  let name: string;

  beforeEach(async () => {
    redisson = clientOf(redisUrl());
    base = await serve(trackClient(createDashboard({ redisson })));
    name = uniqueName('told');
  });

  /** Somebody looks. */
  const look = (): Promise<unknown> => ask(`${base}/api/locks`);

  async function lockOf(one = name): Promise<LockDetail | undefined> {
    const { text } = await ask(`${base}/api/lock?name=${encodeURIComponent(one)}`);
    return (JSON.parse(text) as { lock?: LockDetail | null }).lock ?? undefined;
  }

  /** Waits until the watch has seen these holders of a lock. */
  async function holds(owners: readonly string[], one = name): Promise<LockDetail | undefined> {
    const isSeen = async (): Promise<boolean> => {
      const { text } = await ask(`${base}/api/locks?search=${encodeURIComponent(one)}`);
      const { rows } = JSON.parse(text) as WindowView;
      const seen = rows.find((row) => row.name === one)?.holders.map(({ owner }) => owner) ?? [];
      return JSON.stringify(seen) === JSON.stringify(owners);
    };
    await sleepUntil(isSeen, { timeout: 10_000, message: `the watch has seen ${owners.join() || 'no holders'}` });
    return lockOf(one);
  }

  /** The oldest first, without durations. */
  const told = (lock: LockDetail | undefined): string[] =>
    [...(lock?.events ?? [])]
      .reverse()
      .map(({ source, level, text }) => `${source} ${level}: ${text.replace(/[\d.]+ m?s\b/g, '_')}`);

  const ownersIn = (events: readonly LockEvent[]): Set<string | undefined> => new Set(events.map(({ owner }) => owner));

  it('a hold, each of its events once, with the owner as it is on the wire', async () => {
    await look();
    const lock = redisson.getReadWriteLock(name).writeLock();
    const hold = await lock.acquire();
    const owner = `${redisson.getId()}:${hold.threadId}:write`;
    const seen = await holds([owner]);
    expect(told(seen)).to.deep.equal(['process info: acquired']);
    expect(seen!.exact).to.equal(true);
    expect(await lock.tryLock({ threadId: hold.threadId })).to.equal(true);
    await lock.unlock({ threadId: hold.threadId });
    await hold.unlock();
    const after = await holds([]);
    expect(told(after)).to.deep.equal([
      'process info: acquired',
      'process info: acquired again by its holder',
      'process info: released once, held once more, after _',
      'process info: released after _',
    ]);
    expect(ownersIn(after!.events)).to.deep.equal(new Set([owner]));
  });

  it('a wait: what came of it, and none of attempts that do not wait', async () => {
    await look();
    const lock = redisson.getLock(name);
    const first = await lock.acquire();
    await holds([`${redisson.getId()}:${first.threadId}`]);
    expect(await lock.tryLock({ threadId: 4 })).to.equal(false);
    expect(await lock.tryLock(20, undefined, TimeUnit.MILLISECONDS, { threadId: 5 })).to.equal(false);
    const controller = new AbortController();
    const aborted = lock.acquire({ signal: controller.signal }).catch(() => undefined);
    const next = lock.acquire();
    await sleepUntil(async () => (await lockOf())?.waiters, { message: 'the look shows that somebody waits' });
    controller.abort();
    await aborted;
    await first.unlock();
    await (await next).unlock();
    const lines = told(await holds([])).filter((line) => line.startsWith('process'));
    // Whether a release or the hand-over that is part of it ends first is no promise.
    expect(lines).to.have.members([
      'process info: acquired',
      'process warning: gave up after _ of waiting',
      'process info: stopped waiting: aborted',
      'process info: released after _',
      'process info: acquired after _ of waiting',
      'process info: released after _',
    ]);
  });

  it('a loss, once', async () => {
    await look();
    const hold = await redisson.getLock(name).acquire();
    const owner = `${redisson.getId()}:${hold.threadId}`;
    await holds([owner]);
    await redisson.getLock(name).forceUnlock();
    await sleepUntil(() => hold.signal.aborted, { timeout: WATCHDOG_MS, message: 'the loss is noticed' });
    const { events } = (await holds([]))!;
    const lost = events.filter(({ text }) => text.startsWith('lost'));
    expect(lost).to.have.lengthOf(1);
    expect(lost[0]).to.include({ source: 'process', level: 'error', owner });
    expect(lost[0]!.text).to.include('after').and.include(name);
  });

  it('a loss, and an end, of what was taken before anybody looked', async () => {
    const other = uniqueName('told');
    const hold = await redisson.getLock(name).acquire();
    const released = await redisson.getLock(other).acquire();
    const owners = [hold, released].map(({ threadId }) => `${redisson.getId()}:${threadId}`);
    await look();
    await holds([owners[0]!]);
    await holds([owners[1]!], other);
    await redisson.getLock(name).forceUnlock();
    await sleepUntil(() => hold.signal.aborted, { timeout: WATCHDOG_MS, message: 'the loss is noticed' });
    const lost = (await holds([]))!.events.filter(({ source }) => source === 'process');
    expect(lost.map(({ level, owner }) => [level, owner])).to.deep.equal([['error', owners[0]]]);
    expect(lost[0]!.text).to.match(/^lost: /);
    await released.unlock();
    const after = (await holds([], other))!.events;
    expect(after.map(({ source, owner }) => [source, owner])).to.deep.equal([['seen', owners[1]]]);
  });

  it('nothing of the locks of another Redis', async () => {
    await look();
    const elsewhere = clientOf(`${redisUrl()}/1`);
    const hold = await elsewhere.getLock(name).acquire();
    await elsewhere.getLock(name).forceUnlock();
    await sleepUntil(() => hold.signal.aborted, { timeout: WATCHDOG_MS, message: 'the loss is noticed' });
    expect(told(await lockOf())).to.deep.equal([]);
  });
});
