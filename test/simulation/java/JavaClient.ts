import { randomUUID } from 'node:crypto';
import { RedisError, type Reply } from '../../../lib/testing/store/replies';
import type { SimSocket } from '../net/SimSocket';
import { JavaConnection, JavaTimeoutError } from './JavaConnection';
import { JAVA_SCRIPTS, type JavaScriptName } from './javaScripts';
import { type JavaEntry, type JavaSleep, JavaSubscriptions } from './JavaSubscriptions';
import { JavaWatchdog } from './JavaWatchdog';
import { type JavaHolder, SentCommands } from './SentCommands';

/** Settings of a Java client: the defaults of Redisson, unless the world differs. */
export interface JavaSettings {
  readonly lockWatchdogTimeout: number;
  readonly fairLockWaitTimeout: number;
}

const CONNECTIONS = 2;
const RETRY_ATTEMPTS = 4;
const RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 2_000;
const SUBSCRIPTION_MS = 7_500;
/** (timeout + retryDelay) x retryAttempts: somewhat between 16 000 and 20 000. */
const LATCH_MS = '18000';
const PUBLISH = 'PUBLISH';
/** What keys with the scores of a fair queue begin with. */
export const TIMES = 'redisson_lock_timeout';

/** Kinds of locks of a Java client, by what they store. */
export type JavaKind = 'plain' | 'fair' | 'read' | 'write';

/** `unlock()` of somebody who does not hold it. */
export class JavaMonitorStateError extends Error {
  override readonly name = 'JavaMonitorStateError';
}

/** One thread of a Java client and one lock: the state that Java keeps for both. */
export interface JavaHold extends JavaHolder {
  /** When it was asked for, in ms of the world. */
  readonly since: number;
  count: number;
  /** Until when the server has confirmed it, in ms of the world. */
  until: number;
}

/** A Redisson of Java, as far as its locks go: the blocking forms. */
export class JavaClient {
  readonly id = randomUUID();
  readonly #commands: JavaConnection[];
  readonly #subscriber: JavaConnection;
  readonly #subscriptions: JavaSubscriptions;
  readonly #plainWatchdog: JavaWatchdog;
  readonly #readWatchdog: JavaWatchdog;
  readonly #holds = new Map<string, JavaHold>();
  /** What the model knows of the client, and its threads do not. */
  readonly commands: SentCommands;
  /** By owner. */
  readonly #sleeps = new Map<string, JavaSleep>();
  readonly #settings: JavaSettings;
  readonly #worldNow: () => number;

  /** @param worldNow - the time of the world, in ms: for what the model knows of itself, and Java does not */
  constructor(connect: () => SimSocket, settings: JavaSettings, worldNow: () => number) {
    this.#settings = settings;
    this.#worldNow = worldNow;
    this.commands = new SentCommands(worldNow);
    this.#commands = Array.from({ length: CONNECTIONS }, () => new JavaConnection(connect));
    this.#subscriber = new JavaConnection(
      connect,
      () => this.#subscriptions.resubscribe(),
      (channel, message) => this.#subscriptions.message(channel, message),
    );
    this.#subscriptions = new JavaSubscriptions((...words) => this.#subscriber.send(...words), worldNow);
    const { lockWatchdogTimeout: leaseMs } = settings;
    this.#plainWatchdog = new JavaWatchdog(leaseMs, async (name, owners) => {
      // Of several threads of one name only the first: they exclude each other.
      const [owner = ''] = owners;
      const sentAt = worldNow();
      const [found] = (await this.#runAgain('renew', [name], [String(leaseMs), owner])) as number[];
      if (found === 1) this.#confirm(name, owner, sentAt + leaseMs);
      return found === 1;
    });
    this.#readWatchdog = new JavaWatchdog(leaseMs, async (name, owners) => {
      const sentAt = worldNow();
      const found = await this.#runAgain('readRenew', [name, braced(name)], [String(leaseMs), ...owners]);
      if (found === 1) for (const owner of owners) this.#confirm(name, owner, sentAt + leaseMs);
      return found === 1;
    });
  }

  /** `lock()`, or `lock(lease)`. @param leaseMs - `-1`: renewed */
  async lock(kind: JavaKind, name: string, thread: number, leaseMs: number): Promise<JavaHold> {
    const first = await this.#attempt(kind, name, thread, leaseMs, this.#settings.fairLockWaitTimeout);
    if (typeof first !== 'number') return first;
    const channel = this.#channel(kind, name, thread);
    const entry = await this.#subscriptions.subscribe(channel, name, SUBSCRIPTION_MS);
    try {
      for (;;) {
        const askedAt = this.#worldNow();
        const got = await this.#attempt(kind, name, thread, leaseMs, this.#settings.fairLockWaitTimeout);
        if (typeof got !== 'number') return got;
        await this.#sleep(entry, this.#owner(kind, thread), got >= 0 ? got : Infinity, askedAt);
      }
    } finally {
      this.#subscriptions.unsubscribe(channel, name);
    }
  }

  /** `tryLock()`. @returns `undefined`: somebody else holds it */
  async tryLock(kind: JavaKind, name: string, thread: number): Promise<JavaHold | undefined> {
    const wait = String(this.#settings.fairLockWaitTimeout);
    if (kind !== 'fair') return notTtl(await this.#attempt(kind, name, thread, -1, 0));
    const leaseMs = this.#settings.lockWatchdogTimeout;
    const owner = this.#owner(kind, thread);
    const args = [String(leaseMs), owner, String(Date.now()), wait];
    return notTtl(await this.#take(kind, name, owner, -1, 'fairTry', fairKeys(name), args));
  }

  /** `tryLock(wait, lease)`. @returns `undefined`: not in time */
  async tryLockFor(
    kind: JavaKind,
    name: string,
    thread: number,
    waitMs: number,
    leaseMs: number,
  ): Promise<JavaHold | undefined> {
    const deadline = performance.now() + waitMs;
    const left = (): number => deadline - performance.now();
    const wait = waitMs > 0 ? waitMs : this.#settings.fairLockWaitTimeout;
    const first = await this.#attempt(kind, name, thread, leaseMs, wait);
    if (typeof first !== 'number') return first;
    if (left() <= 0) return this.#failed(kind, name, thread, wait);
    const channel = this.#channel(kind, name, thread);
    let entry;
    try {
      entry = await this.#subscriptions.subscribe(channel, name, left());
    } catch {
      return this.#failed(kind, name, thread, wait);
    }
    try {
      while (left() > 0) {
        const askedAt = this.#worldNow();
        const got = await this.#attempt(kind, name, thread, leaseMs, wait);
        if (typeof got !== 'number') return got;
        if (left() <= 0) break;
        const ms = got >= 0 ? Math.min(got, left()) : left();
        const byMessage = await this.#sleep(entry, this.#owner(kind, thread), ms, askedAt);
        if (byMessage && left() <= 0) entry.wasted();
      }
    } catch (error) {
      if (!(error instanceof JavaTimeoutError)) throw error;
    } finally {
      this.#subscriptions.unsubscribe(channel, name);
    }
    return this.#failed(kind, name, thread, wait);
  }

  /** `unlock()`. @throws JavaMonitorStateError */
  async unlock(kind: JavaKind, name: string, thread: number, leaseMs: number): Promise<void> {
    const owner = this.#owner(kind, thread);
    const sentAt = this.#worldNow();
    const latch = `${prefixed('redisson_unlock_latch', name)}:${randomUUID().replaceAll('-', '')}`;
    const lease = String(leaseMs > 0 ? leaseMs : this.#settings.lockWatchdogTimeout);
    const [script, keys, args] = this.#unlocking(kind, name, owner, lease, latch);
    let reply: Reply;
    try {
      reply = await this.#runFor({ name, owner }, script, keys, args);
    } finally {
      // In every case, after errors too.
      (kind === 'read' ? this.#readWatchdog : this.#plainWatchdog).remove(name, owner);
      this.#forget(name, owner, kind === 'read' ? undefined : sentAt + Number(lease));
    }
    this.#any()
      .send('DEL', latch)
      .catch(() => undefined);
    if (reply === null) {
      throw new JavaMonitorStateError(`attempt to unlock lock, not locked by current thread by node id: ${this.id}`);
    }
  }

  /** Whether a hold is not what its thread believes: a command that the thread had given up has run since. */
  isDisturbed({ name, owner, since }: JavaHold): boolean {
    return this.commands.hasRunLate({ name, owner }, since);
  }

  /** What a thread does that waits for a lock. @returns `undefined`: it does not sleep */
  sleepOf(kind: JavaKind, thread: number): JavaSleep | undefined {
    const sleep = this.#sleeps.get(this.#owner(kind, thread));
    return sleep?.over === false ? sleep : undefined;
  }

  /** Closes the connections. */
  shutdown(): Promise<void> {
    this.#plainWatchdog.close();
    this.#readWatchdog.close();
    for (const connection of [...this.#commands, this.#subscriber]) connection.close();
    return Promise.resolve();
  }

  /** One attempt, which queues where the lock is fair. @returns a hold, or for how long somebody else has it */
  #attempt(kind: JavaKind, name: string, thread: number, leaseMs: number, waitMs: number): Promise<JavaHold | number> {
    const owner = this.#owner(kind, thread);
    const lease = String(leaseMs > 0 ? leaseMs : this.#settings.lockWatchdogTimeout);
    switch (kind) {
      case 'plain':
        return this.#take(kind, name, owner, leaseMs, 'acquire', [name], [lease, owner]);
      case 'fair': {
        const args = [lease, owner, String(Math.ceil(waitMs)), String(Date.now())];
        return this.#take(kind, name, owner, leaseMs, 'fairAcquire', fairKeys(name), args);
      }
      case 'read': {
        const keys = [name, holdPrefix(name, owner)];
        return this.#take(kind, name, owner, leaseMs, 'readAcquire', keys, [lease, owner, `${owner}:write`]);
      }
      case 'write':
        return this.#take(kind, name, owner, leaseMs, 'writeAcquire', [name], [lease, owner]);
    }
  }

  #unlocking(
    kind: JavaKind,
    name: string,
    owner: string,
    lease: string,
    latch: string,
  ): [script: JavaScriptName, keys: string[], args: string[]] {
    const channel = prefixed('redisson_rwlock', name);
    switch (kind) {
      case 'plain':
        return ['unlock', [name, lockChannel(name), latch], ['0', lease, owner, PUBLISH, LATCH_MS]];
      case 'fair': {
        const args = ['0', lease, owner, String(Date.now()), PUBLISH, LATCH_MS];
        return ['fairUnlock', [...fairKeys(name), lockChannel(name), latch], args];
      }
      case 'read': {
        const keys = [name, channel, holdPrefix(name, owner), braced(name), latch];
        return ['readUnlock', keys, ['0', owner, PUBLISH, LATCH_MS]];
      }
      case 'write':
        return ['writeUnlock', [name, channel, latch], ['1', lease, owner, PUBLISH, LATCH_MS]];
    }
  }

  #sleep(entry: JavaEntry, owner: string, ms: number, askedAt: number): Promise<boolean> {
    return entry.sleep(owner, ms, askedAt, (sleep) => this.#sleeps.set(owner, sleep));
  }

  async #take(
    kind: JavaKind,
    name: string,
    owner: string,
    leaseMs: number,
    script: JavaScriptName,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<JavaHold | number> {
    const sentAt = this.#worldNow();
    const reply = await this.#runFor({ name, owner }, script, keys, args);
    if (reply !== null) return reply as number;
    if (leaseMs <= 0) (kind === 'read' ? this.#readWatchdog : this.#plainWatchdog).add(name, owner);
    const id = `${name} ${owner}`;
    const hold = this.#holds.get(id) ?? { name, owner, since: sentAt, count: 0, until: 0 };
    hold.count++;
    this.#holds.set(id, hold);
    this.#confirm(name, owner, sentAt + (leaseMs > 0 ? leaseMs : this.#settings.lockWatchdogTimeout));
    return hold;
  }

  /** The wait of a timed form is over: it leaves the queue of a fair lock. */
  async #failed(kind: JavaKind, name: string, thread: number, waitMs: number): Promise<undefined> {
    if (kind !== 'fair') return;
    const args = [this.#owner(kind, thread), String(Math.ceil(waitMs))];
    await this.#runAgain('fairLeave', fairKeys(name).slice(1), args);
  }

  #confirm(name: string, owner: string, until: number): void {
    const hold = this.#holds.get(`${name} ${owner}`);
    // The server counts whole milliseconds.
    if (hold !== undefined) hold.until = until - 1;
  }

  /**
   * A hold is given back, or was to be. @param until - to when the server keeps those that are left; `undefined`: as
   * before
   */
  #forget(name: string, owner: string, until: number | undefined): void {
    const id = `${name} ${owner}`;
    const hold = this.#holds.get(id);
    if (hold === undefined) return;
    if (--hold.count === 0) this.#holds.delete(id);
    else if (until !== undefined) hold.until = until - 1;
  }

  #any(): JavaConnection {
    return this.#commands[Math.floor(Math.random() * CONNECTIONS)]!;
  }

  #run(name: JavaScriptName, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    return this.#any().send('EVAL', JAVA_SCRIPTS[name], String(keys.length), ...keys, ...args);
  }

  /** A script that a thread runs for a lock: what becomes of it is noted. */
  async #runFor(
    holder: JavaHolder,
    name: JavaScriptName,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<Reply> {
    const command = this.commands.begin(holder, name, keys, args);
    try {
      return await this.#run(name, keys, args);
    } catch (error) {
      command.failed(error);
      throw error;
    } finally {
      command.over();
    }
  }

  /** A script that is sent again when it has not been answered. */
  async #runAgain(name: JavaScriptName, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#run(name, keys, args);
      } catch (error) {
        if (error instanceof RedisError || attempt === RETRY_ATTEMPTS) throw error;
        const longest = Math.min(RETRY_MS * 2 ** attempt, LONGEST_RETRY_MS);
        await new Promise((resolve) => setTimeout(resolve, longest * (0.5 + Math.random() / 2)));
      }
    }
  }

  #owner(kind: JavaKind, thread: number): string {
    return `${this.id}:${thread}${kind === 'write' ? ':write' : ''}`;
  }

  #channel(kind: JavaKind, name: string, thread: number): string {
    if (kind === 'read' || kind === 'write') return prefixed('redisson_rwlock', name);
    return kind === 'fair' ? `${lockChannel(name)}:${this.#owner(kind, thread)}` : lockChannel(name);
  }
}

function notTtl(got: JavaHold | number): JavaHold | undefined {
  return typeof got === 'number' ? undefined : got;
}

function prefixed(prefix: string, name: string): string {
  return name.includes('{') ? `${prefix}:${name}` : `${prefix}:{${name}}`;
}

/** What begins the names of keys that belong to a lock. */
export function braced(name: string): string {
  return name.includes('{') ? name : `{${name}}`;
}

function lockChannel(name: string): string {
  return prefixed('redisson_lock__channel', name);
}

/** The key of the scores of a fair lock. */
export function timesOf(name: string): string {
  return prefixed(TIMES, name);
}

function fairKeys(name: string): readonly string[] {
  return [name, prefixed('redisson_lock_queue', name), timesOf(name)];
}

function holdPrefix(name: string, owner: string): string {
  return `${braced(name)}:${owner}:rwlock_timeout`;
}
