import type { RedissonClient } from '../api';
import type { CommonSettings } from '../config/Settings';

/** Options of {@link createTestRedisson}: the settings of a client that do not concern its connections, and a store. */
export interface TestRedissonOptions extends Partial<
  Pick<
    CommonSettings,
    | 'lockWatchdogTimeout'
    | 'lockWatchdogBatchSize'
    | 'fairLockWaitTimeout'
    | 'nameMapper'
    | 'maxRenewTimes'
    | 'strictThreads'
    | 'maxHandOvers'
    | 'localHandOver'
    | 'subscriptionTimeout'
    | 'logger'
  >
> {
  /**
   * Any object: the clients that are given the same one share a store, as processes share a Redis. It may be another
   * test client, whose store is then shared.
   * @default a store of its own
   */
  readonly store?: object;
}

/** The holder of a lock, as {@link TestRedisson.holders} reports it. */
export interface TestHolder {
  /** The client: {@link RedissonClient.getId}. */
  readonly clientId: string;
  /** The logical thread. */
  readonly threadId: number;
  /** How often it holds the lock. For a lock over values of a group: the highest count of its values. */
  readonly count: number;
}

/** A client in memory: what {@link createTestRedisson} returns. */
export interface TestRedisson extends RedissonClient {
  /**
   * Takes a lock away from its holder, as if it had expired: the signals of its holds abort with `LockLostError`,
   * `onLockLost` listeners are called, and the waiters try to get it. All of that has begun when this returns. For
   * both halves of a read/write lock at once; for a multi-lock by the names of its members.
   *
   * @param name - of the lock, as given to `getLock`
   * @returns whether a thread of any client held it
   * @throws ConfigError for a name that no lock can have
   */
  loseLock(name: string): boolean;

  /**
   * Lets the next commands of this client fail. They do not run, and are not sent again; the operations that sent
   * them reject with this very error. Every command counts, also the renewals of the watchdog. One operation may send
   * several; an error whose `mayHaveRun` is `true` (`new ConnectionError('…', true)`) makes its caller undo what the
   * command may have done, which is a command, too.
   *
   * @param error - the error that they fail with
   * @param times - how many: a positive integer, or `Infinity`. 0: no further command fails. Default: 1
   * @throws TypeError unless `error` is an `Error`; RangeError for other `times`
   */
  failNext(error: Error, times?: number): void;

  /**
   * The current holders of a lock, in the order in which they got it. Readers and a writer of a read/write lock are
   * reported alike.
   *
   * @param name - of the lock, as given to `getLock`
   * @returns an entry for each thread of each client of the store; empty where the lock is free
   * @throws ConfigError for a name that no lock can have
   */
  holders(name: string): TestHolder[];

  /**
   * Resets the store for the next test: empties it, for all clients that share it. Their holds end (their signals
   * abort, `onLockLost` listeners are not called), waiters are rejected with `ShutdownError`, and errors of {@link
   * failNext} are forgotten. Handles and listeners stay usable.
   */
  reset(): void;
}
