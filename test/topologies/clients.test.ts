import { expect } from 'chai';
import { Cluster, Redis } from 'ioredis';
import { Redisson } from '../../lib/Redisson';
import { monitor, RedisServer, redisUrl, sleepUntil, trackClient, uniqueName } from '../support';
import { askServer, mastersOf, nameOn } from '../support/clusterTools';
import { RedisCluster } from '../support/RedisCluster';
import { SOON_MS, within } from './helpers';

/** One takes the lock, the other waits for it and gets it. */
async function handOver(one: Redisson, other: Redisson, name: string): Promise<void> {
  const held = one.getLock(name);
  const waited = other.getLock(name);
  await held.lock();
  const waiting = waited.lock();
  await held.unlock();
  await within(SOON_MS, waiting);
  await waited.unlock();
}

describe("a user's own client", function () {
  this.timeout(30_000);

  describe('Redis', () => {
    it('is copied, and neither used nor changed nor closed', async () => {
      const client = trackClient(new Redis(redisUrl(), { connectionName: 'theirs' }));
      const { status, options } = await ready(client);
      const before = { ...options };
      const seen = trackClient(await monitor(redisUrl()));
      const [, source] = /addr=(\S+)/.exec(String(await client.client('INFO')))!;
      const one = Redisson.create({ client, clientName: 'ours' });
      const other = Redisson.create({ client });
      await handOver(one, other, uniqueName());
      const names = String(await client.client('LIST'));
      expect(names).to.contain('name=ours').and.contain('name=theirs');
      await Promise.all([one.shutdown(), other.shutdown()]);
      expect((await seen.sent()).filter((command) => command.source === source)).to.deep.equal([]);
      expect(client.status).to.equal(status);
      expect(client.options).to.deep.equal(before);
      expect(client.listenerCount('error') + client.listenerCount('message')).to.equal(0);
      expect(await client.ping()).to.equal('PONG');
    });

    it('may have options that would break a lock', async () => {
      const client = trackClient(
        new Redis(redisUrl(), {
          lazyConnect: true,
          commandTimeout: 1,
          socketTimeout: 1,
          stringNumbers: true,
          enableAutoPipelining: true,
          autoResendUnfulfilledCommands: true,
          maxRetriesPerRequest: null,
          readOnly: true,
          retryStrategy: null,
          reconnectOnError: () => 2,
        }),
      );
      const one = trackClient(Redisson.create({ client }));
      const other = trackClient(Redisson.create({ client }));
      const name = uniqueName();
      await handOver(one, other, name);
      expect(await one.getLock(name).tryAcquire(5_000)).to.equal(null);
      expect(await other.getLock(name).tryAcquire()).to.be.within(1, 5_000);
      await one.getLock(name).forceUnlock();
      expect(client.status).to.equal('wait');
    });

    it('may speak RESP2 through a socket file to a database with a password', async () => {
      const server = trackClient(await RedisServer.start({ password: 'geheim', args: ['--unixsocket', 'redis.sock'] }));
      const [, folder] = (await askServer(server, (client) => client.config('GET', 'dir'))) as [string, string];
      const options = { path: `${folder}/redis.sock`, password: 'geheim', db: 3, protocol: 2 as const };
      const client = trackClient(new Redis({ ...options, lazyConnect: true }));
      const one = trackClient(Redisson.create({ client }));
      const other = trackClient(Redisson.create({ client }));
      const name = uniqueName();
      await one.getLock(name).lock();
      expect(await askServer(server, (probe) => probe.select(3).then(() => probe.exists(name)))).to.equal(1);
      await one.getLock(name).forceUnlock();
      await handOver(one, other, name);
    });
  });

  describe('Cluster', () => {
    let cluster: RedisCluster;

    before(async () => {
      cluster = trackClient(await RedisCluster.start());
    });

    it('is copied, and neither used nor changed nor closed', async () => {
      const client = trackClient(new Cluster(cluster.startupNodes.slice(0, 1), { scaleReads: 'all' }));
      client.on('error', () => undefined);
      await sleepUntil(() => client.status === 'ready');
      const options = { ...client.options };
      const one = Redisson.create({ client });
      const other = Redisson.create({ client });
      for (const master of await mastersOf(cluster)) await handOver(one, other, await nameOn(cluster, master));
      await Promise.all([one.shutdown(), other.shutdown()]);
      expect(client.status).to.equal('ready');
      expect(client.options).to.deep.equal(options);
      expect(await client.set(uniqueName(), '1')).to.equal('OK');
    });

    it('may translate addresses, start from names and options of its nodes, and wait to connect', async () => {
      const [first] = cluster.startupNodes;
      const asked: string[] = [];
      const client = trackClient(
        new Cluster([{ host: 'nowhere.example', port: first!.port }], {
          lazyConnect: true,
          dnsLookup: (host, callback) => {
            asked.push(host);
            callback(null, '127.0.0.1');
          },
          natMap: (key) => ({ host: 'localhost', port: Number(key.split(':')[1]) }),
          enableOfflineQueue: false,
          redisOptions: { keepAlive: 1_000, commandTimeout: 1, stringNumbers: true },
        }),
      );
      const one = trackClient(Redisson.create({ client }));
      const other = trackClient(Redisson.create({ client, shardedSubscriptionMode: 'OFF' }));
      const same = trackClient(Redisson.create({ client, shardedSubscriptionMode: 'OFF' }));
      const name = uniqueName();
      expect(await one.getLock(name).tryAcquire(5_000)).to.equal(null);
      expect(await other.getLock(name).tryAcquire()).to.be.within(1, 5_000);
      await one.getLock(name).forceUnlock();
      await handOver(other, same, name);
      expect(new Set(asked)).to.deep.equal(new Set(['nowhere.example']));
      expect(client.status).to.equal('wait');
    });
  });
});

async function ready(client: Redis): Promise<Redis> {
  await sleepUntil(() => client.status === 'ready');
  return client;
}
