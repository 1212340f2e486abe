// Ids in titles: test/README.md
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redisson } from '../../lib/Redisson';
import { monotonicNow, sleep, sleepUntil, trackClient, uniqueName } from '../support';
import { ReplicatedRedis, replicasFollow } from '../support/ReplicatedRedis';
import { sentinelConfig } from '../support/topologyConfigs';
import { SOON_MS, within } from './helpers';

/** What TP-01 tolerates: a lock that the replica has not got yet is not there after the failover. */
const TOLERATED = /READONLY|attempt to unlock lock|replicas confirmed|lost before the answer|ERR WAIT/;

/** So long nothing fails once a failover is through: longer than anybody waits for a replica to confirm. */
const CALM_MS = 1_500;

describe('sentinels', function () {
  this.timeout(60_000);
  let group: ReplicatedRedis;

  beforeEach(async () => {
    group = trackClient(await ReplicatedRedis.start({ replicas: 2, sentinels: 3 }));
  });

  it('a lock that is held and waited for survives the death of the master', async () => {
    const one = trackClient(Redisson.create(sentinelConfig(group)));
    const other = trackClient(Redisson.create(sentinelConfig(group)));
    const lost: unknown[] = [];
    one.onLockLost((event) => lost.push(event));
    const name = uniqueName();
    const held = await one.getLock(name).acquire();
    const waited = other.getLock(name);
    const waiting = waited.lock();
    await sleep(100);
    await group.master.kill();
    // Nobody can confirm that the waiter has got the lock until the other replica follows the new master.
    await replicasFollow(await group.untilMasterIsNot(group.master.port), 1);
    expect(held.isHeld).to.equal(true);
    expect(await waited.isLocked()).to.equal(true);
    await held.unlock();
    await within(SOON_MS, waiting);
    await waited.unlock();
    expect(lost).to.deep.equal([]);
  });

  it('a lock that is held and waited for survives a master that hangs', async () => {
    const settings = { timeout: 500 };
    const one = trackClient(Redisson.create(sentinelConfig(group, settings)));
    const other = trackClient(Redisson.create(sentinelConfig(group, settings)));
    const name = uniqueName();
    const held = await one.getLock(name).acquire();
    const waited = other.getLock(name);
    const waiting = waited.lock();
    await sleep(100);
    group.master.pause();
    // Nobody can confirm that the waiter has got the lock until the other replica follows the new master.
    await replicasFollow(await group.untilMasterIsNot(group.master.port), 1);
    expect(held.isHeld).to.equal(true);
    await within(SOON_MS, held.unlock());
    // Nothing tells the waiter that its connections lead nowhere, except that nobody answers there.
    await within(SOON_MS, waiting);
    expect(await waited.isHeldByCurrentThread()).to.equal(true);
    await waited.unlock();
  });

  it('TP-01: keeps going while the master dies', async () => {
    const client = trackClient(Redisson.create(sentinelConfig(group)));
    const errors: string[] = [];
    let succeeded = 0;
    let last: string | undefined;
    let calmSince = 0;
    let stopped = false;
    const names = Array.from({ length: 100 }, () => uniqueName());
    /** What each worker has done since it failed last: a call that began before the failover may fail late. */
    const good = [0, 0, 0, 0, 0];
    const worker = async (_: unknown, i: number): Promise<void> => {
      while (!stopped) {
        const lock = client.getLock(names[Math.floor(Math.random() * names.length)]!);
        try {
          await lock.lock(10_000);
          await lock.unlock();
          succeeded++;
          good[i]!++;
          last = undefined;
        } catch (error) {
          last = (error as Error).message;
          errors.push(last);
          good[i] = 0;
          calmSince = monotonicNow();
        }
        await sleep(20);
      }
    };
    const workers = good.map(worker);
    await sleep(500);
    await group.master.kill();
    // Nobody can confirm an acquisition until the other replica follows the new master.
    await replicasFollow(await group.untilMasterIsNot(group.master.port), 1);
    const before = succeeded;
    good.fill(0);
    calmSince = monotonicNow();
    // It has come through when for a while everything succeeds.
    const through = (): boolean => good.every((calls) => calls > 10) && monotonicNow() - calmSince > CALM_MS;
    await sleepUntil(through, { timeout: 2 * SOON_MS, message: 'everything succeeds' });
    stopped = true;
    await within(20_000, Promise.all(workers));
    expect(errors.filter((message) => !TOLERATED.test(message))).to.deep.equal([]);
    expect(succeeded).to.be.greaterThan(before);
    expect(last).to.equal(undefined);
  });

  it('a planned failover hands a waited-for lock on', async () => {
    const one = trackClient(Redisson.create(sentinelConfig(group)));
    const other = trackClient(
      Redisson.create({
        client: trackClient(
          new Redis({
            name: group.masterName,
            sentinels: group.sentinels.map(({ host, port }) => ({ host, port })),
            lazyConnect: true,
          }),
        ),
      }),
    );
    const name = uniqueName();
    const held = one.getLock(name);
    const waited = other.getLock(name);
    await held.lock();
    const waiting = waited.lock();
    await sleep(100);
    const master = await group.failover();
    // Until a replica has caught up, nobody can confirm that the waiter has got the lock.
    await replicasFollow(master, 2);
    await held.unlock();
    await within(SOON_MS, waiting);
    await waited.unlock();
    expect(await held.isLocked()).to.equal(false);
  });
});
