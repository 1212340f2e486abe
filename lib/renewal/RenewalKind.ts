/** What is renewed: the field of an owner in a lock's hash. */
export interface Renewable {
  /** The lock's key in Redis. */
  readonly rawName: string;
  /** The owner's field in the lock's hash. */
  readonly owner: string;
}

/** How one family of locks is renewed. One object per family: its identity groups the holds into batches. */
export interface RenewalKind {
  /**
   * Renews a batch of holds in one command; all keys are of one slot.
   * @param holds - at most `lockWatchdogBatchSize`
   * @param leaseMs - what to extend them to, in ms
   * @returns per hold, whether it was still held
   */
  renew(holds: readonly Renewable[], leaseMs: number): Promise<readonly boolean[]>;
  /** What must be equal for two holds to share a batch: the slot on a cluster, nothing otherwise. */
  batchOf(hold: Renewable): string | number;
}
