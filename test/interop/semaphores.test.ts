import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { uniqueName } from '../support/uniqueName';
import { at } from './support/paths';
import { Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { WOKEN_MS } from './support/waiting';

describeWithJava('interop: the semaphore', () => {
  let stage: Stage;
  let name: string;

  before(async () => {
    stage = await Stage.shared();
  });

  beforeEach(() => {
    name = uniqueName();
  });

  const channel = (): string => `redisson_sc:{${name}}`;

  bothWays('permits set, added, drained and counted by one side are there for the other', async (first, second) => {
    const [a, b] = [stage.peer(first), stage.peer(second)];
    const semaphore = at.semaphore(name);
    expect(await a.call(semaphore, 'trySetPermits', 5)).to.equal(true);
    expect(await b.call(semaphore, 'trySetPermits', 7)).to.equal(false);
    expect(await b.call(semaphore, 'tryAcquire', 3)).to.equal(true);
    expect(await a.call(semaphore, 'availablePermits')).to.equal(2);
    expect(await a.call(semaphore, 'tryAcquire', 3)).to.equal(false);
    await a.call(semaphore, 'addPermits', 4);
    expect(await b.call(semaphore, 'drainPermits')).to.equal(6);
    expect(await a.call(semaphore, 'tryAcquire')).to.equal(false);
    // Nobody owns a permit: who has none may give one back.
    await a.call(semaphore, 'release', 2);
    expect(await b.call(semaphore, 'availablePermits')).to.equal(2);
    expect(await b.call(semaphore, 'releaseIfExists', 1)).to.equal(true);
    expect(await a.call(semaphore, 'delete')).to.equal(true);
    expect(await b.call(semaphore, 'releaseIfExists', 1)).to.equal(false);
  });

  bothWays('a waiter is in as soon as the other side releases', async (first, second) => {
    const semaphore = at.semaphore(name);
    const [giver, waiter] = [stage.peer(first).thread('giver'), stage.peer(second).thread('waiter')];
    await giver.call(semaphore, 'trySetPermits', 1);
    const waiting = waiter.timed(semaphore, 'acquire', 2);
    await stage.probe.untilSubscribed(channel());
    const released = await giver.timed(semaphore, 'release', 1);
    expect((await waiting).endedAt - released.startedAt).to.be.within(0, WOKEN_MS);
    expect(await giver.call(semaphore, 'availablePermits')).to.equal(0);
  });

  bothWays('one release of five lets five waiters in', async (first, second) => {
    const semaphore = at.semaphore(name);
    const waiters = [1, 2, 3, 4, 5].map((i) => stage.peer(second).thread(`waiter-${i}`));
    const waiting = waiters.map((waiter) => waiter.timed(semaphore, 'tryAcquire', 1, 20, 'SECONDS'));
    await stage.probe.untilSubscribed(channel());
    // They share one subscription; let all of them have made their attempt.
    await sleep(200);
    const released = await stage.peer(first).thread().timed(semaphore, 'release', 5);
    for (const { result, endedAt } of await Promise.all(waiting)) {
      expect(result).to.equal(true);
      expect(endedAt - released.startedAt).to.be.below(WOKEN_MS);
    }
  });

  bothWays('waiters of both sides are let in by permits that are set', async (first, second) => {
    const semaphore = at.semaphore(name);
    const waiting = [first, second].map((side) => stage.peer(side).thread('waiter').timed(semaphore, 'acquire'));
    await stage.probe.untilSubscribed(channel(), 2);
    await stage.peer(first).call(semaphore, 'trySetPermits', 2);
    await Promise.all(waiting);
    expect(await stage.peer(second).call(semaphore, 'availablePermits')).to.equal(0);
  });

  bothWays('a waiter whose time is up gets nothing and takes nothing', async (first, second) => {
    const semaphore = at.semaphore(name);
    await stage.peer(first).call(semaphore, 'trySetPermits', 1);
    const tried = await stage.peer(second).thread().timed(semaphore, 'tryAcquire', 2, 200, 'MILLISECONDS');
    expect(tried.result).to.equal(false);
    expect(tried.endedAt - tried.startedAt).to.be.within(199, 200 + WOKEN_MS);
    await stage.probe.untilUnsubscribed(channel());
    expect(await stage.peer(first).call(semaphore, 'availablePermits')).to.equal(1);
  });

  bothWays('a time to live set by one side is kept by the acquisitions of the other', async (first, second) => {
    const semaphore = at.semaphore(name);
    await stage.peer(first).call(semaphore, 'trySetPermits', 3, { durationMs: 20_000 });
    await stage.peer(second).call(semaphore, 'acquire', 2);
    await stage.peer(second).call(semaphore, 'release', 1);
    expect(await stage.probe.redis.pttl(name)).to.be.within(10_000, 20_000);
  });
});
