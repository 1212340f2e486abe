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

  it('a master that was replaced is left at once, although it goes on as a master (no second holder)', async () => {
    const before = trackClient(Redisson.create(sentinelConfig(group)));
    const old = trackClient(new Redis(group.master.url));
    const name = uniqueName();
    const held = await before.getLock(name).acquire();
    let reconnected = 0;
    before.onConnectionChange(({ state }) => (reconnected += state === 'ready' ? 1 : 0));
    const master = await group.failover();
    await sleepUntil(() => reconnected > 0, { message: 'it connects to the new master' });
    // The sentinels make it a replica after 8 s, and until then nothing else ends connections to it.
    expect((await old.role())[0]).to.equal('master');
    await replicasFollow(master, 1);
    const after = trackClient(Redisson.create(sentinelConfig(group)));
    expect(await after.getLock(name).tryLock()).to.equal(false);
    const hold = await after.getLock(`${name}:2`).acquire();
    expect(await before.getLock(`${name}:2`).tryLock()).to.equal(false);
    expect(await old.exists(`${name}:2`)).to.equal(0);
    await hold.unlock();
    await held.unlock();
    await old.del(name);
  });

  it('that another master was replaced, of which the same sentinels tell, changes nothing', async () => {
    const redisson = trackClient(Redisson.create(sentinelConfig(group)));
    await redisson.ping();
    const states: string[] = [];
    redisson.onConnectionChange(({ state }) => states.push(state));
    const others = trackClient(await ReplicatedRedis.start({ replicas: 1 }));
    const name = `${group.masterName}2`;
    const sentinels = group.sentinels.map(({ url }) => trackClient(new Redis(url, { enableReadyCheck: false })));
    const { host, port } = others.master;
    for (const one of sentinels) {
      await one.call('SENTINEL', 'MONITOR', name, host, port, 2);
      // Both of its connections.
      await sleepUntil(async () => String(await one.client('LIST')).match(/ sub=1 /g)?.length === 2);
    }
    const begin = () => sentinels[0]!.call('SENTINEL', 'FAILOVER', name).catch(() => undefined);
    await sleepUntil(begin, { timeout: 30_000, interval: 100, message: 'the sentinel begins a failover' });
    for (const one of sentinels) {
      const master = async () => ((await one.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)) as string[])[1];
      await sleepUntil(async () => (await master()) !== String(port), { timeout: 30_000, message: 'all know' });
    }
    // Enough for a message, and for a connection that it would end.
    await sleep(500);
    await redisson.ping();
    expect(states).to.deep.equal([]);
  });

  it('a given client with a failover detector of its own: copies of it listen once', async () => {
    const sentinels = group.sentinels.map(({ host, port }) => ({ host, port }));
    const given = trackClient(new Redis({ name: group.masterName, sentinels, failoverDetector: true }));
    const redisson = trackClient(Redisson.create({ client: given }));
    await redisson.ping();
    for (const { url } of group.sentinels) {
      const sentinel = trackClient(new Redis(url, { enableReadyCheck: false }));
      const listening = async () => String(await sentinel.client('LIST')).match(/ sub=1 /g)?.length;
      // The given one, and the two connections of ours.
      await sleepUntil(async () => (await listening()) === 3);
      await sleep(200);
      expect(await listening()).to.equal(3);
    }
  });
});
