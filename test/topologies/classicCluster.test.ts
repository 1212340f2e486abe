// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redisson } from '../../lib';
import { Config } from '../../lib/config/builder/Config';
import { Redisson as Client } from '../../lib/Redisson';
import { RedisCluster, sleep, trackClient } from '../support';
import { nameOn } from '../support/clusterTools';
import type { RedisServer } from '../../tools/redisServer';

/** The lock goes from one client to another so often; a client that starves the others ends the test by time. */
const TURNS = 90;
const MAX_MS = 8_000;
const WAITERS = 8;

// A classic message reaches all nodes of a cluster, and PUBLISH counts the subscribers of one.
describe('A4: a cluster with classic pub/sub', function () {
  this.timeout(40_000);
  let cluster: RedisCluster;

  before(async () => {
    cluster = trackClient(await RedisCluster.start());
  });

  /** A client that listens to that node, since it knows no other at first. */
  function listensTo(master: RedisServer): Redisson {
    const config = new Config();
    config.useClusterServers().addNodeAddress(master.url);
    config.setShardedSubscriptionMode('OFF');
    return trackClient(Client.create(config));
  }

  for (const insideMs of [0, 2]) {
    it(`no client starves, wherever it listens, ${insideMs} ms inside`, async () => {
      const [near, far] = cluster.masters as [RedisServer, RedisServer];
      const clients = [near, near, far].map(listensTo);
      for (const master of cluster.masters) {
        const name = await nameOn(cluster, master);
        const until = performance.now() + MAX_MS;
        let inside = 0;
        let last: Redisson | undefined;
        let changes = 0;
        const turns = await Promise.all(
          clients.map(async (client) => {
            let count = 0;
            await Promise.all(
              Array.from({ length: WAITERS }, async (_, thread) => {
                const lock = client.getLock(name);
                while (changes < TURNS && performance.now() < until) {
                  await lock.lock(-1, undefined, thread);
                  expect(++inside).to.equal(1);
                  if (client !== last) changes++;
                  last = client;
                  await (insideMs === 0 ? Promise.resolve() : sleep(insideMs));
                  inside--;
                  count++;
                  await lock.unlock(thread);
                }
              }),
            );
            return count;
          }),
        );
        const fair = turns.reduce((sum, one) => sum + one) / turns.length;
        expect(Math.min(...turns), `of ${turns.join(', ')} in ${changes} turns`).to.be.at.least(fair / 4);
      }
    });
  }
});
