// For projects whose `lib` is older than this: it stays in the declarations.
/// <reference lib="esnext.disposable" preserve="true" />
import type { Settings } from '../config/Settings';
import type { BackOff } from './BackOff';
import type { ConnectionListener, ConnectionState, LockLostListener } from './events';
import type { RFencedLock, RLock, RReadWriteLock } from './RLock';
import type { ShutdownOptions } from './options';
import type { RCountDownLatch } from './RCountDownLatch';
import type { RPermitExpirableSemaphore } from './RPermitExpirableSemaphore';
import type { RSemaphore } from './RSemaphore';

/**
 * The client: makes handles of locks and synchronizers. What `Redisson.create()` returns.
 *
 * Making a handle is cheap: it touches neither Redis nor any shared state. An empty or non-string name is a
 * `ConfigError`, thrown at once.
 *
 * Source: `org.redisson.api.RedissonClient`.
 */
export interface RedissonClient {
  /** @param name - any text @returns the re-entrant lock of that name, served in no particular order */
  getLock(name: string): RLock;

  /** @param name - any text @returns the re-entrant lock of that name, served in the order of asking */
  getFairLock(name: string): RLock;

  /** @param name - any text @returns the re-entrant lock of that name, with a growing token for each hold */
  getFencedLock(name: string): RFencedLock;

  /**
   * A lock whose waiters ask again and again instead of subscribing. For very many short-lived locks.
   *
   * @param name - any text
   * @param backOff - the pauses between attempts. Default: exponential, from 1 ms to 128 ms
   */
  getSpinLock(name: string, backOff?: BackOff): RLock;

  /** @param name - any text @returns the lock of that name, which its own holder cannot take again */
  getNonReentrantLock(name: string): RLock;

  /** @param name - any text @returns the same, served in the order of asking */
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
   * Several values of one group as one lock: all or none, in one command however many they are. Locks of other values
   * of the group go on beside it; two that share a value exclude each other. `getHoldCount` and `remainTimeToLive`
   * reject with `UnsupportedOperationError`: each value has its own.
   *
   * For threads the group is one lock: what a thread has of it, it takes and gives back one after the other. A value
   * that the thread has already is re-entered. `unlock` gives back the same set of values that `lock` took.
   *
   * A Java client must use `StringCodec`, or it knows the values by other names.
   *
   * Source: `org.redisson.RedissonFasterMultiLock`.
   *
   * @param group - any text
   * @param values - at least one; their order does not matter, and one that is given twice counts once
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

  /** @param name - any text @returns the semaphore of that name */
  getSemaphore(name: string): RSemaphore;

  /** @param name - any text @returns the semaphore of that name, whose permits have ids and leases */
  getPermitExpirableSemaphore(name: string): RPermitExpirableSemaphore;

  /** @param name - any text @returns the latch of that name */
  getCountDownLatch(name: string): RCountDownLatch;

  /** @returns the id of this client in every owner name it writes: a lower-case v4 UUID */
  getId(): string;

  /** @returns the frozen settings in use; passwords are left out when it is printed or turned into JSON */
  getConfig(): Settings;

  /**
   * Runs `fn` as a new logical thread; everything it awaits or starts belongs to that thread.
   * Inside another scope it is a new thread, too, and in no `withLock` callback: not even in one that it is called in.
   *
   * @param fn - the work
   * @returns what `fn` resolves to
   */
  runInThread<T>(fn: () => T | PromiseLike<T>): Promise<T>;

  /** @returns the id of the running thread scope, or `undefined` outside one */
  currentThreadId(): number | undefined;

  /**
   * Is told each time a hold of this client turns out to be lost. Not of what is still held when the client shuts down:
   * it is left to expire, and only its `signal` aborts.
   *
   * @param listener - called with the lock, the thread and the cause
   * @returns removes the listener
   */
  onLockLost(listener: LockLostListener): () => void;

  /**
   * Asks Redis (one node of a cluster).
   *
   * @returns how long the answer took, in ms
   * @throws ConnectionError, CommandTimeoutError, ShutdownError
   */
  ping(): Promise<number>;

  /** What the command connection is. */
  readonly state: ConnectionState;

  /**
   * Is told of each change of {@link state}.
   *
   * @param listener - called with the state, and with the reason where the connection was lost and it is known
   * @returns removes the listener
   */
  onConnectionChange(listener: ConnectionListener): () => void;

  /**
   * Rejects every waiter with `ShutdownError`, stops the watchdog and closes the connections this client opened.
   * Idempotent. Locks still held are left to expire, as in Redisson, and their signals abort; `onLockLost` is
   * not told of them.
   *
   * @param options - `drain`: how long locks that are held may take to be given back before that, in ms. Called again
   *   meanwhile, it can only end sooner: the limit that ends first counts, and a call without `drain` ends it at once
   * @throws RangeError for a `drain` that is no time
   */
  shutdown(options?: ShutdownOptions): Promise<void>;

  /** `shutdown()` at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;
}
