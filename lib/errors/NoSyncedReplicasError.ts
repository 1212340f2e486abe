import { RedissonError } from './RedissonError';

/**
 * No replica confirmed an acquisition within `slavesSyncTimeout`, so a failover could lose it. It was undone.
 *
 * Source: `org.redisson.client.RedisNoSyncedSlavesException` ("NoSyncedSlaves").
 */
export class NoSyncedReplicasError extends RedissonError {
  readonly code = 'NO_SYNCED_REPLICAS';

  static {
    this.prototype.name = 'NoSyncedReplicasError';
  }

  /**
   * @param what - what was being done, e.g. `acquire lock 'a'`
   * @param timeoutMs - `slavesSyncTimeout`, in ms
   */
  constructor(what: string, timeoutMs: number) {
    super(
      `None of the replicas confirmed it within ${timeoutMs} ms (${what}); it was undone. ` +
        `Increase 'slavesSyncTimeout', or set 'checkLockSyncedSlaves' to false to accept that a failover may lose locks.`,
    );
  }
}
