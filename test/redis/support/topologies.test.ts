import { expect } from 'chai';
import * as fs from 'node:fs';
import { Cluster, Redis } from 'ioredis';
import { RedisCluster, RedisServer, ReplicatedRedis, skip, tlsFiles, trackClient } from '../../support';

describe('topologies for the tests', function () {
  this.timeout(60_000);

  it('a cluster with replicas serves every slot', async () => {
    const cluster = trackClient(await RedisCluster.start({ masters: 3, replicas: 1 }));
    const client = trackClient(new Cluster(cluster.startupNodes));
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) expect(await client.set(key, key)).to.equal('OK');
    for (const replica of cluster.replicas) {
      expect((await trackClient(new Redis(replica.url)).role())[0]).to.equal('slave');
    }
  });

  it('sentinels fail over to the replica', async () => {
    const group = trackClient(await ReplicatedRedis.start({ replicas: 1, sentinels: 1, password: 'secret' }));
    const sentinels = group.sentinels.map(({ host, port }) => ({ host, port }));
    const client = trackClient(new Redis({ sentinels, name: group.masterName, password: 'secret' }));
    await client.set('key', 'value');
    expect(await client.wait(1, 1000)).to.equal(1);
    const master = await group.failover();
    expect(master).to.equal(group.replicas[0]);
    expect(await trackClient(new Redis(master.url)).get('key')).to.equal('value');
  });

  it('a server speaks TLS', async function () {
    const files = tlsFiles();
    if (files === undefined) skip(this, 'no openssl to make certificates with');
    const server = trackClient(await RedisServer.start({ tls: files }));
    expect(server.url).to.match(/^rediss:/);
    const client = trackClient(new Redis(server.url, { tls: { ca: fs.readFileSync(files.ca) } }));
    expect(await client.ping()).to.equal('PONG');
  });
});
