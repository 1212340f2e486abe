import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redisson } from '../../lib/Redisson';
import { sleepUntil, trackClient, uniqueName } from '../support';
import { askServer, migrateSlot, nameOn, ownerOf } from '../support/clusterTools';
import { RedisCluster } from '../support/RedisCluster';
import { ReplicatedRedis } from '../support/ReplicatedRedis';
import { clusterConfig, sentinelConfig } from '../support/topologyConfigs';

const SET_EVENTS = ['SET', 'notify-keyspace-events', 'Egx'] as const;

describe('object listeners', function () {
  this.timeout(60_000);
  let heard: string[];
  const notes = { onDeleted: (name: string) => heard.push(name) };

  beforeEach(() => {
    heard = [];
  });

  async function hears(name: string): Promise<void> {
    await sleepUntil(() => heard.length > 0, { message: `${name} is heard` });
    expect(heard.splice(0)).to.deep.equal([name]);
  }

  it('cluster: of keys on every master, sharded or not; they follow a slot to another master', async () => {
    const cluster = trackClient(await RedisCluster.start());
    for (const node of cluster.masters) await askServer(node, (redis) => redis.config(...SET_EVENTS));
    for (const mode of ['AUTO', 'OFF'] as const) {
      const one = trackClient(Redisson.create(clusterConfig(cluster, mode)));
      const other = trackClient(Redisson.create(clusterConfig(cluster, mode)));
      const names = await Promise.all(cluster.masters.map((master) => nameOn(cluster, master)));
      for (const name of names) await one.getLock(name).addListener(notes);
      for (const name of names) {
        await (await other.getLock(name).acquire()).unlock();
        await hears(name);
      }
      await migrateSlot(cluster, names[0]!);
      expect(await ownerOf(cluster, names[0]!)).to.not.equal(cluster.masters[0]);
      await (await other.getLock(names[0]!).acquire()).unlock();
      await hears(names[0]!);
    }
  });

  it('sentinel: after a failover the new master is listened to', async () => {
    const group = trackClient(await ReplicatedRedis.start({ replicas: 1, sentinels: 1 }));
    for (const node of [group.master, ...group.replicas]) await askServer(node, (redis) => redis.config(...SET_EVENTS));
    const one = trackClient(Redisson.create(sentinelConfig(group)));
    const name = uniqueName();
    await one.getLock(name).addListener(notes);
    await group.master.kill();
    const master = await group.untilMasterIsNot(group.master.port);
    const redis = trackClient(new Redis(master.url));
    const count = async (): Promise<unknown> => (await redis.pubsub('NUMSUB', '__keyevent@0__:del'))[1];
    await sleepUntil(async () => (await count()) === 1, { timeout: 20_000, message: 'the new master is listened to' });
    await redis.set(name, 1);
    await redis.del(name);
    await hears(name);
  });
});
