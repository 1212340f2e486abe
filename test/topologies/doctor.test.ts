import { expect } from 'chai';
import { Redis } from 'ioredis';
import { type CheckName, examine, type Finding } from '../../lib/operators/doctor';
import { RedisCluster, ReplicatedRedis, trackClient } from '../support';
import { clusterConfig, masterSlaveConfig, sentinelConfig } from '../support/topologyConfigs';

function of(check: CheckName, findings: readonly Finding[]): readonly Finding[] {
  return findings.filter((finding) => finding.check === check);
}

describe('the doctor, through sentinels', function () {
  this.timeout(120_000);

  let group: ReplicatedRedis;
  let admin: Redis;

  before(async () => {
    group = await ReplicatedRedis.start({ replicas: 1, sentinels: 2 });
  });
  after(() => group.stop());
  beforeEach(() => {
    admin = trackClient(new Redis(group.master.url));
  });

  it('replicas: a master that is cut off would go on giving locks; one that needs more replicas gives none', async () => {
    for (const [minimum, status, good] of [
      ['0', 'warning', ''],
      ['1', 'ok', ''],
      ['2', 'error', ', 1 of them good'],
    ] as const) {
      await admin.config('SET', 'min-replicas-to-write', minimum);
      const [finding] = of('replicas', await examine(sentinelConfig(group)));
      expect(finding).to.include({ status, found: `1 replicas${good}, min-replicas-to-write ${minimum}` });
    }
    await admin.config('SET', 'min-replicas-to-write', '0');
  });

  it('replicas: a client that does not know of them, or does not wait for them', async () => {
    const [single] = of('replicas', await examine(group.master.url));
    expect(single).to.include({ status: 'warning' });
    expect(single!.found).to.contain('connected to as a single server');
    const [careless] = of('replicas', await examine(sentinelConfig(group).setCheckLockSyncedSlaves(false)));
    expect(careless!.found).to.contain('checkLockSyncedSlaves is off');
    const [replica] = of('replicas', await examine(group.replicas[0]!.url));
    expect(replica).to.include({ status: 'error', found: 'connected to a replica' });
  });

  it('memory, timeouts, buffers: those of the master', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await admin.config('SET', 'tcp-keepalive', '0');
    await admin.config('SET', 'client-output-buffer-limit', 'pubsub 0 0 0');
    for (const config of [sentinelConfig(group), masterSlaveConfig(group)]) {
      const findings = await examine(config);
      expect(of('memory', findings)[0]!.status).to.equal('error');
      expect(of('timeouts', findings)[0]!.status).to.equal('warning');
      expect(of('buffers', findings)[0]!.status).to.equal('warning');
    }
  });

  it('rights: a user that may not wait for replicas', async () => {
    await admin.call('acl', 'setuser', 'service', 'reset', 'on', '>secret', '~*', '&*', '+@all', '-wait');
    const config = masterSlaveConfig(group);
    config.useMasterSlaveServers().setUsername('service').setPassword('secret');
    for (const replica of group.replicas) {
      const other = trackClient(new Redis(replica.url));
      await other.call('acl', 'setuser', 'service', 'reset', 'on', '>secret', '~*', '&*', '+@all', '-wait');
    }
    expect(of('rights', await examine(config))[0]).to.include({
      status: 'error',
      found: 'the user lacks +wait, which every client needs',
    });
  });
});

describe('the doctor, on a cluster', function () {
  this.timeout(120_000);

  let cluster: RedisCluster;

  before(async () => {
    cluster = await RedisCluster.start();
  });
  after(() => cluster.stop());

  it('looks at every master, and tells which one is wrong', async () => {
    const [, second] = cluster.masters;
    const admin = trackClient(new Redis(second!.url));
    await admin.config('SET', 'maxmemory-policy', 'volatile-lru');
    const findings = of('memory', await examine(clusterConfig(cluster)));
    expect(findings.map(({ server }) => server).sort()).to.deep.equal(
      cluster.masters.map(({ port }) => `127.0.0.1:${port}`).sort(),
    );
    const wrong = findings.filter(({ status }) => status !== 'ok');
    expect(wrong.map(({ server }) => server)).to.deep.equal([`127.0.0.1:${second!.port}`]);
  });

  it('pubsub: messages that go to every node are a warning; replicas that are missing as well', async () => {
    const modes = { AUTO: 'ok', ON: 'ok', OFF: 'warning' } as const;
    for (const [mode, status] of Object.entries(modes)) {
      const findings = await examine(clusterConfig(cluster, mode as keyof typeof modes));
      for (const finding of of('pubsub', findings)) expect(finding).to.include({ status });
      for (const finding of of('replicas', findings)) expect(finding).to.include({ status: 'warning' });
    }
  });

  it('pubsub, rights: a node that takes no sharded messages of the user', async () => {
    const rules = ['~*', '&*', '+@all', '-spublish', '-pubsub|shardnumsub'];
    for (const { url } of cluster.nodes) {
      const admin = trackClient(new Redis(url));
      await admin.call('acl', 'setuser', 'service', 'reset', 'on', '>secret', ...rules);
    }
    const config = clusterConfig(cluster, 'ON');
    config.useClusterServers().setUsername('service').setPassword('secret');
    const findings = await examine(config);
    for (const finding of of('pubsub', findings)) expect(finding.status).to.equal('unknown');
    for (const { status, found } of of('rights', findings)) {
      expect(status).to.equal('warning');
      expect(found).to.contain('lock (+spublish').and.not.to.contain('spin');
    }
  });
});
