import { expect } from 'chai';
import { Redis } from 'ioredis';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Config, Redisson } from '../../lib';
import { RedisCluster, trackClient } from '../support';
import { projectRoot } from '../../tools/buildOutput';

function rulesOf(block: string): string[] {
  const text = fs.readFileSync(path.join(projectRoot, 'docs', 'security.md'), 'utf8');
  return new RegExp(`^\`\`\`acl ${block}\\n([^]*?)^\`\`\``, 'm').exec(text)![1]!.trim().split(/\s+/);
}

describe('docs/security.md on a cluster: the rights of the page are enough', function () {
  this.timeout(60_000);

  for (const mode of ['OFF', 'ON'] as const) {
    it(`sharded pub/sub ${mode}: a lock is taken, waited for and handed on`, async () => {
      const cluster = trackClient(await RedisCluster.start());
      const classic = ['+publish', '+subscribe', '+unsubscribe'];
      const kind = rulesOf('lock').filter((rule) => mode === 'OFF' || !classic.includes(rule));
      const rules = [
        ...rulesOf('connection'),
        ...rulesOf('cluster'),
        ...(mode === 'ON' ? rulesOf('sharded') : []),
        ...kind,
      ];
      const admins = cluster.urls.map((url) => trackClient(new Redis(url)));
      for (const admin of admins) await admin.call('acl', 'setuser', 'service', 'reset', 'on', '>secret', ...rules);
      const [a, b] = [1, 2].map(() => {
        const config = new Config();
        config.useClusterServers().addNodeAddress(cluster.urls[0]!).setUsername('service').setPassword('secret');
        return trackClient(Redisson.create(config.setShardedSubscriptionMode(mode)));
      }) as [Redisson, Redisson];
      const first = await a.getLock('app:x').acquire();
      const second = b.getLock('app:x').acquire({ waitTime: 20_000 });
      expect(await b.getLock('app:x').isLocked()).to.equal(true);
      await first.unlock();
      await (await second).unlock();
      for (const admin of admins) {
        const log = (await admin.call('acl', 'log')) as (string | number)[][];
        expect(log.map((entry) => entry.slice(2, 8))).to.deep.equal([]);
      }
    });
  }
});
