import { expect } from 'chai';
import { Cluster } from 'ioredis';
import { Redisson } from '../../lib/Redisson';
import { prepareThread, stall } from '../redis/locks/threadSupport';
import { sleep, trackClient } from '../support';
import { RedisCluster } from '../support/RedisCluster';
import { ReplicatedRedis } from '../support/ReplicatedRedis';
import { clusterConfig, sentinelConfig } from '../support/topologyConfigs';

const WATCHDOG_MS = 2_000;

/** Holds locks while the event loop is blocked for longer than their lease. */
async function holdsThroughStall(redisson: Redisson): Promise<void> {
  const holds = await Promise.all(['a', 'b', 'c', 'd'].map((name) => redisson.getLock(name).acquire()));
  // The thread has time to connect.
  await sleep(WATCHDOG_MS);
  stall(2 * WATCHDOG_MS);
  expect(holds.map(({ isHeld }) => isHeld)).to.deep.equal([true, true, true, true]);
  for (const hold of holds) await hold.unlock();
}

describe('the watchdog thread', function () {
  this.timeout(60_000);

  before(prepareThread);

  it('renews the locks of a cluster, of a Config and of a client of the user', async () => {
    const cluster = trackClient(await RedisCluster.start());
    const config = clusterConfig(cluster).setWatchdogThread(true).setLockWatchdogTimeout(WATCHDOG_MS);
    const one = trackClient(Redisson.create(config));
    await holdsThroughStall(one);
    await one.shutdown();
    const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
    const client = trackClient(new Cluster(nodes, { dnsLookup: (name, found) => found(null, name) }));
    const options = { client, watchdogThread: true, lockWatchdogTimeout: WATCHDOG_MS };
    await holdsThroughStall(trackClient(Redisson.create(options)));
  });

  it('renews the locks of a master that sentinels name', async () => {
    const group = trackClient(await ReplicatedRedis.start({ replicas: 1, sentinels: 1 }));
    const config = sentinelConfig(group).setWatchdogThread(true).setLockWatchdogTimeout(WATCHDOG_MS);
    await holdsThroughStall(trackClient(Redisson.create(config)));
  });
});
