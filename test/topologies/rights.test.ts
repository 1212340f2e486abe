import { expect } from 'chai';
import { Redis } from 'ioredis';
import * as sinon from 'sinon';
import { Config, Redisson } from '../../lib';
import { RedisCluster, type RedisServer, sleep, sleepUntil, trackClient } from '../support';
import { ReplicatedRedis } from '../support/ReplicatedRedis';
import { refusals, rulesOf } from '../support/securityPage';
import { within } from './helpers';

/** A client without the right to look for its master never gets in. */
const STUCK_MS = 3_000;

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
        ...rulesOf(mode === 'ON' ? 'sharded' : 'classic'),
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
        expect(refusals(await admin.call('acl', 'log'))).to.deep.equal([]);
      }
    });
  }
});

it('classic pub/sub without +pubsub|numsub: locks work, and one warning names the right', async function () {
  this.timeout(60_000);
  const warn = sinon.stub(process, 'emitWarning');
  const cluster = trackClient(await RedisCluster.start());
  const rules = [...rulesOf('connection'), ...rulesOf('cluster'), ...rulesOf('lock')];
  for (const url of cluster.urls) {
    await trackClient(new Redis(url)).call('acl', 'setuser', 'service', 'reset', 'on', '>secret', ...rules);
  }
  const config = new Config();
  config.useClusterServers().addNodeAddress(cluster.urls[0]!).setUsername('service').setPassword('secret');
  const client = trackClient(Redisson.create(config.setShardedSubscriptionMode('OFF').setMaxHandOvers(0)));
  const told = (): unknown[] =>
    warn.args.filter(([, options]) => (options as { code?: string })?.code === 'IOREDISSON_NO_NUMSUB');
  for (let round = 0; round < 2; round++) {
    const first = await client.getLock('app:x').acquire();
    const second = client.getLock('app:x').acquire({ waitTime: 20_000 });
    await sleep(100);
    await first.unlock();
    await (await second).unlock();
    await sleepUntil(() => told().length > 0, { message: 'the warning' });
  }
  expect(told()).to.have.length(1);
  expect(String((told()[0] as unknown[])[0]))
    .to.contain('+pubsub|numsub')
    .and.to.contain('docs/security.md');
});

describe('docs/security.md with replicas and sentinels', function () {
  this.timeout(120_000);

  let group: ReplicatedRedis;
  let admins: Redis[];
  let watchers: Redis[];

  before(async () => {
    group = await ReplicatedRedis.start({ replicas: 2, sentinels: 2 });
  });
  after(() => group.stop());
  beforeEach(() => {
    const connection = (server: RedisServer): Redis => trackClient(new Redis(server.url, { enableReadyCheck: false }));
    admins = [group.master, ...group.replicas].map(connection);
    watchers = group.sentinels.map(connection);
  });

  /** Gives users of the servers and of the sentinels these rights and no others. */
  async function setUsers(servers: readonly string[], sentinels: readonly string[]): Promise<void> {
    for (const [user, rules, nodes] of [
      ['service', servers, admins],
      ['watcher', sentinels, watchers],
    ] as const) {
      for (const node of nodes) {
        await node.call('acl', 'setuser', user, 'reset', 'on', '>secret', ...rules);
        await node.call('acl', 'log', 'reset');
      }
    }
  }

  async function refused(): Promise<string[]> {
    const logs = await Promise.all([...admins, ...watchers].map((node) => node.call('acl', 'log')));
    return logs.flatMap(refusals);
  }

  function config(kind: 'master/slave' | 'replicated' | 'sentinel'): Config {
    const config = new Config();
    const [master, ...replicas] = [group.master, ...group.replicas].map(({ url }) => url) as [string, ...string[]];
    const servers =
      kind === 'master/slave'
        ? config
            .useMasterSlaveServers()
            .setMasterAddress(master)
            .addSlaveAddress(...replicas)
        : kind === 'replicated'
          ? config.useReplicatedServers().addNodeAddress(...replicas, master)
          : config
              .useSentinelServers()
              .setMasterName(group.masterName)
              .addSentinelAddress(...group.sentinels.map(({ url }) => url))
              .setSentinelUsername('watcher')
              .setSentinelPassword('secret');
    servers.setUsername('service').setPassword('secret');
    return config;
  }

  /** The last commands of a user's connections to each sentinel, refused ones included. */
  async function lastOf(user: string): Promise<Set<string>[]> {
    const lists = await Promise.all(watchers.map((one) => one.client('LIST')));
    const lines = lists.map((list) => String(list).split('\n'));
    return lines.map(
      (all) =>
        new Set(all.filter((line) => line.includes(`user=${user} `)).map((line) => /cmd=(\S+)/.exec(line)?.[1] ?? '')),
    );
  }

  /** A lock is taken, waited for and given back. */
  async function work(kind: Parameters<typeof config>[0]): Promise<void> {
    const [a, b] = [1, 2].map(() => Redisson.create(config(kind))) as [Redisson, Redisson];
    try {
      const first = await a.getLock('app:x').acquire();
      const second = b.getLock('app:x').acquire();
      expect(await b.getLock('app:x').isLocked()).to.equal(true);
      await first.unlock();
      await (await second).unlock();
      // What it asks the sentinels beside that must have come, too.
      if (kind === 'sentinel')
        await sleepUntil(async () => (await lastOf('watcher')).every((last) => last.has('subscribe')));
    } finally {
      await Promise.all([a.shutdown(), b.shutdown()]);
    }
  }

  const serverRules = [...rulesOf('connection'), ...rulesOf('replicas'), ...rulesOf('lock')];

  for (const kind of ['master/slave', 'replicated', 'sentinel'] as const) {
    it(`${kind}: the rights of the page are enough`, async () => {
      await setUsers(serverRules, rulesOf('sentinel'));
      await within(30_000, work(kind));
      expect(await refused()).to.deep.equal([]);
    });
  }

  it('the holder waits for its replicas: WAIT is used', async () => {
    await setUsers([...rulesOf('connection'), ...rulesOf('lock')], []);
    await work('master/slave');
    expect(await refused()).to.include('command: wait');
  });

  for (const rule of rulesOf('sentinel')) {
    it(`none is too many for the sentinels: ${rule}`, async () => {
      await setUsers(
        serverRules,
        rulesOf('sentinel').filter((one) => one !== rule),
      );
      const failure: unknown = await within(STUCK_MS, work('sentinel')).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(failure !== undefined || (await refused()).length > 0).to.equal(true);
      await admins[0]!.del('app:x');
    });
  }
});
