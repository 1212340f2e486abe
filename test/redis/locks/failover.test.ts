// Ids in titles: test/README.md
import { expect } from 'chai';
import { IllegalMonitorStateError, NoSyncedReplicasError, Redisson, RedissonError } from '../../../lib';
import { ReplicatedRedis, sleep, sleepUntil, trackClient } from '../../support';
import { sentinelConfig } from '../../support/topologyConfigs';

describe('failover by sentinels', () => {
  it('TP-01 TP-02: owners that lock and unlock go through it with errors of the lock and the connection only, and go on', async function () {
    this.timeout(60_000);
    const group = trackClient(await ReplicatedRedis.start({ replicas: 2, sentinels: 3 }));
    const config = sentinelConfig(group).setLockWatchdogTimeout(3_000);
    const client = trackClient(Redisson.create(config));
    const unexpected: unknown[] = [];
    let done = 0;
    let running = true;
    const owners = Array.from({ length: 5 }, async (_, owner) => {
      for (let i = 0; running; i++) {
        // Few names, so that they wait for each other: on pub/sub.
        const lock = client.getLock(`lock-${(owner * 7 + i) % 3}`);
        try {
          if (await lock.tryLock(2_000, 10_000, undefined, owner)) {
            await sleep(5);
            await lock.unlock(owner);
            done += 1;
          }
        } catch (error) {
          if (!(error instanceof RedissonError)) unexpected.push(error);
          else if (!['CONNECTION', 'COMMAND_TIMEOUT', 'SUBSCRIPTION_TIMEOUT'].includes(error.code)) {
            if (!(error instanceof IllegalMonitorStateError || error instanceof NoSyncedReplicasError)) {
              unexpected.push(error);
            }
          }
          await sleep(50);
        }
      }
    });
    await sleepUntil(() => done > 50, { timeout: 10_000, message: 'sections before the failover' });
    await group.failover();
    const before = done;
    await sleepUntil(() => done > before + 50, { timeout: 30_000, message: 'sections after the failover' });
    running = false;
    await Promise.all(owners);
    expect(unexpected.map(String)).to.deep.equal([]);
  });
});
