import { expect } from 'chai';
import { Redisson } from '../../lib';
import { RedisCluster, trackClient, uniqueName } from '../support';
import { bareClient } from '../redis/synchronizers/support';
import { clusterConfig } from '../support/topologyConfigs';
import type { LockUnderTest } from './lockContract';

/** A kind of lock on a cluster, and its ids (test/README.md): B-CLUSTER first. */
export interface ClusterKind extends Pick<LockUnderTest, 'make'> {
  /** Begin the name of the test, e.g. `L-11`. */
  readonly ids?: string;
}

/** What the kinds of lock have to keep on a cluster; one cluster serves them all. */
export function clusterContract(kinds: Readonly<Record<string, ClusterKind>>): void {
  describe('on a cluster', function () {
    this.timeout(30_000);
    let client: Redisson;
    let cluster: RedisCluster;

    before(async function () {
      this.timeout(60_000);
      cluster = trackClient(await RedisCluster.start());
      client = trackClient(Redisson.create(clusterConfig(cluster)));
    });

    for (const [name, kind] of Object.entries(kinds)) {
      it(`${kind.ids === undefined ? '' : `${kind.ids} `}B-CLUSTER: ${name} of names in every slot is locked and unlocked`, async () => {
        // Enough names to be on every node; CROSSSLOT would be an error of some of them.
        for (let i = 0; i < 12; i++) {
          const lock = kind.make(client, `${uniqueName('cluster')}-${i}`);
          await lock.lock(-1, undefined, 1);
          expect(await lock.isHeldByThread(1)).to.equal(true);
          expect(await lock.isHeldByThread(2)).to.equal(false);
          await lock.unlock(1);
          expect(await lock.isHeldByThread(1)).to.equal(false);
        }
      });
    }

    for (const [name, kind] of Object.entries(kinds)) {
      it(`${name}: a waiter on a cluster is woken by the unlock`, async () => {
        const lockName = uniqueName('cluster');
        await kind.make(client, lockName).lock(30_000, undefined, 1);
        const waiter = kind.make(client, lockName).tryLock(10_000, -1, undefined, 2);
        await new Promise((resolve) => setTimeout(resolve, 100));
        await kind.make(client, lockName).unlock(1);
        expect(await waiter).to.equal(true);
        await kind.make(client, lockName).unlock(2);
      });
    }

    it('L-17: 30 times tryLock and unlock: nothing throws', async () => {
      const lock = client.getLock(uniqueName('cluster'));
      for (let i = 0; i < 30; i++) {
        if (await lock.tryLock()) await lock.unlock();
      }
      for (const url of cluster.urls) expect(await bareClient(url).keys('cluster-*')).to.deep.equal([]);
    });
  });
}
