import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type {
  BackOff,
  ConnectionListener,
  ConnectionState,
  LockLostListener,
  RCountDownLatch,
  RFencedLock,
  RLock,
  RPermitExpirableSemaphore,
  RReadWriteLock,
  RSemaphore,
  ShutdownOptions,
} from './api';
import type { Config } from './config/Config';
import type { RedissonOptions } from './config/RedissonOptions';
import { resolveConfig } from './config/resolveConfig';
import type { Settings } from './config/Settings';
import { validateName } from './config/validateName';
import { connect } from './connection/connect';
import type { Connections } from './connection/Connections';
import { checkSlots } from './locks/checkSlots';
import { DistributedLock } from './locks/DistributedLock';
import { fairDriver } from './locks/drivers/fair';
import { fencedDriver } from './locks/drivers/fenced';
import type { LockDriver } from './locks/drivers/LockDriver';
import { nonReentrantDriver } from './locks/drivers/nonReentrant';
import { nonReentrantFairDriver } from './locks/drivers/nonReentrantFair';
import { readDriver } from './locks/drivers/read';
import { readKeyPrefix } from './locks/drivers/readWriteKeys';
import { reentrantDriver } from './locks/drivers/reentrant';
import { spinDriver } from './locks/drivers/spin';
import { writeDriver } from './locks/drivers/write';
import { FairTurns } from './locks/FairTurns';
import { FencedLock } from './locks/FencedLock';
import { HandleThread } from './locks/HandleThread';
import type { LockContext } from './locks/LockContext';
import { LockEngine } from './locks/LockEngine';
import { MultiLock } from './locks/MultiLock';
import { ALL, MAJORITY } from './locks/quorum';
import { ReadWriteLock } from './locks/ReadWriteLock';
import { unheardWarning } from './locks/unheardWarning';
import { SelfWaits } from './locks/SelfWaits';
import { warnHandleReentry, warnSelfWait } from './locks/threadWarnings';
import { ChannelHub } from './pubsub/ChannelHub';
import { Drain } from './renewal/drain';
import { logClient } from './renewal/clientLog';
import { hashRenewal } from './renewal/hashRenewal';
import { HoldTable } from './renewal/HoldTable';
import { readRenewal } from './renewal/readRenewal';
import { RenewalScheduler } from './renewal/RenewalScheduler';
import { CountDownLatch } from './synchronizers/CountDownLatch';
import { latchKeys, permitKeys, semaphoreKeys, type ObjectKeys } from './synchronizers/objectKeys';
import { PermitExpirableSemaphore } from './synchronizers/PermitExpirableSemaphore';
import { RedisObject } from './synchronizers/RedisObject';
import { Semaphore } from './synchronizers/Semaphore';
import { currentThreadId, runAsNewThread } from './thread/threadScope';
import { toMillis } from './util/duration';
import { ExponentialBackOff } from './util/ExponentialBackOff';
import { BackOffWakeup } from './wait/BackOffWakeup';
import { Rollback } from './wait/Rollback';

/**
 * The client and composition root: everything of one client is made here and handed down.
 *
 * States: open -> shut down.
 */
export class Redisson {
  readonly #id = randomUUID();
  readonly #settings: Settings;
  readonly #connections: Connections;
  readonly #context: LockContext;
  readonly #fairTurns: FairTurns;
  readonly #drivers;
  #reentryWarned = false;
  #shutdown: Promise<void> | undefined;
  /** Aborts when the shutdown begins: nothing new is acquired. */
  readonly #closing = new AbortController();
  #drain: Drain | undefined;

  private constructor(settings: Settings) {
    this.#settings = settings;
    this.#connections = connect({ ...settings, clientName: settings.clientName ?? connectionName(this.#id) });
    const { executor, subscriber, monitor } = this.#connections;
    const holds = new HoldTable();
    const watchdog = new RenewalScheduler(holds, settings.lockWatchdogBatchSize);
    const warnUnheard = unheardWarning();
    executor.onUnheard = warnUnheard;
    executor.onReply = () => watchdog.catchUp();
    this.#context = {
      clientId: this.#id,
      settings,
      holds,
      watchdog,
      rollback: new Rollback(),
      hub: new ChannelHub(subscriber, settings),
      closing: this.#closing.signal,
      selfWaits: new SelfWaits(holds, warnSelfWait),
      warnReentry: (name) => this.#warnReentry(name),
      warnUnheard: (name) => warnUnheard(`release lock '${name}'`),
    };
    const telling = logClient(settings.logger, this.#id, monitor, holds);
    const renewal = telling(hashRenewal(executor));
    const closing = this.#closing.signal;
    const queueing = settings.fairLockWaitTimeout;
    this.#fairTurns = new FairTurns(executor);
    this.#drivers = {
      lock: reentrantDriver(executor, this.#id, renewal),
      fair: fairDriver(executor, this.#id, renewal, queueing, this.#fairTurns),
      fenced: fencedDriver(executor, this.#id, renewal),
      nonReentrant: nonReentrantDriver(executor, this.#id, renewal),
      nonReentrantFair: nonReentrantFairDriver(executor, this.#id, renewal, queueing, this.#fairTurns),
      read: readDriver(executor, this.#id, telling(readRenewal(executor, readKeyPrefix))),
      write: writeDriver(executor, this.#id, renewal),
      spin: (backOff: BackOff) =>
        spinDriver(executor, this.#id, renewal, () => new BackOffWakeup(backOff.create(), closing)),
    };
  }

  /**
   * Makes a client. It connects in the background; operations wait for the connection.
   *
   * @param config - nothing (`REDIS_URL`, else `redis://127.0.0.1:6379`), a URL, a `Config`, or an options object
   * @throws ConfigError for anything it does not understand, before anything is opened
   */
  static create(config?: string | URL | Config | RedissonOptions): Redisson {
    return new Redisson(resolveConfig(config));
  }

  /** The re-entrant lock of that name (Redisson: RLock). @throws ConfigError unless the name is a non-empty string */
  getLock(name: string): RLock {
    return this.#lock(name, this.#drivers.lock);
  }

  /** As {@link getLock}, served in the order of asking. */
  getFairLock(name: string): RLock {
    return this.#lock(name, this.#drivers.fair);
  }

  /** As {@link getLock}, with a growing token for each hold (Redisson: RFencedLock). */
  getFencedLock(name: string): RFencedLock {
    return new FencedLock(this.#lock(name, this.#drivers.fenced));
  }

  /** As {@link getLock}; waiters ask again and again. @param backOff - their pauses. @default exponential, 1 to 128 ms */
  getSpinLock(name: string, backOff: BackOff = new ExponentialBackOff()): RLock {
    return this.#lock(name, this.#drivers.spin(backOff));
  }

  /** The lock of that name, which its own holder cannot take again. */
  getNonReentrantLock(name: string): RLock {
    return this.#lock(name, this.#drivers.nonReentrant);
  }

  /** As {@link getNonReentrantLock}, served in the order of asking. */
  getNonReentrantFairLock(name: string): RLock {
    return this.#lock(name, this.#drivers.nonReentrantFair);
  }

  /** The pair of a read and a write lock of that name (Redisson: RReadWriteLock). */
  getReadWriteLock(name: string): RReadWriteLock {
    const { read, write } = this.#drivers;
    return new ReadWriteLock(this.#engine(name, read, write), this.#engine(name, write, read));
  }

  /**
   * Several locks as one, all or none. A lock that one client gives twice is taken once.
   * @throws ConfigError without locks, for anything that is no lock, or for one lock of one server by two clients
   */
  getMultiLock(...locks: readonly RLock[]): RLock {
    return new MultiLock(locks, ALL);
  }

  /**
   * Several locks, on independent servers, as one: the majority counts.
   * @throws ConfigError as {@link getMultiLock}, and for one lock that is given twice: a server would have two votes
   */
  getRedLock(...locks: readonly RLock[]): RLock {
    return new MultiLock(locks, MAJORITY);
  }

  /** The semaphore of that name (Redisson: RSemaphore). */
  getSemaphore(name: string): RSemaphore {
    return new Semaphore(this.#object('semaphore', name, semaphoreKeys));
  }

  /** The semaphore of that name whose permits have ids and leases (Redisson: RPermitExpirableSemaphore). */
  getPermitExpirableSemaphore(name: string): RPermitExpirableSemaphore {
    return new PermitExpirableSemaphore(this.#object('semaphore', name, permitKeys));
  }

  /** The latch of that name (Redisson: RCountDownLatch). */
  getCountDownLatch(name: string): RCountDownLatch {
    return new CountDownLatch(this.#object('latch', name, latchKeys));
  }

  /** @internal As `getLock(name).withLock(fn, options)`, with what only @DisLock may ask for. */
  guard<T>(name: string, ...call: Parameters<typeof DistributedLock.prototype.guard<T>>): Promise<T> {
    return this.#lock(name, this.#drivers.lock).guard(...call);
  }

  /** The client id: a lower-case v4 UUID, the first part of every owner name. */
  getId(): string {
    return this.#id;
  }

  /** The frozen settings. */
  getConfig(): Settings {
    return this.#settings;
  }

  /** Runs `fn` as a new logical thread. @returns what `fn` returns */
  runInThread<T>(fn: () => T | PromiseLike<T>): Promise<T> {
    return runAsNewThread(fn);
  }

  /** The id of the running thread scope, or `undefined` outside one. */
  currentThreadId(): number | undefined {
    return currentThreadId();
  }

  /** Asks Redis. @returns how long the answer took, in ms @throws errors of the connection */
  async ping(): Promise<number> {
    const sentAt = performance.now();
    await this.#connections.executor.call('ping', [], { what: 'ping', routeBy: '' });
    return performance.now() - sentAt;
  }

  /** What the command connection is. */
  get state(): ConnectionState {
    return this.#connections.monitor.state;
  }

  /** Tells of each change of {@link state}. @returns what removes the listener */
  onConnectionChange(listener: ConnectionListener): () => void {
    if (typeof listener !== 'function') throw new TypeError('onConnectionChange needs a function');
    return this.#connections.monitor.onChange(listener);
  }

  /** Tells of every hold of this client that turns out to be lost. @returns what removes the listener */
  onLockLost(listener: LockLostListener): () => void {
    if (typeof listener !== 'function') throw new TypeError('onLockLost needs a function');
    return this.#context.holds.onLost(listener);
  }

  /**
   * Rejects every waiter with ShutdownError, refuses new acquisitions, stops the watchdog, closes the connections.
   * Idempotent. Locks still held are left to expire, as Redisson does, and their signals abort.
   *
   * @param options - `drain`: locks that are held get so many ms to be given back before that. Of several calls the one that
   *   ends soonest counts; one without it ends that time at once
   * @throws RangeError for a `drain` that is no time
   */
  async shutdown(options?: ShutdownOptions): Promise<void> {
    const drainMs = readDrain(options);
    if (this.#shutdown === undefined) this.#shutdown = this.#close(drainMs);
    else void this.#drain?.within(drainMs);
    return this.#shutdown;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  async #close(drainMs: number): Promise<void> {
    const { hub, holds } = this.#context;
    this.#closing.abort();
    hub.close();
    holds.turns.close();
    if (drainMs > 0) {
      this.#drain = new Drain(holds, this.#connections.executor);
      await this.#drain.within(drainMs);
    }
    this.#fairTurns.close();
    holds.clear();
    const closed = this.#connections.executor.close();
    this.#connections.monitor.close();
    await closed;
    this.#context.rollback.close();
  }

  #lock(name: string, driver: LockDriver): DistributedLock {
    return new DistributedLock(this.#engine(name, driver), new HandleThread());
  }

  #engine(name: string, driver: LockDriver, otherHalf?: LockDriver): LockEngine {
    const engine = new LockEngine(this.#context, driver, validateName(name, 'lock'), otherHalf);
    checkSlots(driver.executor, name, driver.keysOf(engine.rawName));
    return engine;
  }

  #object<K extends ObjectKeys>(kind: string, name: string, keysOf: (rawName: string) => K): RedisObject<K> {
    const { executor } = this.#connections;
    const object = new RedisObject({ ...this.#context, executor }, kind, validateName(name, kind), keysOf);
    checkSlots(executor, name, object.allKeys);
    return object;
  }

  #warnReentry(name: string): void {
    if (this.#reentryWarned) return;
    this.#reentryWarned = true;
    warnHandleReentry(name);
  }
}

/** @returns ms; 0: nothing is waited for */
function readDrain(options: ShutdownOptions | undefined): number {
  const drain = toMillis(options?.drain ?? 0, undefined, 'drain');
  if (drain < 0) throw new RangeError(`drain must not be negative, got ${drain}`);
  return drain;
}

/** So that an owner in Redis, which begins with the client id, can be traced to its process. */
function connectionName(clientId: string): string {
  return `ioredisson:${clientId}:${hostname().replace(/[^!-~]/g, '_')}:${process.pid}`;
}
