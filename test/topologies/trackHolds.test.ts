import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Config, LockLostError, Redisson } from '../../lib';
import { RedisCluster, sleep, sleepUntil, trackClient } from '../support';
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
