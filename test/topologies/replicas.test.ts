// Ids in titles: test/README.md
import { expect } from 'chai';
import { type Redis } from 'ioredis';
import { Config } from '../../lib/config/builder/Config';
import { Redisson } from '../../lib/Redisson';
import { monitor, RedisServer, sleep, sleepUntil, trackClient, uniqueName } from '../support';
import { askServer } from '../support/clusterTools';
import { ReplicatedRedis, replicasFollow } from '../support/ReplicatedRedis';
import { masterSlaveConfig, replicatedConfig } from '../support/topologyConfigs';
import { failure, SOON_MS, within } from './helpers';

describe('a master and its replicas', function () {
  this.timeout(60_000);
  let group: ReplicatedRedis;

  beforeEach(async () => {
    group = trackClient(await ReplicatedRedis.start());
  });

  /** Lets the replica take the master's place. */
  async function swap(): Promise<void> {
    const [replica] = group.replicas;
    await askServer(replica!, (client) => client.replicaof('NO', 'ONE'));
    await askServer(group.master, (client) => client.replicaof(replica!.host, replica!.port));
    await replicasFollow(replica!, 1);
  }

  function inSync(master: RedisServer): Promise<unknown> {
    const ask = () => askServer(master, (client) => client.info('replication'));
    return sleepUntil(async () => (await ask()).includes('state=online'), { timeout: 20_000, message: 'in sync' });
  }

  for (const [kind, configure] of [
    ['masterSlave', masterSlaveConfig],
    ['replicated', replicatedConfig],
  ] as const) {
    it(`${kind}: finds the master, and follows it`, async () => {
      const one = trackClient(Redisson.create(configure(group)));
      const other = trackClient(Redisson.create(configure(group)));
      const held = one.getLock(uniqueName());
      const waited = other.getLock(held.name);
      await held.lock();
      const waiting = waited.lock();
      await sleepUntil(() => askServer(group.master, async (client) => listening(client, held.name)));
      await swap();
      await held.unlock();
      await within(2 * SOON_MS, waiting);
      await waited.unlock();
      const [replica] = group.replicas;
      await replica!.kill();
      await askServer(group.master, (client) => client.replicaof('NO', 'ONE'));
      await within(SOON_MS, held.lock());
      expect(await askServer(group.master, (client) => client.exists(held.name))).to.equal(1);
      await held.unlock();
    });
  }

  it('says so when none of the servers is a master', async () => {
    const config = new Config();
    const address = group.replicas[0]!.url;
    config.useReplicatedServers().addNodeAddress(address).setTimeout(300).setRetryAttempts(0);
    const client = trackClient(Redisson.create(config));
    const error = await failure(client.getLock(uniqueName()).lock());
    expect(error.code).to.equal('CONNECTION');
    expect(error.message).to.contain('No master among').and.contain('is a replica');
  });

  it('the scripts and their WAIT travel together, releases wait as well, reads do not', async () => {
    const client = trackClient(Redisson.create(masterSlaveConfig(group)));
    const lock = client.getLock(uniqueName());
    await lock.lock();
    await lock.unlock();
    const seen = trackClient(await monitor(group.master.url, ({ name }) => /^(evalsha|wait|hlen)$/.test(name)));
    await lock.lock();
    await lock.isLocked();
    await lock.unlock();
    expect(await seen.sentNames()).to.deep.equal(['evalsha', 'wait', 'hlen', 'evalsha', 'wait']);
    const [, wait] = await seen.sent();
    expect(wait?.args.slice(1)).to.deep.equal(['1', '1000']);
  });

  it('G-13: an acquisition that no replica confirms is undone and rejects', async () => {
    const client = trackClient(Redisson.create(masterSlaveConfig(group).setSlavesSyncTimeout(200)));
    const lock = client.getLock(uniqueName());
    const semaphore = client.getSemaphore(uniqueName());
    await semaphore.trySetPermits(2);
    await lock.lock();
    await lock.unlock();
    group.replicas[0]!.pause();
    const error = await failure(lock.lock());
    expect(error.code).to.equal('NO_SYNCED_REPLICAS');
    expect((await failure(semaphore.acquire())).code).to.equal('NO_SYNCED_REPLICAS');
    await sleepUntil(async () => !(await lock.isLocked()), { message: 'the lock is free' });
    await sleepUntil(async () => (await semaphore.availablePermits()) === 2, { message: 'the permit is back' });
    group.replicas[0]!.resume();
    await sleepUntil(() => lock.tryLock().catch(() => false), { message: 'the replica confirms again' });
    await lock.unlock();
    await semaphore.delete();
  });

  it('a release that no replica confirms is a release; a lock that is taken needs nobody to confirm that', async () => {
    const client = trackClient(Redisson.create(masterSlaveConfig(group).setSlavesSyncTimeout(200)));
    const lock = client.getLock(uniqueName());
    await lock.lock();
    group.replicas[0]!.pause();
    expect(await client.getLock(lock.name).tryLock()).to.equal(false);
    await lock.unlock();
    expect(await lock.isLocked()).to.equal(false);
  });

  it('a lock whose release no replica confirmed is released again when a failover brings it back', async () => {
    const client = trackClient(Redisson.create(masterSlaveConfig(group).setSlavesSyncTimeout(200)));
    const lock = client.getLock(uniqueName());
    await lock.lock();
    const [owner] = await askServer(group.master, (one) => one.hkeys(lock.name));
    group.replicas[0]!.pause();
    await lock.unlock();
    // As a replica has it that has not heard of the release.
    await askServer(group.master, (one) => one.multi().hset(lock.name, owner!, 1).pexpire(lock.name, 30_000).exec());
    await sleepUntil(async () => !(await lock.isLocked()), { timeout: SOON_MS, message: 'the lock is free' });
  });

  it('A5: a hand-over that no replica confirms is undone for the heir, and a release for who gave it back', async () => {
    const client = trackClient(Redisson.create(masterSlaveConfig(group).setSlavesSyncTimeout(200)));
    const kinds = [client.getLock(uniqueName()), client.getFencedLock(uniqueName())];
    for (const lock of kinds) {
      await lock.lock(-1, undefined, 1);
      const heir = failure(lock.lock(-1, undefined, 2));
      await sleepUntil(() => askServer(group.master, async (one) => listening(one, lock.name)));
      group.replicas[0]!.pause();
      await lock.unlock(1);
      expect((await heir).code).to.equal('NO_SYNCED_REPLICAS');
      await sleepUntil(async () => !(await lock.isLocked()), { message: 'the lock is free' });
      group.replicas[0]!.resume();
      await sleepUntil(() => lock.tryLock({ threadId: 2 }).catch(() => false), { message: 'confirmed again' });
      await lock.unlock(2);
    }
  });

  it('checkLockSyncedSlaves: false takes the lock all the same', async () => {
    const config = masterSlaveConfig(group).setSlavesSyncTimeout(200).setCheckLockSyncedSlaves(false);
    const client = trackClient(Redisson.create(config));
    const lock = client.getLock(uniqueName());
    await lock.lock();
    await lock.unlock();
    group.replicas[0]!.pause();
    await lock.lock();
    expect(await lock.isHeldByCurrentThread()).to.equal(true);
    await lock.unlock();
  });

  it('many acquisitions at once share the time a silent replica costs', async () => {
    const client = trackClient(Redisson.create(masterSlaveConfig(group).setSlavesSyncTimeout(500)));
    await client.getLock(uniqueName()).tryLock(0, 1);
    group.replicas[0]!.pause();
    const startedAt = performance.now();
    const attempts: Promise<Error>[] = [];
    for (let i = 0; i < 20; i++) {
      attempts.push(failure(client.getLock(uniqueName()).lock(1_000)));
      await sleep(5);
    }
    for (const error of await Promise.all(attempts)) expect(error.name).to.equal('NoSyncedReplicasError');
    expect(performance.now() - startedAt).to.be.lessThan(20 * 500);
  });

  it('a lone master is never asked to WAIT, nor is one that has no such command', async () => {
    const old = trackClient(
      await RedisServer.start({ config: ['rename-command WAIT ""', 'repl-diskless-sync-delay 0'] }),
    );
    const replica = trackClient(await RedisServer.start({ args: ['--replicaof', old.host, String(old.port)] }));
    await inSync(old);
    const config = new Config();
    config.useMasterSlaveServers().setMasterAddress(old.url).addSlaveAddress(replica.url);
    for (const client of [Redisson.create(config), Redisson.create(group.master.url)]) {
      trackClient(client);
      const lock = client.getLock(uniqueName());
      await lock.lock();
      const seen = trackClient(
        await monitor(client.getConfig().topology.kind === 'single' ? group.master.url : old.url),
      );
      await lock.unlock();
      await lock.lock();
      await lock.unlock();
      expect(await seen.sentNames()).not.to.include('wait');
    }
  });
});

async function listening(client: Redis, name: string): Promise<boolean> {
  return ((await client.pubsub('CHANNELS', `*${name}*`)) as string[]).length > 0;
}
