// Ids in titles: test/README.md
import { expect } from 'chai';
import { Config } from '../../lib/config/builder/Config';
import { Redisson } from '../../lib/Redisson';
import type { ShardedSubscriptionMode } from '../../lib/config/Settings';
import type { RedisServer } from '../../tools/redisServer';
import { sleep, sleepUntil, trackClient, uniqueName } from '../support';
import { askServer, failOver, needShards, ownerOf, untilOwnerIsNot } from '../support/clusterTools';
import { RedisCluster } from '../support/RedisCluster';
import { clusterConfig } from '../support/topologyConfigs';
import { SOON_MS, within } from './helpers';

/** What a failover takes here: the cluster's node time-out of 2 s, an election, and a slow machine. */
const FAILOVER_MS = 20_000;

describe('cluster failover', function () {
  this.timeout(60_000);
  let cluster: RedisCluster;

  before(async () => {
    cluster = trackClient(await RedisCluster.start({ replicas: 1 }));
  });

  it('L-17: nothing throws while a master is killed between the locks and unlocks', async () => {
    const client = trackClient(Redisson.create(clusterConfig(cluster)));
    const name = uniqueName();
    const lock = client.getLock(name);
    const master = await ownerOf(cluster, name);
    let held = 0;
    for (let round = 0; round < 30; round++) {
      // In the middle of a round, so that it meets commands on their way.
      const killed = round === 10 ? master.kill() : undefined;
      if (await lock.tryLock()) {
        held++;
        await lock.unlock();
      }
      await killed;
    }
    expect(held).to.be.at.least(29);
    expect(await lock.isLocked()).to.equal(false);
    expect(await ownerOf(cluster, name)).not.to.equal(master);
    await master.restart();
  });

  for (const mode of ['ON', 'OFF'] as ShardedSubscriptionMode[]) {
    it(`a lock that is held and waited for survives the death of its master (sharded ${mode})`, async function () {
      if (mode === 'ON') await needShards(this, cluster);
      const one = trackClient(Redisson.create(clusterConfig(cluster, mode).setLockWatchdogTimeout(20_000)));
      const other = trackClient(Redisson.create(clusterConfig(cluster, mode)));
      const lost: unknown[] = [];
      one.onLockLost((event) => lost.push(event));
      const name = uniqueName();
      const held = await one.getLock(name).acquire();
      const waited = other.getLock(name);
      const waiting = waited.lock();
      await sleep(100);
      const master = await ownerOf(cluster, name);
      await master.kill();
      await untilOwnerIsNot(cluster, name, master);
      expect(held.isHeld).to.equal(true);
      expect(await waited.isLocked()).to.equal(true);
      await held.unlock();
      await within(SOON_MS, waiting);
      expect(await waited.isHeldByCurrentThread()).to.equal(true);
      await waited.unlock();
      expect(lost).to.deep.equal([]);
      await master.restart();
    });
  }

  it('whoever listens to classic messages at a master that becomes a replica listens to another master', async () => {
    const name = uniqueName();
    const owner = await ownerOf(cluster, name);
    // It knows no other node at first, and so listens there.
    const config = new Config();
    config.useClusterServers().addNodeAddress(owner.url).setScanInterval(200);
    const client = trackClient(Redisson.create(config.setShardedSubscriptionMode('OFF')));
    const lock = client.getLock(name);
    await lock.lock(-1, undefined, 1);
    const waiting = lock.lock(-1, undefined, 2);
    const listensAt = (node: RedisServer) =>
      askServer(node, async (one) => (await one.pubsub('CHANNELS', `*${name}*`)).length > 0);
    await sleepUntil(() => listensAt(owner), { message: 'it listens to the owner' });
    await failOver(cluster, name);
    const elsewhere = cluster.nodes.filter((node) => node !== owner);
    const listens = async () => (await Promise.all(elsewhere.map(listensAt))).includes(true);
    await sleepUntil(listens, { timeout: 2 * SOON_MS, message: 'it listens to another one' });
    expect(await listensAt(owner)).to.equal(false);
    await lock.unlock(1);
    await within(SOON_MS, waiting);
    await lock.unlock(2);
  });

  it('a lock is handed on while its master makes room for a replica', async () => {
    const one = trackClient(Redisson.create(clusterConfig(cluster)));
    const other = trackClient(Redisson.create(clusterConfig(cluster)));
    const name = uniqueName();
    const held = one.getLock(name);
    const waited = other.getLock(name);
    await held.lock();
    const waiting = waited.lock();
    await sleep(100);
    const switched = failOver(cluster, name);
    await held.unlock();
    await within(FAILOVER_MS, waiting);
    await switched;
    await waited.unlock();
    expect(await held.isLocked()).to.equal(false);
  });
});
