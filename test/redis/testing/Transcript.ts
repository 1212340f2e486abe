import type { SinonFakeTimers } from 'sinon';
import { ConstantBackOff, type LockHold, type RedissonClient, type RFencedLock, type RLock } from '../../../lib';
import type { Step } from './programs';
import type { World } from './worlds';

/** A time in an outcome, in ms: compared with a tolerance. */
export interface Time {
  readonly ms: number;
}

/** What happened, in order. */
export interface Line {
  readonly text: string;
  /** When, and what times it tells. */
  readonly times: readonly number[];
}

/** Sections that wait to be told to end. */
interface Section {
  readonly end: () => void;
}

/** Runs the calls of a program in a world, and writes down what becomes of each. */
export class Transcript {
  readonly lines: Line[] = [];
  readonly #world: World;
  readonly #clock: SinonFakeTimers;
  readonly #prefix: string;
  readonly #startedAt: number;
  readonly #holds = new Map<string, LockHold[]>();
  readonly #sections = new Map<string, Section[]>();
  readonly #permits: string[] = [];
  readonly #abort = new Map<number, AbortController>();
  readonly #pending = new Set<number>();
  #count = 0;

  constructor(world: World, clock: SinonFakeTimers, prefix: string) {
    this.#world = world;
    this.#clock = clock;
    this.#prefix = prefix;
    this.#startedAt = clock.now;
    world.clients.forEach((client, i) =>
      client.onLockLost(({ name, threadId }) => this.#write(`client ${i} lost ${name} of ${threadOf(threadId)}`)),
    );
  }

  /** Begins a call. Its outcome is written down when it comes. */
  begin(step: Step): void {
    const number = this.#count++;
    const { kind, what, client, threadId, lease } = step;
    const title = `#${number} ${kind}.${what} by ${client}:${threadId}${lease === -1 ? '' : ` for ${lease}`}`;
    const controller = new AbortController();
    this.#abort.set(number, controller);
    this.#pending.add(number);
    const outcome = this.#call(step, controller.signal);
    outcome.then(
      (value) => this.#end(number, `${title} -> ${this.#shown(value)}`, value),
      (error: unknown) => this.#end(number, `${title} -> ${this.#failure(error)}`, undefined),
    );
  }

  /** Aborts what waits. */
  abortAll(): void {
    for (const number of this.#pending) this.#abort.get(number)!.abort(new Error('aborted'));
  }

  /** What is held, and what waits. */
  look(): void {
    this.#write(`waiting: ${[...this.#pending].join(' ')}`);
    for (const [key, holds] of [...this.#holds].sort(([a], [b]) => (a < b ? -1 : 1))) {
      this.#write(`${key}: ${holds.map(({ isHeld, signal }) => `${isHeld}/${signal.aborted}`).join(' ')}`);
    }
  }

  /** Ends every section. */
  finishAll(): void {
    for (const sections of this.#sections.values()) for (const { end } of sections.splice(0)) end();
  }

  /** Writes down every key. */
  async keys(): Promise<void> {
    const { redis } = this.#world;
    for (const key of await redis.keys(`*${this.#prefix}*`)) {
      const ttl = await redis.pttl(key);
      const type = (await redis.call('type', key)) as string;
      const content = type === 'hash' ? await redis.hgetall(key) : { type };
      const fields = Object.entries(content).map(([field, value]) => this.#plain(`${field}=${value}`));
      this.#write(`${key} ${fields.sort().join(' ')}`, ttl);
    }
  }

  #end(number: number, text: string, value: unknown): void {
    this.#pending.delete(number);
    this.#write(text, ...(isTime(value) ? [value.ms] : []));
  }

  #write(text: string, ...times: number[]): void {
    this.lines.push({ text: this.#plain(text), times: [this.#clock.now - this.#startedAt, ...times] });
  }

  /** Without what differs from client to client. */
  #plain(text: string): string {
    const [one, other] = this.#world.clients;
    return text
      .replaceAll(one.getId(), 'client0')
      .replaceAll(other.getId(), 'client1')
      .replaceAll(this.#prefix, '')
      .replace(/\b\d{10,}\b/g, 'auto');
  }

  #shown(value: unknown): string {
    if (isTime(value)) return 'a time';
    if (typeof value === 'bigint') return `${value}n`;
    if (typeof value === 'string') return /^[\da-f]{32}$/.test(value) ? 'an id' : value;
    return JSON.stringify(value) ?? 'undefined';
  }

  #failure(error: unknown): string {
    const { code, name, message } = error as { code?: string; name: string; message: string };
    return `${code ?? name}: ${message}`;
  }

  async #call(step: Step, signal: AbortSignal): Promise<unknown> {
    const client = this.#world.clients[step.client];
    const name = `${step.kind}:${this.#prefix}`;
    const { kind } = step;
    if (kind === 'semaphore') return this.#onSemaphore(client, name, step, signal);
    if (kind === 'permits') return this.#onPermits(client, name, step, signal);
    if (kind === 'latch') return this.#onLatch(client, name, step, signal);
    if (kind === 'abort') return this.abortAll();
    return kind === 'time' ? undefined : this.#onLock(client, lockOf(client, kind, this.#prefix), step, signal);
  }

  async #onLock(client: RedissonClient, lock: RLock, step: Step, signal: AbortSignal): Promise<unknown> {
    const { threadId, lease, wait } = step;
    const options = { threadId, signal };
    const key = `${step.kind} ${step.client}:${threadId}`;
    switch (step.what) {
      case 'lock':
        return lock.lock(lease, undefined, options);
      case 'tryLock':
        return lock.tryLock({ threadId });
      case 'waitLock':
        return lock.tryLock(wait, lease, undefined, options);
      case 'acquire':
        return this.#keep(key, await lock.acquire({ ...options, leaseTime: lease }));
      case 'waitHold': {
        const hold = await lock.tryAcquireHold({ ...options, leaseTime: lease, waitTime: wait });
        return hold === null ? null : this.#keep(key, hold);
      }
      case 'withLock':
        return lock.withLock(
          (hold) => {
            hold.signal.addEventListener('abort', () => this.#write(`${key}: the section is told of its loss`));
            return new Promise<string>((resolve) => {
              const sections = this.#sections.get(key) ?? [];
              this.#sections.set(key, sections);
              sections.push({ end: () => resolve('done') });
              this.#write(`${key}: a section begins`);
            });
          },
          { ...options, leaseTime: lease },
        );
      case 'finish':
        return this.#sections.get(key)?.shift()?.end() ?? 'none';
      case 'release':
        return (await this.#holds.get(key)?.pop()?.unlock()) ?? 'done';
      case 'tryAcquire': {
        const ttl = await lock.tryAcquire(lease, undefined, options);
        return ttl === null ? null : time(ttl);
      }
      case 'unlock':
        return lock.unlock({ threadId });
      case 'force':
        return lock.forceUnlock();
      case 'isLocked':
        return lock.isLocked();
      case 'isHeld':
        return lock.isHeldByThread(threadId);
      case 'holdCount':
        return client.runInThread(() => lock.getHoldCount());
      case 'ttl':
        return time(await lock.remainTimeToLive());
      case 'token':
        return step.kind === 'fenced' ? (lock as RFencedLock).getToken() : 'none';
      default:
        return this.#scope(client, lock, signal);
    }
  }

  /** Re-entry of a thread scope, by every door. */
  #scope(client: RedissonClient, lock: RLock, signal: AbortSignal): Promise<unknown> {
    return client.runInThread(async () => {
      const seen: unknown[] = [];
      const held = await lock.tryLock(1_000, -1, undefined, { signal });
      if (!held) return 'busy';
      const inner = await lock.tryLock();
      seen.push(inner, await lock.isHeldByCurrentThread());
      await lock
        .withLock(async () => seen.push(await lock.tryLock(), await lock.unlock()), { waitTime: 0 })
        .catch((error: unknown) => seen.push(this.#failure(error)));
      if (inner) await lock.unlock();
      await lock.unlock();
      return seen;
    });
  }

  #keep(key: string, hold: LockHold): unknown {
    const holds = this.#holds.get(key) ?? [];
    this.#holds.set(key, holds);
    holds.push(hold);
    return hold.token ?? 'held';
  }

  async #onSemaphore(client: RedissonClient, name: string, step: Step, signal: AbortSignal): Promise<unknown> {
    const semaphore = client.getSemaphore(name);
    const { count, wait } = step;
    switch (step.what) {
      case 'set':
        return semaphore.trySetPermits(count + 1);
      case 'add':
        return semaphore.addPermits(1);
      case 'acquire':
        return semaphore.acquire(count, { signal });
      case 'try':
        return semaphore.tryAcquire(count);
      case 'wait':
        return semaphore.tryAcquire(count, wait, undefined, { signal });
      case 'release':
        return semaphore.release(count);
      case 'releaseIfExists':
        return semaphore.releaseIfExists(count);
      case 'available':
        return semaphore.availablePermits();
      case 'drain':
        return semaphore.drainPermits();
      default:
        return semaphore.delete();
    }
  }

  async #onPermits(client: RedissonClient, name: string, step: Step, signal: AbortSignal): Promise<unknown> {
    const semaphore = client.getPermitExpirableSemaphore(name);
    const { count, wait, lease } = step;
    const id = this.#permits.at(-1) ?? 'f'.repeat(32);
    const kept = <T extends string | null>(permit: T): T => {
      if (permit !== null) this.#permits.push(permit);
      return permit;
    };
    switch (step.what) {
      case 'set':
        return semaphore.trySetPermits(count + 1);
      case 'setAll':
        return semaphore.setPermits(count + 1);
      case 'add':
        return semaphore.addPermits(1);
      case 'acquire':
        return kept(await semaphore.acquire(lease, undefined, { signal }));
      case 'try':
        return kept(await semaphore.tryAcquire(0, lease));
      case 'wait':
        return kept(await semaphore.tryAcquire(wait, lease, undefined, { signal }));
      case 'many':
        return (await semaphore.tryAcquireMany(count, wait, lease, undefined, { signal })).map(kept).length;
      case 'release':
        return semaphore.tryRelease(this.#permits.pop() ?? id);
      case 'releaseWrong':
        return semaphore.release('0'.repeat(32)).catch(() => 'refused');
      case 'available':
        return semaphore.availablePermits();
      case 'acquired':
        return semaphore.acquiredPermits();
      case 'permits':
        return semaphore.getPermits();
      case 'update':
        return semaphore.updateLeaseTime(id, lease);
      case 'leaseOf':
        return time(await semaphore.getLeaseTime(id).catch(() => -3));
      default:
        return semaphore.delete();
    }
  }

  async #onLatch(client: RedissonClient, name: string, step: Step, signal: AbortSignal): Promise<unknown> {
    const latch = client.getCountDownLatch(name);
    switch (step.what) {
      case 'set':
        return latch.trySetCount(step.count);
      case 'count':
        return latch.countDown();
      case 'await':
        return latch.await(undefined, undefined, { signal });
      case 'awaitFor':
        return latch.await(step.wait, undefined, { signal });
      case 'get':
        return latch.getCount();
      default:
        return latch.delete();
    }
  }
}

function lockOf(client: RedissonClient, kind: string, prefix: string): RLock {
  const name = `${kind}:${prefix}`;
  const members = (): RLock[] => [1, 2, 3].map((i) => client.getLock(`${name}:${i}`));
  switch (kind) {
    case 'fair':
      return client.getFairLock(name);
    case 'fenced':
      return client.getFencedLock(name);
    case 'spin':
      return client.getSpinLock(name, new ConstantBackOff().delay(4_000));
    case 'nonReentrant':
      return client.getNonReentrantLock(name);
    case 'nonReentrantFair':
      return client.getNonReentrantFairLock(name);
    case 'read':
      return client.getReadWriteLock(`both:${prefix}`).readLock();
    case 'write':
      return client.getReadWriteLock(`both:${prefix}`).writeLock();
    case 'multi':
      return client.getMultiLock(...members());
    case 'red':
      return client.getRedLock(...members());
    case 'group':
      return client.getMultiLock(name, ['1', '2']);
    default:
      return client.getLock(name);
  }
}

function time(ms: number): Time {
  return { ms };
}

function isTime(value: unknown): value is Time {
  return typeof value === 'object' && value !== null && 'ms' in value;
}

/** A thread that the test named, or one of those that a client makes. */
function threadOf(threadId: number): string {
  return threadId < 2 ** 32 ? String(threadId) : 'auto';
}
