// Ids in titles: test/README.md
import { expect } from 'chai';
import { Cluster } from 'ioredis';
import { Config } from '../../lib/config/builder/Config';
import { Redisson } from '../../lib/Redisson';
import type { ShardedSubscriptionMode } from '../../lib/config/Settings';
import { JavaFairLock } from '../redis/locks/JavaFairLock';
import { monotonicNow, risen, sleep, sleepUntil, trackClient, uniqueName } from '../support';
import {
  askServer,
  beginMigration,
  knowsShards,
  migrateSlot,
  nameOn,
  needShards,
  ownerOf,
} from '../support/clusterTools';
import { RedisCluster } from '../support/RedisCluster';
import type { RedisServer } from '../../tools/redisServer';
import { clusterConfig } from '../support/topologyConfigs';
import { failure, SOON_MS, within } from './helpers';

async function listens(cluster: RedisCluster, list: string, name: string): Promise<boolean> {
  const found = await Promise.all(
    cluster.masters.map((node) => askServer(node, (client) => client.call('PUBSUB', list, `*${name}*`))),
  );
  return found.flat().length > 0;
}

describe('cluster', () => {
  let cluster: RedisCluster;

  before(async function () {
    this.timeout(60_000);
    cluster = trackClient(await RedisCluster.start());
  });

  it('C12: after a reconnect the holds on that node are checked at once, and no others', async () => {
    const client = trackClient(Redisson.create(clusterConfig(cluster)));
    const [broken, sound] = cluster.masters as [RedisServer, RedisServer];
    const names = [await nameOn(cluster, broken), await nameOn(cluster, sound)];
    const [here, there] = [await client.getLock(names[0]!).acquire(), await client.getLock(names[1]!).acquire()];
    for (const [i, node] of [broken, sound].entries()) await askServer(node, (admin) => admin.del(names[i]!));
    const aborted = new Promise((resolve) => here.signal.addEventListener('abort', resolve));
    await askServer(broken, (admin) => admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
    await within(SOON_MS, aborted);
    await sleep(50);
    expect(there.isHeld).to.equal(true);
  });

  it('C12: when its slot moves without its key, a hold is lost at once', async () => {
    const client = trackClient(Redisson.create(clusterConfig(cluster)));
    const name = uniqueName();
    const hold = await client.getLock(name).acquire({ leaseTime: 60_000 });
    const aborted = new Promise((resolve) => hold.signal.addEventListener('abort', resolve));
    await askServer(await ownerOf(cluster, name), (admin) => admin.del(name));
    await migrateSlot(cluster, name);
    // Somebody notices; otherwise the next scan does.
    await client.getLock(name).isLocked();
    await within(SOON_MS, aborted);
  });

  for (const mode of ['AUTO', 'ON', 'OFF'] as ShardedSubscriptionMode[]) {
    describe(`shardedSubscriptionMode ${mode}`, () => {
      let list: string;
      let one: Redisson;
      let other: Redisson;

      before(async function () {
        if (mode === 'ON') await needShards(this, cluster);
        list = mode !== 'OFF' && (await knowsShards(cluster)) ? 'SHARDCHANNELS' : 'CHANNELS';
      });

      beforeEach(() => {
        one = trackClient(Redisson.create(clusterConfig(cluster, mode)));
        other = trackClient(Redisson.create(clusterConfig(cluster, mode)));
      });

      /** One holds, the other waits and listens. */
      async function heldAndWaitedFor(name: string) {
        const held = one.getLock(name);
        const waited = other.getLock(name);
        await held.lock();
        const waiting = waited.lock();
        await sleepUntil(() => listens(cluster, list, name), { message: `somebody listens for ${name}` });
        return { held, waited, waiting };
      }

      it('L-11 B-CLUSTER: lock, isLocked, unlock', async () => {
        for (const name of ['myLock', uniqueName(), uniqueName()]) {
          const lock = one.getLock(name);
          await lock.lock();
          expect(await lock.isLocked()).to.equal(true);
          await lock.unlock();
          expect(await lock.isLocked()).to.equal(false);
        }
      });

      it('hands locks of every shard from one client to the other', async () => {
        for (const master of cluster.masters) {
          const { held, waited, waiting } = await heldAndWaitedFor(await nameOn(cluster, master));
          await held.unlock();
          await within(SOON_MS, waiting);
          expect(await waited.isHeldByCurrentThread()).to.equal(true);
          await waited.unlock();
        }
        await sleepUntil(async () => !(await listens(cluster, list, 'redisson')), { message: 'nobody listens' });
      });

      it('follows a slot that moves while its lock is held and waited for', async () => {
        const name = uniqueName();
        const { held, waited, waiting } = await heldAndWaitedFor(name);
        const { to } = await migrateSlot(cluster, name);
        await held.unlock();
        await within(SOON_MS, waiting);
        expect(await ownerOf(cluster, name)).to.equal(to);
        expect(await askServer(to, (client) => client.exists(name))).to.equal(1);
        await waited.unlock();
        expect(await askServer(to, (client) => client.exists(name))).to.equal(0);
      });

      it('serves a lock all the time while its slot is on the way', async () => {
        const name = uniqueName();
        const { held, waited, waiting } = await heldAndWaitedFor(name);
        const migration = await beginMigration(cluster, name);
        await held.unlock();
        await within(SOON_MS, waiting);
        const again = held.lock();
        await migration.moveKeys();
        // The old owner answers ASK from now on.
        expect(await waited.isLocked()).to.equal(true);
        await waited.unlock();
        await migration.finish();
        await within(SOON_MS, again);
        await held.unlock();
        expect(await held.isLocked()).to.equal(false);
      });

      it('wakes a waiter whose listening connection was killed while the lock was released', async () => {
        const { held, waited, waiting } = await heldAndWaitedFor(uniqueName());
        for (const node of cluster.masters) {
          await askServer(node, (client) => client.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
        }
        await held.unlock();
        await within(SOON_MS, waiting);
        await waited.unlock();
      });

      // What AUTO decides for has a test below.
      if (mode !== 'AUTO') {
        it('a dead head of a fair queue, and an unlock by Java: the next one is in within 5 s', async () => {
          const name = uniqueName();
          const node = new Cluster([...cluster.startupNodes]);
          trackClient({ close: () => node.disconnect() });
          const java = new JavaFairLock(node, name, mode === 'OFF' ? 'PUBLISH' : 'SPUBLISH');
          expect(await java.acquire(1)).to.equal(true);
          expect(await java.acquire(2)).to.equal(false);
          const entered = one.getFairLock(name).acquire();
          await sleepUntil(() => listens(cluster, list, `${java.clientId}:2`), { message: 'it listens to the head' });
          const freeAt = monotonicNow();
          await java.unlock(1);
          await (await within(SOON_MS, entered)).unlock();
          expect(monotonicNow() - freeAt).to.be.below(5_000);
        });
      }

      it('renews locks of every shard', async () => {
        // Renewed every two seconds; a machine that stands still for two more loses nothing.
        const watchdogMs = 6_000;
        const config = clusterConfig(cluster, mode).setLockWatchdogTimeout(watchdogMs);
        const client = trackClient(Redisson.create(config));
        const holds = await Promise.all(
          cluster.masters.map(async (master) => client.getLock(await nameOn(cluster, master)).acquire()),
        );
        const renewed = holds.map(async ({ name }, i) => {
          const isRenewed = risen(() => askServer(cluster.masters[i]!, (admin) => admin.pttl(name)));
          await sleepUntil(isRenewed, { interval: 100, timeout: watchdogMs, message: `a renewal of ${name}` });
        });
        await Promise.all(renewed);
        expect(holds.map(({ isHeld }) => isHeld)).to.deep.equal(holds.map(() => true));
        await Promise.all(holds.map((hold) => hold.unlock()));
      });
    });
  }

  it('decides for sharded pub/sub where the servers have it', async () => {
    const client = trackClient(Redisson.create(clusterConfig(cluster)));
    const name = uniqueName();
    const holder = client.getLock(name);
    await holder.lock();
    const sharded = await knowsShards(cluster);
    const list = sharded ? 'SHARDCHANNELS' : 'CHANNELS';
    const enough = new AbortController();
    const waiting = failure(client.getLock(name).acquire({ signal: enough.signal }));
    await sleepUntil(() => listens(cluster, list, name), { message: 'it listens' });
    if (sharded) expect(await listens(cluster, 'CHANNELS', name)).to.equal(false);
    enough.abort();
    await waiting;
    await holder.unlock();
  });

  it('says where it cannot reach anybody', async () => {
    const nowhere = trackClient(await RedisCluster.start({ masters: 1 }));
    const config = new Config();
    config.useClusterServers().addNodeAddress(nowhere.urls[0]!).setTimeout(300).setRetryAttempts(0);
    await nowhere.stop();
    const client = trackClient(Redisson.create(config));
    const error = await failure(client.getLock(uniqueName()).lock());
    expect(error.code).to.equal('CONNECTION');
    expect(error.message).to.contain(nowhere.masters[0]!.port).and.contain('ECONNREFUSED');
  });
});
