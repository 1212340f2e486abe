import { expect } from 'chai';
import { Redis } from 'ioredis';
import { type Config, Redisson } from '../../lib';
import { createDashboard } from '../../lib/operators/dashboard';
import type { LockDetail } from '../../lib/operators/dashboard/wire';
import { Inspector, type WatchEvent } from '../../lib/operators/inspection';
import { ask, serve } from '../dashboard/support/world';
import { RedisCluster, ReplicatedRedis, sleepUntil, trackClient, uniqueName } from '../support';
import { clusterConfig, sentinelConfig } from '../support/topologyConfigs';

/** A holder that is asked, a waiter that is asked, and who asks, each with a connection of its own. */
async function expectAnswers(config: Config): Promise<void> {
  const holder = trackClient(Redisson.create(config));
  const waiter = trackClient(Redisson.create(config));
  const name = uniqueName();
  const hold = await holder.getLock(name).acquire();
  const waiting = waiter.getLock(name).acquire();
  const inspectors = [opened(Inspector.open(config)), opened(Inspector.open(config))];
  await sleepUntil(
    async () => {
      const reports = await Promise.all(inspectors.map((one) => one.inspect(name)));
      return reports.every(({ holders, waiting: told }) => holders[0]?.hold !== undefined && told?.[0]?.callers === 1);
    },
    { timeout: 30_000 },
  );
  const answers = await Promise.all(inspectors.map((one) => one.ask(holder.getId())));
  for (const answer of answers) expect(answer.answered && answer.holds.map((one) => one.name)).to.deep.equal([name]);
  // The page asks in the same way.
  const base = await serve(trackClient(createDashboard({ redisson: waiter })));
  const told = async (): Promise<LockDetail | null> =>
    (JSON.parse((await ask(`${base}/api/lock?name=${name}`)).text) as { lock: LockDetail | null }).lock;
  const { holders } = await sleepUntil(async () => {
    const lock = await told();
    return lock?.exact === true ? lock : undefined;
  });
  expect(holders[0]!.hold).to.include({ leaseMs: -1 });
  await hold.unlock();
  await (await waiting).unlock();
}

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

  it('clients are asked through any node, also by two at once, and by a page', async () => {
    await expectAnswers(clusterConfig(cluster));
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

  it('clients are asked through the master, also by two at once, and by a page', async () => {
    await expectAnswers(sentinelConfig(group));
  });

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
