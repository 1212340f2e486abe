import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Config, LockLostError, Redisson } from '../../lib';
import { RedisCluster, ReplicatedRedis, sleep, sleepUntil, trackClient, uniqueName } from '../support';
import { nameOn } from '../support/clusterTools';

describe('trackHolds on a cluster', function () {
  this.timeout(40_000);
  let cluster: RedisCluster;

  before(async () => {
    cluster = trackClient(await RedisCluster.start());
  });

  it('every master tells of its own keys; a connection that was lost does so again', async () => {
    const config = new Config();
    for (const { url } of cluster.masters) config.useClusterServers().addNodeAddress(url);
    config.setTrackHolds(true);
    const client = trackClient(Redisson.create(config));
    for (const master of cluster.masters) {
      const redis = trackClient(new Redis(master.url));
      const trackedBy = async (): Promise<string[]> =>
        ((await redis.client('LIST')) as string).split('\n').filter((line) => / flags=\w*t/.test(line));
      for (const again of [false, true]) {
        if (again) {
          const [line = ''] = await trackedBy();
          await redis.call('client', 'kill', 'id', /^id=(\d+)/.exec(line)![1]!);
          await sleep(500);
        }
        const name = await nameOn(cluster, master);
        const hold = await client.getLock(name).acquire();
        await sleepUntil(async () => (await trackedBy()).length === 1);
        await sleep(200);
        expect(hold.isHeld).to.equal(true);
        await redis.del(name);
        await sleepUntil(() => hold.signal.aborted, { timeout: 3_000 });
        expect(hold.signal.reason).to.be.instanceOf(LockLostError);
      }
    }
  });
});

describe('trackHolds on a master that sentinels name', function () {
  this.timeout(60_000);

  it('the next master tells of losses, although the one before froze while it accepted the connection', async () => {
    const group = trackClient(await ReplicatedRedis.start({ sentinels: 2, downAfterMs: 800 }));
    const config = new Config().setTrackHolds(true);
    const servers = config.useSentinelServers().setMasterName(group.masterName).setTimeout(1_000);
    for (const { url } of group.sentinels) servers.addSentinelAddress(url);
    const client = trackClient(Redisson.create(config));
    await client.ping();
    const before = trackClient(new Redis(group.master.url));
    before.on('error', () => undefined);
    const pid = Number(/process_id:(\d+)/.exec(await before.info('server'))![1]);
    await sleepUntil(async () => / cmd=subscribe/.test(String(await before.client('LIST'))));
    // All of its connections are opened anew, and nobody answers.
    await before.call('client', 'kill', 'type', 'pubsub');
    await before.call('client', 'kill', 'type', 'normal', 'skipme', 'yes');
    process.kill(pid, 'SIGSTOP');
    try {
      const redis = trackClient(new Redis((await group.untilMasterIsNot(group.master.port)).url));
      const name = uniqueName();
      const hold = await client.getLock(name).acquire();
      const tracked = async (): Promise<boolean> => / flags=\w*t/.test(String(await redis.client('LIST')));
      await sleepUntil(tracked, { timeout: 10_000, message: 'the new master is tracked' });
      await sleep(200);
      await redis.del(name);
      await sleepUntil(() => hold.signal.aborted, { timeout: 3_000 });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  });
});
