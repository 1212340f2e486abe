import { randomUUID } from 'node:crypto';
import type { LockLostListener, RLock } from './api';
import type { Config } from './config/Config';
import type { RedissonOptions } from './config/RedissonOptions';
import { resolveConfig } from './config/resolveConfig';
import type { Settings } from './config/Settings';
import { validateName } from './config/validateName';
import { connect, type Connections } from './connection/connect';
import { DistributedLock } from './locks/DistributedLock';
import type { LockDriver } from './locks/drivers/LockDriver';
import { reentrantDriver } from './locks/drivers/reentrant';
import { HandleThread } from './locks/HandleThread';
import type { LockContext } from './locks/LockContext';
import { LockEngine } from './locks/LockEngine';
import { ChannelHub } from './pubsub/ChannelHub';
import { hashRenewal } from './renewal/hashRenewal';
import { HoldTable } from './renewal/HoldTable';
import { RenewalScheduler } from './renewal/RenewalScheduler';
import { currentThreadId, newThreadId, runAsThread } from './thread/threadScope';

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
  readonly #drivers: { readonly lock: LockDriver };
  #reentryWarned = false;
  #shutdown: Promise<void> | undefined;

  private constructor(settings: Settings) {
    this.#settings = settings;
    this.#connections = connect(settings);
    const { executor, subscriber } = this.#connections;
    const holds = new HoldTable();
    const watchdog = new RenewalScheduler(holds, settings.lockWatchdogBatchSize);
    executor.onReply = () => watchdog.catchUp();
    this.#context = {
      clientId: this.#id,
      settings,
      holds,
      watchdog,
      hub: new ChannelHub(subscriber, settings),
      warnReentry: (name) => this.#warnReentry(name),
    };
    const renewal = hashRenewal(executor);
    this.#drivers = { lock: reentrantDriver(executor, this.#id, renewal) };
  }

  /**
   * Makes a client. It connects in the background; operations wait for the connection.
   *
   * @param config - nothing (`REDIS_URL`, else `redis://127.0.0.1:6379`), a URL, a `Config`, or an options object
   * @throws ConfigError for anything it does not understand, before anything is opened
   */
  static create(config?: string | Config | RedissonOptions): Redisson {
    return new Redisson(resolveConfig(config));
  }

  /** The re-entrant lock of that name (Redisson: RLock). @throws ConfigError unless the name is a non-empty string */
  getLock(name: string): RLock {
    return this.#lock(name, this.#drivers.lock);
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
  async runInThread<T>(fn: () => T | PromiseLike<T>): Promise<T> {
    return runAsThread(newThreadId(), fn);
  }

  /** The id of the running thread scope, or `undefined` outside one. */
  currentThreadId(): number | undefined {
    return currentThreadId();
  }

  /** Tells of every hold of this client that turns out to be lost. @returns what removes the listener */
  onLockLost(listener: LockLostListener): () => void {
    if (typeof listener !== 'function') throw new TypeError('onLockLost needs a function');
    return this.#context.holds.onLost(listener);
  }

  /**
   * Rejects every waiter with ShutdownError, stops the watchdog, closes the connections. Idempotent. Locks still held
   * are left to expire, as Redisson does.
   */
  shutdown(): Promise<void> {
    this.#shutdown ??= this.#close();
    return this.#shutdown;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown();
  }

  async #close(): Promise<void> {
    this.#context.hub.close();
    this.#context.holds.clear();
    await this.#connections.executor.close();
  }

  #lock(name: string, driver: LockDriver): DistributedLock {
    validateName(name, 'lock');
    return new DistributedLock(new LockEngine(this.#context, driver, name), new HandleThread());
  }

  #warnReentry(name: string): void {
    if (this.#reentryWarned) return;
    this.#reentryWarned = true;
    process.emitWarning(
      `Lock '${name}' was re-entered through a handle outside any thread scope. Two requests that share a handle look ` +
        'the same: use withLock(), runInThread() or a threadId. (strictThreads makes this an error.)',
      { code: 'IOREDISSON_HANDLE_REENTRY' },
    );
  }
}
