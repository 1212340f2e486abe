// Ids in titles: test/README.md
import { expect } from 'chai';
import { ConfigError, PrefixNameMapper, Redisson } from '../../../lib';
import { sleep, trackClient, uniqueName } from '../../support';
import { migrateSlot, needShards } from '../../support/clusterTools';
import { RedisCluster } from '../../support/RedisCluster';
import { clusterConfig } from '../../support/topologyConfigs';

describe('Synchronizers on a cluster', () => {
  let cluster: RedisCluster;

  before(async function () {
    this.timeout(60_000);
    cluster = trackClient(await RedisCluster.start());
  });

  for (const mode of ['ON', 'OFF'] as const) {
    describe(`shardedSubscriptionMode ${mode}`, () => {
      let one: Redisson;
      let other: Redisson;

      before(async function () {
        if (mode === 'ON') await needShards(this, cluster);
      });

      beforeEach(() => {
        one = trackClient(Redisson.create(clusterConfig(cluster, mode)));
        other = trackClient(Redisson.create(clusterConfig(cluster, mode)));
      });

      for (const form of ['plain', 'a{tag}b:', 'колон: ', '}{tag}x']) {
        it(`wakes the waiters of another client, for names like '${form}'`, async () => {
          const name = form + uniqueName();
          const plain = other.getSemaphore(name).acquire(2);
          const leased = other.getPermitExpirableSemaphore(`${name}:2`).acquireMany(2);
          await sleep(100);
          expect(await one.getSemaphore(name).trySetPermits(2)).to.equal(true);
          expect(await one.getPermitExpirableSemaphore(`${name}:2`).trySetPermits(2)).to.equal(true);
          await plain;
          await one.getPermitExpirableSemaphore(`${name}:2`).releaseMany(await leased);
          expect(await one.getSemaphore(name).availablePermits()).to.equal(0);
        });
      }

      it('opens a latch for the waiters of another client', async () => {
        const name = uniqueName();
        await one.getCountDownLatch(name).trySetCount(2);
        const waiting = other.getCountDownLatch(name).await();
        await sleep(100);
        await one.getCountDownLatch(name).countDown();
        await one.getCountDownLatch(name).countDown();
        expect(await waiting).to.equal(true);
      });

      it('follows a slot that moves while permits are taken and waited for', async () => {
        const name = uniqueName();
        const [plain, leased] = [one.getSemaphore(name), one.getPermitExpirableSemaphore(`{${name}}2`)];
        await plain.trySetPermits(1);
        await leased.trySetPermits(1);
        await plain.acquire();
        const id = await leased.acquire();
        const waiting = [
          other.getSemaphore(name).tryAcquire(1, 8_000),
          other.getPermitExpirableSemaphore(`{${name}}2`).acquire(),
        ];
        await sleep(100);
        await migrateSlot(cluster, name);
        await plain.release();
        await leased.release(id);
        const [taken, second] = await Promise.all(waiting);
        expect(taken).to.equal(true);
        expect(await leased.tryRelease(second as string)).to.equal(true);
      });
    });
  }

  it('PE-01 testGetInClusterNameMapper: a mapped name keeps its keys together', async () => {
    const config = clusterConfig(cluster).setNameMapper(new PrefixNameMapper('prefix:')).setSlavesSyncTimeout(2_000);
    const client = trackClient(Redisson.create(config));
    const semaphore = client.getPermitExpirableSemaphore(uniqueName());
    await semaphore.trySetPermits(1);
    await semaphore.release(await semaphore.acquire());
    expect(await semaphore.availablePermits()).to.equal(1);
  });

  it('refuses names that cannot work there, before anything is sent', () => {
    const client = trackClient(Redisson.create(clusterConfig(cluster)));
    for (const name of ['x{y', 'x{}y', 'x}y']) {
      expect(() => client.getPermitExpirableSemaphore(name)).to.throw(ConfigError, name);
      expect(() => client.getSemaphore(name)).to.throw(ConfigError, name);
    }
    // The latch puts any name in braces, those with a hash tag too.
    for (const name of ['a{b}c', '{a}']) expect(() => client.getCountDownLatch(name)).to.throw(ConfigError, name);
    for (const name of ['', 5, undefined]) {
      expect(() => client.getSemaphore(name as string)).to.throw(ConfigError);
      expect(() => client.getPermitExpirableSemaphore(name as string)).to.throw(ConfigError);
      expect(() => client.getCountDownLatch(name as string)).to.throw(ConfigError);
    }
  });
});
