import { randomUUID } from 'node:crypto';
import type {
  AttachOptions,
  BackOff,
  ConnectionListener,
  ConnectionState,
  LockHold,
  LockLostListener,
  PermitsOptions,
  PingOptions,
  RCountDownLatch,
  RFencedLock,
  RLock,
  RPermitExpirableSemaphore,
  RReadWriteLock,
  RSemaphore,
  RunOptions,
  ShutdownOptions,
  TryResult,
} from './api';
import type { Config } from './config/builder/Config';
import type { RedissonOptions } from './config/RedissonOptions';
import { resolveConfig } from './config/builder/resolveConfig';
import { longestWaitMs } from './connection/Executor';
import { serverIdentity } from './config/serverIdentity';
import type { Settings } from './config/Settings';
import { checkSlots, unmapName, validateName } from './config/validateName';
import { ConfigError } from './errors';
import { connect, type Connections } from './connection/connect';
import { newSendRecord } from './connection/pending/CommandExecutor';
import { placeOf, readHoldLease } from './locks/LockHold';
import {
  once,
  unheardWarning,
  warnAbandonedHold,
  warnChangedPermits,
  warnHandleReentry,
  warnKeptPermits,
  warnNoTracking,
  warnSelfWait,
} from './util/warnings';
import { ALL_KINDS } from './kinds/allKinds';
import { clientKind, kindsOf, renewalsOf } from './kinds/clientKind';
import { FAIR } from './kinds/fair';
import { FairQueueWatch } from './kinds/FairQueueWatch';
import { FENCED } from './kinds/fenced';
import { GROUP, groupValues } from './kinds/group';
import { NON_REENTRANT, NON_REENTRANT_FAIR } from './kinds/nonReentrant';
import { READ, WRITE } from './kinds/readWrite';
import { LOCK } from './kinds/reentrant';
import { SPIN } from './kinds/spin';
import { LATCH } from './kinds/latch';
import { PERMIT } from './kinds/permit';
import { permitWaits } from './synchronizers/permitNumber';
import { RedisObject } from './synchronizers/RedisObject';
import { SEMAPHORE } from './kinds/semaphore';
import { attach, Lock, readWriteLock, withTokens } from './locks/Lock';
import type { LockDescriptor, ObjectKeys, SynchronizerKind, Heir, LockKind } from './kinds/Kind';
import type { LockContext } from './locks/core/LockContext';
import type { MemberHold } from './locks/core/MemberLock';
import { LockEngine } from './locks/core/LockEngine';
import { Introspection } from './introspection/Introspection';
import { ObjectListeners } from './listeners/ObjectListeners';
import { multiLock } from './locks/multi/multiLock';
import { ALL, MAJORITY } from './locks/multi/quorum';
import { selfWaits } from './locks/core/selfWaits';
import { Subscriptions } from './waiters/Subscriptions';
import { checkOptionNames, PING_OPTIONS, SHUTDOWN_OPTIONS } from './config/optionNames';
import { atLeastMillis } from './util/duration';
import { Drain } from './watchdog/drain';
import { logClient } from './introspection/clientLog';
import { followKeys } from './watchdog/followKeys';
import { OwnershipTable } from './watchdog/OwnershipTable';
import { Watchdog } from './watchdog/Watchdog';
import { ThreadStarter } from './watchdogThread/ThreadStarter';
import { latchOf } from './synchronizers/countDownLatch';
import { permitSemaphoreOf } from './synchronizers/permitExpirableSemaphore';
import { semaphoreOf } from './synchronizers/semaphore';
import { currentThreadId, HandleThread, runAsNewThread } from './thread/threadScope';
import { ExponentialBackOff } from './util/backOff';
import { describe } from './util/describe';
import { parseTicket } from './util/ticket';
import { connectionName } from './util/connectionName';
import { warn } from './util/warn';
import { BackOffWaits } from './acquire/BackOffWaits';
import { Closing } from './acquire/Closing';
import { waitLimit } from './acquire/acquireWithin';
import { checkSignal, INTERRUPTED } from './acquire/WaitLimit';
import { Rollback } from './acquire/Rollback';

/** So many names are in the warning of a drain that is over. */
const MAX_NAMED = 10;

/**
 * What `ioredisson/testing` needs of a client, see `Redisson.internals`.
 * @internal
 */
export interface ClientInternals {
  readonly ownerships: OwnershipTable;
  /** Lets every waiter look again. */
  readonly wakeAll: () => void;
  /** Rejects every waiter with such an error and forgets every hold. The client goes on. */
  readonly interrupt: (makeError: () => Error) => void;
}

/**
 * The client and composition root: all parts of one client are made here and passed down.
 *
 * States: open -> shut down.
 */
export class Redisson {
  readonly #id = randomUUID();
  readonly #settings: Settings;
  readonly #connections: Connections;
  readonly #context: LockContext;
  readonly #fairQueues: FairQueueWatch;
  readonly #kind: (kind: LockDescriptor) => LockKind;
  #shutdown: Promise<void> | undefined;
  readonly #closing = new Closing();
  /** The waits of spin locks. */
  readonly #backOffWaits = new BackOffWaits<Heir>();
  readonly #introspection: Introspection | undefined;
  #drain: Drain | undefined;

  private constructor(settings: Settings, open: (settings: Settings) => Connections) {
    this.#settings = settings;
    const { clientName = connectionName(this.#id) } = settings;
    const threadStarter = new ThreadStarter(settings, this.#id, clientName);
    this.#connections = open({ ...settings, clientName });
    const { executor, subscriber, monitor, keyEvents, logins, tracking } = this.#connections;
    const ownerships = new OwnershipTable();
    const watchdog = new Watchdog(ownerships, settings.lockWatchdogBatchSize, this.#id);
    const warnUnheard = unheardWarning();
    const subscriptions = new Subscriptions<Heir>(subscriber, settings);
    if (settings.introspection !== false) {
      const { nameMapper, introspection } = settings;
      const { callSites } = introspection;
      const parts = { clientId: this.#id, ownerships, subscriptions, backOffWaits: this.#backOffWaits, executor };
      const place = serverIdentity(settings);
      this.#introspection = new Introspection({
        ...parts,
        nameOf: (key) => unmapName(key, nameMapper),
        callSites,
        place,
      });
    }
    executor.onUnheard = warnUnheard;
    executor.onReply = watchdog.catchUp;
    executor.onReplaced = watchdog.check;
    const renewals = renewalsOf(executor, logClient(settings.logger, this.#id, monitor, ownerships));
    this.#fairQueues = new FairQueueWatch(executor, subscriptions, this.#id);
    this.#context = {
      clientId: this.#id,
      settings,
      ownerships,
      watchdog,
      threadStarter,
      rollback: new Rollback(executor),
      executor,
      renewals,
      fairQueues: this.#fairQueues,
      subscriptions,
      objectListeners: new ObjectListeners(keyEvents, executor, settings),
      closing: this.#closing,
      introspection: this.#introspection,
      selfWaits: selfWaits(ownerships, warnSelfWait),
      undoneAttach: new Map(),
      warnReentry: once(warnHandleReentry),
      permitWaits: permitWaits(executor),
      warnKeptPermits: once(warnKeptPermits),
      warnChangedPermits: once(warnChangedPermits),
      warnAbandoned: once(warnAbandonedHold),
      warnUnheard: (name) => warnUnheard(`release lock '${name}'`),
    };
    if (tracking !== undefined) {
      tracking.events = followKeys(watchdog, this.#context.subscriptions, executor, warnNoTracking);
    }
    threadStarter.client = { ownerships, watchdog, renewals, logins };
    this.#kind = kindsOf(this.#context);
  }

  /**
   * Makes a client. It connects in the background; operations wait for the connection.
   *
   * @param config - nothing (`REDIS_URL`, else `redis://127.0.0.1:6379`), a URL, a `Config`, or an options object
   * @throws ConfigError if it cannot use the configuration, before any connection is opened
   */
  static create(config?: string | URL | Config | RedissonOptions): Redisson {
    return new Redisson(resolveConfig(config), connect);
  }

  /**
   * A client over other connections than those of the settings, for `ioredisson/testing`: in memory, where nobody asks.
   * @internal
   */
  static over(settings: Settings, open: (settings: Settings) => Connections): Redisson {
    return new Redisson({ ...settings, introspection: false }, open);
  }

  /**
   * What `ioredisson/testing` needs of a client.
   * @internal
   */
  get internals(): ClientInternals {
    const { ownerships, subscriptions } = this.#context;
    return {
      ownerships,
      wakeAll: () => subscriptions.wakeAll(),
      interrupt: (makeError) => {
        subscriptions.rejectAll(makeError);
        this.#backOffWaits.rejectAll(makeError);
        ownerships.clear('its client was reset', makeError());
      },
    };
  }

  /** The re-entrant lock of that name (Redisson: RLock). @throws ConfigError unless the name is a non-empty string */
  getLock(name: string): RLock {
    return this.#lock(name, this.#kind(LOCK));
  }

  /** As {@link getLock}, first come first served. */
  getFairLock(name: string): RLock {
    return this.#lock(name, this.#kind(FAIR));
  }

  /** As {@link getLock}, with a growing token for each hold (Redisson: RFencedLock). */
  getFencedLock(name: string): RFencedLock {
    return withTokens(this.#lock(name, this.#kind(FENCED)));
  }

  /**
   * As {@link getLock}; waiters retry after pauses.
   * @param backOff - the pauses.
   * @default exponential, 1 to 128 ms
   * @throws TypeError unless `backOff` has a `create()`
   */
  getSpinLock(name: string, backOff: BackOff = new ExponentialBackOff()): RLock {
    if (typeof (backOff as BackOff | null)?.create !== 'function') {
      throw new TypeError(`getSpinLock needs a back-off with create(), got ${describe(backOff)}`);
    }
    return this.#lock(name, { ...this.#kind(SPIN), newWait: (heir) => this.#backOffWaits.begin(backOff, heir) });
  }

  /** The lock of that name, which its holder cannot acquire again. */
  getNonReentrantLock(name: string): RLock {
    return this.#lock(name, this.#kind(NON_REENTRANT));
  }

  /** As {@link getNonReentrantLock}, first come first served. */
  getNonReentrantFairLock(name: string): RLock {
    return this.#lock(name, this.#kind(NON_REENTRANT_FAIR));
  }

  /** The pair of a read and a write lock of that name (Redisson: RReadWriteLock). */
  getReadWriteLock(name: string): RReadWriteLock {
    return readWriteLock(this.#engine(name, this.#kind(READ)), this.#engine(name, this.#kind(WRITE)));
  }

  /**
   * Several locks as one, all or none. A lock that one client gives twice is acquired once.
   * @throws ConfigError without locks, for a value that is not a lock, or for the same lock of one server by two
   *   clients
   */
  getMultiLock(...locks: readonly RLock[]): RLock;
  /**
   * Several values of one group as one lock, all or none, by one script (Redisson's group multi-lock).
   * @throws ConfigError unless the group is a non-empty string, and the values are at least one string
   */
  getMultiLock(group: string, values: readonly string[]): RLock;
  getMultiLock(...args: readonly RLock[] | [string, readonly string[]]): RLock {
    const [group, values] = args;
    if (typeof group !== 'string') return multiLock(args, ALL, longestWaitMs(this.#settings));
    return this.#lock(group, clientKind(GROUP, this.#context, groupValues(values as readonly string[])));
  }

  /**
   * Several locks, on independent servers, as one: the majority counts.
   * @throws ConfigError as {@link getMultiLock}, and for a lock given twice: its server would have two votes
   */
  getRedLock(...locks: readonly RLock[]): RLock {
    return multiLock(locks, MAJORITY, longestWaitMs(this.#settings));
  }

  /**
   * The semaphore of that name (Redisson: RSemaphore).
   * @param options - `permits`: how many there are to be, unless the semaphore exists
   */
  getSemaphore(name: string, options?: PermitsOptions): RSemaphore {
    return semaphoreOf(this.#object(SEMAPHORE, name), options);
  }

  /**
   * The semaphore of that name whose permits have ids and leases (Redisson: RPermitExpirableSemaphore).
   * @param options - `permits`: how many there are to be
   */
  getPermitExpirableSemaphore(name: string, options?: PermitsOptions): RPermitExpirableSemaphore {
    return permitSemaphoreOf(this.#object(PERMIT, name), options);
  }

  /** The latch of that name (Redisson: RCountDownLatch). */
  getCountDownLatch(name: string): RCountDownLatch {
    return latchOf(this.#object(LATCH, name));
  }

  /** Runs `fn` under the lock of that name, unless another process runs it. @returns whether it ran, and its value */
  async runOnce<T>(
    name: string,
    fn: (hold: LockHold) => T | PromiseLike<T>,
    options?: RunOptions,
  ): Promise<TryResult<T>> {
    return this.getLock(name).tryWithLock(fn, options);
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

  /**
   * Takes up the hold that `detach()` made this ticket of.
   * @throws ConfigError if it is no ticket, or not for this database; LockLostError if it was used, or its lease is
   *   over
   */
  async attach(ticket: string, options?: AttachOptions): Promise<LockHold> {
    const leaseMs = readHoldLease(options);
    const parsed = parseTicket(ticket);
    const kind = ALL_KINDS.find(({ name, lockOf, move }) => name === parsed?.kind && lockOf && move);
    if (parsed === undefined || kind === undefined) {
      throw new ConfigError('attach() needs a ticket, unchanged, as detach() of this version of the package makes it');
    }
    const { database } = placeOf(this.#settings);
    if (parsed.database !== database) {
      const text = `The ticket for lock '${parsed.name}' is of database ${parsed.database}, and this client uses ${database}`;
      throw new ConfigError(text);
    }
    return attach(kind.lockOf!(this, parsed.name) as Lock, parsed, leaseMs);
  }

  /**
   * The innermost hold of the sections around the call. @param name - only of that lock @throws ConfigError for a bad
   * name
   */
  currentHold(name?: string): LockHold | undefined {
    if (name !== undefined) validateName(name, 'lock');
    return this.#closing.holdAround((hold) => name === undefined || (hold as MemberHold).isOf(name));
  }

  /**
   * Sends a PING to Redis.
   * @param options - `timeout`: how long it may take, in ms, by default the setting `timeout`; `signal`
   * @returns how long the reply took, in ms
   * @throws errors of the connection, or the reason of the signal; RangeError, ConfigError for a bad option
   */
  async ping(options: PingOptions = {}): Promise<number> {
    checkOptionNames(options, PING_OPTIONS);
    const { timeout = this.#settings.timeout, signal } = options;
    checkSignal(signal);
    const limitMs = atLeastMillis(timeout, 'timeout', 1);
    if (signal?.aborted === true) throw signal.reason;
    const limit = waitLimit(Infinity, signal);
    const sendRecord = newSendRecord();
    const sentAt = performance.now();
    const sent = { what: 'ping', routeBy: '', timeout: limitMs, sendRecord };
    try {
      const answer = this.#connections.executor.call('ping', [], sent);
      if (limit === undefined) await answer;
      else if ((await limit.orInterrupted(answer)) === INTERRUPTED) throw limit.reason;
    } finally {
      sendRecord.cancelled = true;
      limit?.end();
    }
    return performance.now() - sentAt;
  }

  /** The state of the command connection. */
  get state(): ConnectionState {
    return this.#connections.monitor.state;
  }

  /** Calls the listener at each change of {@link state}. @returns a function that removes the listener */
  onConnectionChange(listener: ConnectionListener): () => void {
    if (typeof listener !== 'function')
      throw new TypeError(`onConnectionChange needs a function, got ${describe(listener)}`);
    return this.#connections.monitor.onChange(listener);
  }

  /**
   * Calls the listener for every hold of this client that turns out to be lost.
   * @returns a function that removes the listener
   */
  onLockLost(listener: LockLostListener): () => void {
    if (typeof listener !== 'function') throw new TypeError(`onLockLost needs a function, got ${describe(listener)}`);
    return this.#context.ownerships.onLost(listener);
  }

  /**
   * Rejects every waiter with ShutdownError, refuses new acquisitions, stops the watchdog, closes the connections.
   * Idempotent. Locks still held are left to expire, as Redisson does, and their signals abort.
   *
   * @param options - `drain`: before that, holders get so many ms to release their locks, and work inside a section
   *   that runs may acquire and wait. Of several calls, the limit that ends first counts; a call without `drain` ends
   *   that time at once
   * @throws RangeError for a `drain` that is not a valid time; ConfigError for an unknown option
   */
  async shutdown(options?: ShutdownOptions): Promise<void> {
    // What has no options, such as the time itself, is refused: without a drain the work under locks would lose them.
    if (options !== undefined) checkOptionNames(options, SHUTDOWN_OPTIONS);
    const drainMs = atLeastMillis(options?.drain ?? 0, 'drain');
    if (this.#shutdown === undefined) this.#shutdown = this.#close(drainMs);
    else void this.#drain?.within(drainMs);
    return this.#shutdown;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  async #close(drainMs: number): Promise<void> {
    const { subscriptions, ownerships, watchdog } = this.#context;
    if (drainMs > 0) {
      this.#closing.begin('draining');
      this.#connections.executor.drain?.();
      subscriptions.wakeEach();
      this.#wakeOthers();
      this.#drain = new Drain(ownerships, this.#connections.executor);
      await this.#drain.within(drainMs);
      this.#warnOfHeld();
    }
    this.#closing.begin('closed');
    this.#introspection?.close();
    subscriptions.close(this.#closing.error);
    this.#wakeOthers();
    this.#fairQueues.close();
    ownerships.close();
    this.#context.objectListeners.close();
    const closed = [this.#connections.executor.close(), watchdog.thread?.close() ?? Promise.resolve()];
    this.#connections.monitor.close();
    await Promise.all(closed);
    this.#context.rollback.close();
  }

  /** Says what the drain has not seen given back. */
  #warnOfHeld(): void {
    const held = [...this.#context.ownerships.all()].filter(({ holds }) => holds.some(({ expires }) => !expires));
    if (held.length === 0) return;
    const locks = [...new Set(held.map(({ name }) => name))];
    const more = locks.length > MAX_NAMED ? ` and ${locks.length - MAX_NAMED} more` : '';
    const text =
      `The drain of shutdown() is over, and these are still held: '${locks.slice(0, MAX_NAMED).join("', '")}'${more}. They ` +
      'are no longer renewed, and their signals have aborted. Give the work more time (drain), or make it stop when its ' +
      'signal aborts.';
    warn(this.#settings.logger, 'IOREDISSON_DRAIN', { clientId: this.#id, locks }, text);
  }

  /** Those who wait without a subscription find out whether they may go on. */
  #wakeOthers(): void {
    this.#backOffWaits.wakeAll();
    this.#context.ownerships.sectionQueues.wakeAll();
  }

  #lock(name: string, kind: LockKind): Lock {
    return new Lock(this.#engine(name, kind), new HandleThread());
  }

  #engine(name: string, kind: LockKind): LockEngine {
    const engine = new LockEngine(this.#context, kind, validateName(name, 'lock'));
    checkSlots(kind.executor, name, kind.keysOf(engine.rawName));
    return engine;
  }

  #object<K extends ObjectKeys>(kind: SynchronizerKind<K>, name: string): RedisObject<K> {
    const object = new RedisObject(this.#context, kind, validateName(name, kind.noun));
    checkSlots(this.#context.executor, name, object.allKeys);
    return object;
  }
}
