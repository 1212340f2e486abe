// Stays in the declarations, for projects whose `lib` is older.
/// <reference lib="esnext.disposable" preserve="true" />
import type { Settings } from '../config/Settings';
import type { BackOff } from './BackOff';
import type { ConnectionListener, ConnectionState, LockLostListener } from './events';
import type { LockHold, RFencedLock, RLock, RReadWriteLock } from './RLock';
import type { AttachOptions, PermitsOptions, PingOptions, RunOptions, ShutdownOptions, TryResult } from './options';
import type { RCountDownLatch, RPermitExpirableSemaphore, RSemaphore } from './synchronizers';

/**
 * The client: makes handles of locks and synchronizers. What `Redisson.create()` returns.
 *
 * Making a handle is cheap: it uses neither Redis nor any shared state. An empty or non-string name is a `ConfigError`,
 * thrown synchronously.
 *
 * Source: `org.redisson.api.RedissonClient`.
 */
export interface RedissonClient {
  /** @param name - any text @returns the re-entrant lock of that name, served in no particular order */
  getLock(name: string): RLock;

  /** @param name - any text @returns the re-entrant lock of that name, first come first served */
  getFairLock(name: string): RLock;

  /** @param name - any text @returns the re-entrant lock of that name, with a growing token for each hold */
  getFencedLock(name: string): RFencedLock;

  /**
   * A lock whose waiters retry after pauses instead of subscribing. For very many short-lived locks.
   *
   * @param name - any text
   * @param backOff - the pauses between attempts. Default: exponential, from 1 ms to 128 ms
   */
  getSpinLock(name: string, backOff?: BackOff): RLock;

  /** @param name - any text @returns the lock of that name, which its holder cannot acquire again */
  getNonReentrantLock(name: string): RLock;

  /** @param name - any text @returns the same, first come first served */
  getNonReentrantFairLock(name: string): RLock;

  /** @param name - any text @returns the pair of a read and a write lock of that name */
  getReadWriteLock(name: string): RReadWriteLock;

  /**
   * Several locks as one: all or none.
   *
   * @param locks - at least one, from any clients
   * @throws ConfigError without locks, or for anything that is no lock of this package
   */
  getMultiLock(...locks: readonly RLock[]): RLock;

  /**
   * Several values of one group as one lock: all or none, in one command, however many there are. Locks of other values
   * of the group are independent of it; two locks that share a value exclude each other. `getHoldCount` and
   * `remainTimeToLive` reject with `UnsupportedOperationError`: each value has its own count and time.
   *
   * For threads, sets that share a value are one lock: a thread acquires and releases them one after the other, and a
   * value that it has already is re-entered. Other sets are independent of each other. `unlock` releases the same set of values that `lock` acquired.
   *
   * A Java client must use `StringCodec`; with another codec its values have other names in Redis.
   *
   * Source: `org.redisson.RedissonFasterMultiLock`.
   *
   * @param group - any text
   * @param values - at least one; their order does not matter, and a value given twice counts once
   * @throws ConfigError for anything else
   */
  getMultiLock(group: string, values: readonly string[]): RLock;

  /**
   * Several locks, on independent servers, as one: the majority counts.
   *
   * @param locks - at least one, from any clients
   * @throws ConfigError without locks, or for anything that is no lock of this package
   */
  getRedLock(...locks: readonly RLock[]): RLock;

  /**
   * @param name - any text
   * @param options - `permits`: how many there are to be; set before the first use, unless the semaphore exists
   * @returns the semaphore of that name
   * @throws RangeError, ConfigError for a bad number, an unknown option
   */
  getSemaphore(name: string, options?: PermitsOptions): RSemaphore;

  /**
   * @param name - any text
   * @param options - `permits`: how many there are to be; set before the first use, also where there is another number
   * @returns the semaphore of that name, whose permits have ids and leases
   * @throws RangeError, ConfigError for a bad number, an unknown option
   */
  getPermitExpirableSemaphore(name: string, options?: PermitsOptions): RPermitExpirableSemaphore;

  /** @param name - any text @returns the latch of that name */
  getCountDownLatch(name: string): RCountDownLatch;

  /**
   * For what must run once in a fleet of processes: runs `fn` under the lock of that name, or not at all where another
   * process runs it. The same as `getLock(name).tryWithLock(fn, options)`.
   *
   * @param name - any text
   * @param fn - the work
   * @param options - as for `tryWithLock`; without `waitTime` it does not wait
   * @returns whether it ran here, and what `fn` resolved to
   * @throws what `fn` throws, even if the release fails, too
   * @throws LockLostError if the lock was lost before `fn` ended, and `fn` did not throw; other errors of the release
   *   if only the release fails
   * @throws IllegalMonitorStateError if this thread is already acquiring this lock, holds it for a `withLock` callback
   *   that runs beside this call, or may not re-enter it
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws the reason of `options.signal`, when it aborts
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `fn` did not run: the
   *   acquisition is then undone
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError, ConfigError for wrong arguments
   */
  runOnce<T>(name: string, fn: (hold: LockHold) => T | PromiseLike<T>, options?: RunOptions): Promise<TryResult<T>>;

  /** @returns the id of this client, which is part of every owner name that it writes: a lower-case v4 UUID */
  getId(): string;

  /** @returns the frozen settings in use; passwords are redacted when it is printed or turned into JSON */
  getConfig(): Settings;

  /**
   * Runs `fn` as a new logical thread; everything it awaits or starts belongs to that thread. Inside another scope it
   * is a new thread, too, and it is outside every `withLock` callback, even one that calls it.
   *
   * @param fn - the work
   * @returns what `fn` resolves to
   * @throws what `fn` throws
   */
  runInThread<T>(fn: () => T | PromiseLike<T>): Promise<T>;

  /** @returns the id of the running thread scope, or `undefined` outside one */
  currentThreadId(): number | undefined;

  /**
   * Takes up the hold that `detach()` of this or another client made the ticket of. From then on it is a hold of this
   * client, of a new thread, as if `acquire` had returned it: the watchdog renews it, and its loss is reported here. Between
   * `detach` and `attach` nobody else can have the lock.
   *
   * @param ticket - as `detach` returned it
   * @param options - `leaseTime` (default -1: renewed) and its `unit`
   * @returns the hold
   * @throws LockLostError if the ticket was used before, its lease is over, or it is of another server
   * @throws ConfigError if it is no ticket of this package, was changed, or is for another database; for wrong options
   * @throws NoSyncedReplicasError if no replica confirmed it (see `checkLockSyncedSlaves`); it is undone
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat by this client, which
   *   takes up what the first call may have taken; for others the ticket is valid again once that is undone, soon
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, TypeError for wrong arguments
   */
  attach(ticket: string, options?: AttachOptions): Promise<LockHold>;

  /**
   * The hold of the innermost `withLock` callback around the call: what a decorated method, or code that it calls, asks
   * for its `signal`. Only callbacks whose locks are of this client count. A `runInThread` is in no callback around it.
   *
   * @param name - only the hold of this lock, as given to `getLock`; also of a multi-lock that contains it. Default any
   * @returns the hold, also if it was released or lost meanwhile; `undefined` outside such callbacks
   * @throws ConfigError for a name that no lock can have
   */
  currentHold(name?: string): LockHold | undefined;

  /**
   * Calls the listener each time a hold of this client turns out to be lost. Not for locks that are still held when the
   * client shuts down: they are left to expire, and only their `signal` aborts.
   *
   * @param listener - called with the lock, the thread and the cause
   * @returns a function that removes the listener
   */
  onLockLost(listener: LockLostListener): () => void;

  /**
   * Sends a PING to Redis (to one node of a cluster): what a health check calls. It settles in time whatever becomes
   * of Redis.
   *
   * @param options - `timeout`: how long it may take, in ms, by default the setting `timeout`; `signal`
   * @returns how long the reply took, in ms
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the client is shut down
   * @throws RangeError, ConfigError for a `timeout` below 1 ms, a `signal` that is none, an unknown option; the reason
   *   of the signal
   */
  ping(options?: PingOptions): Promise<number>;

  /**
   * The state of the command connection. It is no longer `ready` within 2 s of a loss, also where the connection stays
   * open but a command gets no answer (a frozen server). A client that sends nothing notices that with its next command.
   */
  readonly state: ConnectionState;

  /**
   * Calls the listener at each change of {@link state}.
   *
   * @param listener - called with the state, and with the reason of a lost connection, if known
   * @returns a function that removes the listener
   */
  onConnectionChange(listener: ConnectionListener): () => void;

  /**
   * Rejects every waiter with `ShutdownError`, stops the watchdog and closes the connections this client opened.
   * Idempotent. Locks still held are left to expire, as in Redisson, and their signals abort; listeners of `onLockLost`
   * are not called for them.
   *
   * @param options - `drain`: how long holders may take to release their locks before that, in ms. Further calls can
   *   only shorten it: the limit that ends first counts, and a call without `drain` ends it at once
   * @throws RangeError for a `drain` that is not a valid time; ConfigError for an unknown option
   */
  shutdown(options?: ShutdownOptions): Promise<void>;

  /** `shutdown()` at the end of an `await using` block. Never rejects. */
  [Symbol.asyncDispose](): Promise<void>;
}
