import { expect } from 'chai';
import { uniqueName } from '../support/uniqueName';
import { at } from './support/paths';
import { Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { WOKEN_MS } from './support/waiting';

describeWithJava('interop: the semaphore with permits that expire', () => {
  let stage: Stage;
  let name: string;

  before(async () => {
    stage = await Stage.shared();
  });

  beforeEach(() => {
    name = uniqueName();
  });

  const zset = (): string => `{${name}}:timeout`;
  const channel = (): string => `redisson_sc:{${name}}`;

  bothWays('a permit taken by one side is released by the other, by its id', async (first, second) => {
    const [a, b] = [stage.peer(first), stage.peer(second)];
    const permits = at.permits(name);
    expect(await a.call(permits, 'trySetPermits', 2)).to.equal(true);
    const id = await a.call<string>(permits, 'acquire');
    expect(id).to.match(/^[0-9a-f]{32}$/);
    const [member] = (await stage.probe.redis.callBuffer('ZRANGE', zset(), '0', '-1')) as Buffer[];
    expect(member?.toString('hex')).to.equal(id);
    expect(await b.call(permits, 'availablePermits')).to.equal(1);
    expect(await b.call(permits, 'acquiredPermits')).to.equal(1);
    expect(await b.call(permits, 'getPermits')).to.equal(2);
    expect(await b.call(permits, 'getLeaseTime', id)).to.equal(-1);
    expect(await b.call(permits, 'tryRelease', id)).to.equal(true);
    expect(await a.call(permits, 'tryRelease', id)).to.equal(false);
    expect(await a.call(permits, 'availablePermits')).to.equal(2);
  });

  bothWays('many permits at once, released all or none', async (first, second) => {
    const [a, b] = [stage.peer(first), stage.peer(second)];
    const permits = at.permits(name);
    await a.call(permits, 'trySetPermits', 3);
    const ids = await a.call<string[]>(permits, 'acquire', 3);
    expect(await b.call(permits, 'tryAcquire', 1)).to.deep.equal([]);
    expect(await b.call(permits, 'tryRelease', [...ids, '0'.repeat(32)])).to.equal(0);
    expect(await b.call(permits, 'tryRelease', ids)).to.equal(3);
    expect(await a.call(permits, 'availablePermits')).to.equal(3);
  });

  bothWays('a waiter is in as soon as the other side releases', async (first, second) => {
    const permits = at.permits(name);
    const [holder, waiter] = [stage.peer(first).thread('holder'), stage.peer(second).thread('waiter')];
    await holder.call(permits, 'trySetPermits', 1);
    const id = await holder.call<string>(permits, 'acquire', 60, 'SECONDS');
    const waiting = waiter.timed<string>(permits, 'acquire');
    await stage.probe.untilSubscribed(channel());
    const released = await holder.timed(permits, 'release', id);
    const acquired = await waiting;
    expect(acquired.endedAt - released.startedAt).to.be.within(0, WOKEN_MS);
    expect(acquired.result).to.not.equal(id);
    await holder.call(permits, 'release', acquired.result);
  });

  bothWays('a waiter is in when the permit of the other side expires', async (first, second) => {
    const permits = at.permits(name);
    await stage.peer(first).call(permits, 'trySetPermits', 1);
    const held = await stage.peer(first).thread().timed<string>(permits, 'acquire', 400, 'MILLISECONDS');
    const acquired = await stage.peer(second).thread().timed<string>(permits, 'acquire', 30, 'SECONDS');
    expect(acquired.endedAt).to.be.within(held.startedAt + 399, held.endedAt + 400 + WOKEN_MS);
    expect(await stage.peer(first).call(permits, 'tryRelease', held.result)).to.equal(false);
    expect(await stage.peer(first).call(permits, 'getLeaseTime', acquired.result)).to.be.within(20_000, 30_000);
    expect(await stage.peer(first).call(permits, 'updateLeaseTime', acquired.result, 60, 'SECONDS')).to.equal(true);
    expect(await stage.peer(second).call(permits, 'getLeaseTime', acquired.result)).to.be.within(50_000, 60_000);
    await stage.peer(first).call(permits, 'release', acquired.result);
  });

  bothWays('the total set by one side counts what the other has taken', async (first, second) => {
    const [a, b] = [stage.peer(first), stage.peer(second)];
    const permits = at.permits(name);
    await a.call(permits, 'trySetPermits', 2);
    await b.call(permits, 'acquire', 2);
    await a.call(permits, 'setPermits', 3);
    expect(await b.call(permits, 'availablePermits')).to.equal(1);
    await b.call(permits, 'addPermits', 2);
    expect(await a.call(permits, 'getPermits')).to.equal(5);
    expect(await b.call(permits, 'delete')).to.equal(true);
    expect(await stage.probe.keysOf(name)).to.deep.equal([]);
  });
});
