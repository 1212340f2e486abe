import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redisson } from '../../lib';
import { Inspector, type WatchEvent } from '../../lib/inspection';
import { RedisCluster, ReplicatedRedis, sleepUntil, trackClient } from '../support';
import { clusterConfig, sentinelConfig } from '../support/topologyConfigs';

const GONE = 'cccccccc-bbbb-4ccc-8ddd-eeeeeeeeeeee';
/** A thread id that only this package gives. */
const THREAD = 2 ** 32 + 7;

function opened(inspector: Inspector): Inspector {
  return trackClient({ stop: () => inspector.close(), inspector }).inspector;
}

describe('the Inspector, on a cluster', function () {
  this.timeout(120_000);

  let cluster: RedisCluster;

  before(async () => {
    cluster = await RedisCluster.start();
  });
  after(() => cluster.stop());

  it('sees the locks of every master, their processes by the list of any of them, and who waits', async () => {
    const client = trackClient(Redisson.create(clusterConfig(cluster)));
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) await client.getLock(name).lock();
    const inspector = opened(new Inspector(client));
    const reports = await inspector.list();
    expect(reports.map(({ name }) => name)).to.deep.equal(names);
    for (const { holders, verdict } of reports) {
      expect(holders[0]!.process).to.include({ connected: true, pid: process.pid, java: false });
      expect(verdict.kind).to.equal('held');
    }
    const waiting = trackClient(Redisson.create(clusterConfig(cluster)))
      .getLock('a')
      .acquire();
    waiting.catch(() => undefined);
    await sleepUntil(async () => (await inspector.inspect('a')).waiters === 1);
  });

  it('a holder that has left is gone; where one master denies its list, that is unknown', async () => {
    const inspector = opened(Inspector.open(clusterConfig(cluster)));
    const left = Redisson.create(clusterConfig(cluster));
    await left.getLock('left').lock(60_000);
    const id = left.getId();
    await left.shutdown();
    await sleepUntil(async () => (await inspector.inspect('left')).verdict.kind === 'holder-gone');
    expect((await inspector.inspect('left')).holders[0]!.clientId).to.equal(id);
    for (const [i, { url }] of cluster.nodes.entries()) {
      const admin = trackClient(new Redis(url));
      const denied = i === 1 ? ['-client|list'] : [];
      await admin.call('acl', 'setuser', 'service', 'reset', 'on', '>secret', '~*', '&*', '+@all', ...denied);
    }
    const config = clusterConfig(cluster);
    config.useClusterServers().setUsername('service').setPassword('secret');
    const restricted = opened(Inspector.open(config));
    const [holder] = (await restricted.inspect('left')).holders;
    expect(holder!.process).to.deep.equal({ connected: 'unknown', java: false, unknownBecause: 'denied' });
  });
});

describe('the Inspector, through sentinels', function () {
  this.timeout(120_000);

  let group: ReplicatedRedis;

  before(async () => {
    group = await ReplicatedRedis.start({ replicas: 1, sentinels: 2 });
  });
  after(() => group.stop());

  it('the connections of sentinels are no owners; watch goes on after a failover', async () => {
    const admin = trackClient(new Redis(group.master.url));
    await admin.hset('left', `${GONE}:${THREAD}`, 1);
    await admin.pexpire('left', 600_000);
    await admin.call('wait', 1, 5_000);
    // A connection without a name that has waited for replicas may be an owner's.
    await admin.quit();
    const inspector = opened(Inspector.open(sentinelConfig(group)));
    expect((await inspector.inspect('left')).verdict.kind).to.equal('holder-gone');
    const events: WatchEvent[] = [];
    trackClient({ stop: inspector.watch((event) => events.push(event), { interval: 50 }) });
    await sleepUntil(() => events.length > 0);
    const master = await group.failover();
    const after = trackClient(new Redis(master.url));
    await after.hset('new', `${GONE}:${THREAD}`, 1);
    const isTold = (event: WatchEvent): boolean =>
      event.kind === 'changes' && event.added.some(({ name }) => name === 'new');
    await sleepUntil(() => events.some(isTold), { timeout: 60_000 });
    expect((await inspector.list()).map(({ name }) => name)).to.deep.equal(['left', 'new']);
  });
});
