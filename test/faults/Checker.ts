import type { Redis } from 'ioredis';
import type { LockHold } from '../../lib';
import { monotonicNow, sleepUntil } from '../support';

/** Who is inside of what. */
interface Visitor {
  readonly hold: LockHold;
  readonly shared: boolean;
  readonly mark: string;
}

/** What a {@link Checker} found. */
export interface Findings {
  readonly violations: readonly string[];
  /** How often somebody was inside. */
  readonly visits: number;
  /** How many of those lost the lock while they were inside, and were told. */
  readonly losses: number;
}

/**
 * What every run with many clients feeds, and what says whether the promises held:
 *
 * 1. never two inside, unless the earlier one knew by then that it had lost the lock: as this process sees it, and as a
 *    key in Redis sees it that each visitor writes, waits, and reads again, on a connection of its own;
 * 2. tokens never go back;
 * 3. who is inside has a live signal and a deadline that has not passed, or has been told;
 * 4. in the end: no key, no channel, no warning, no unhandled rejection.
 */
export class Checker {
  readonly #direct: Redis;
  readonly #marks: Redis;
  readonly #visitors = new Map<string, Set<Visitor>>();
  /** Marks of those who were told that they had lost the lock: whoever finds one may overwrite it. */
  readonly #dead = new Set<string>();
  readonly #tokens = new Map<string, bigint>();
  readonly #violations: string[] = [];
  #visits = 0;
  #losses = 0;

  /**
   * @param direct - past every proxy
   * @param marks - where visitors leave their marks: another server, which no fault is for
   */
  constructor(direct: Redis, marks: Redis) {
    this.#direct = direct;
    this.#marks = marks;
    process.on('warning', this.#warned);
    process.on('unhandledRejection', this.#rejected);
  }

  get findings(): Findings {
    return { violations: this.#violations, visits: this.#visits, losses: this.#losses };
  }

  /** Notes something that must not be. */
  violation(what: string): void {
    this.#violations.push(what);
  }

  /**
   * Is inside of `name`, for as long as `stay` takes, and looks around.
   * @param shared - others that share may be inside as well
   */
  async visit(name: string, hold: LockHold, shared: boolean, stay: () => Promise<void>): Promise<void> {
    const visitor: Visitor = { hold, shared, mark: `${name}#${++this.#visits}` };
    // Held before anything is asked of the others: it is the newest, so they are those who must have been told.
    this.#enter(name, visitor);
    const key = `checker:${name}`;
    try {
      if (!shared) await this.#write(key, visitor);
      await stay();
      if (!shared) await this.#read(key, visitor);
    } finally {
      // In this order: time passes between the two.
      if (hold.remainingLeaseMs <= 0 && hold.isHeld) this.violation(`${visitor.mark}: held after its deadline`);
      const { aborted } = hold.signal;
      const held = hold.isHeld;
      if (aborted === held && (held || !hold.signal.aborted)) {
        this.violation(`${visitor.mark}: isHeld and its signal disagree`);
      }
      if (!hold.isHeld) this.#losses++;
      this.#leave(name, visitor);
      if (!shared) await this.#erase(key, visitor);
    }
  }

  /** How long somebody waited although it was its turn. */
  woken(what: string, waitedMs: number, boundMs: number): void {
    if (waitedMs > boundMs) this.violation(`${what} got in after ${Math.round(waitedMs)} ms, not within ${boundMs} ms`);
  }

  /**
   * Nobody is there any more: nothing may be left, once what is on its way has arrived. @param names - keys contain
   * them
   */
  async nothingLeft(names: readonly string[], boundMs: number, ignore: RegExp): Promise<void> {
    const startedAt = monotonicNow();
    try {
      const message = `nothing of ${names.join()}`;
      const none = async (): Promise<boolean> => (await this.#left(names, ignore)).length === 0;
      await sleepUntil(none, { timeout: boundMs, interval: 20, message });
    } catch {
      const waited = Math.round(monotonicNow() - startedAt);
      this.violation(`left behind after ${waited} ms: ${await this.shown(names, ignore)}`);
    }
  }

  /** What there is in Redis, in words. */
  async shown(names: readonly string[], ignore?: RegExp): Promise<string> {
    const left = await this.#left(names, ignore);
    return (await Promise.all(left.map((one) => this.#describe(one)))).join('; ');
  }

  /** Listens to the process no more. */
  close(): void {
    process.off('warning', this.#warned);
    process.off('unhandledRejection', this.#rejected);
  }

  #enter(name: string, visitor: Visitor): void {
    const visitors = this.#visitors.get(name) ?? new Set();
    this.#visitors.set(name, visitors);
    for (const other of visitors) {
      if (visitor.shared && other.shared) continue;
      // `isHeld` looks at the clock: a timer of the other one that is late after a stall of this process is no excuse.
      if (other.hold.isHeld && visitor.hold.isHeld) this.violation(`two inside: ${other.mark} and ${visitor.mark}`);
    }
    visitors.add(visitor);
    const { token } = visitor.hold;
    if (token === undefined) return;
    const last = this.#tokens.get(name) ?? -1n;
    if (token <= last) this.violation(`${visitor.mark}: token ${token} after ${last}`);
    else this.#tokens.set(name, token);
  }

  #leave(name: string, visitor: Visitor): void {
    this.#visitors.get(name)?.delete(visitor);
  }

  async #write(key: string, visitor: Visitor): Promise<void> {
    const found = await this.#marks.getset(key, visitor.mark);
    if (found !== null && !this.#dead.has(found) && visitor.hold.isHeld && this.#isAlive(found)) {
      this.violation(`${visitor.mark} found ${found} inside`);
    }
  }

  async #read(key: string, visitor: Visitor): Promise<void> {
    const found = await this.#marks.get(key);
    if (found !== visitor.mark && visitor.hold.isHeld) {
      this.violation(`${visitor.mark} was overwritten by ${String(found)}`);
    }
  }

  /** Only its own mark: who comes after one that lost the lock has overwritten it. */
  async #erase(key: string, visitor: Visitor): Promise<void> {
    this.#dead.add(visitor.mark);
    const script = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end";
    await this.#marks.eval(script, 1, key, visitor.mark);
  }

  #isAlive(mark: string): boolean {
    for (const visitors of this.#visitors.values()) {
      for (const visitor of visitors) if (visitor.mark === mark) return visitor.hold.isHeld;
    }
    return false;
  }

  async #left(names: readonly string[], ignore?: RegExp): Promise<string[]> {
    const found = [
      ...(await this.#direct.keys('*')),
      ...((await this.#direct.pubsub('CHANNELS', '*')) as string[]).map((channel) => `channel ${channel}`),
    ];
    return found.filter((one) => ignore?.test(one) !== true && names.some((name) => one.includes(name)));
  }

  async #describe(left: string): Promise<string> {
    const type = await this.#direct.type(left);
    if (type === 'list') return `${left} ${(await this.#direct.lrange(left, 0, -1)).join(', ')}`;
    if (type === 'zset') {
      const scores = await this.#direct.zrange(left, '0', '-1', 'WITHSCORES');
      return `${left} at ${Date.now()}: ${scores.join(', ')}`;
    }
    if (type !== 'hash') return left;
    return `${left} ${JSON.stringify(await this.#direct.hgetall(left))} pttl ${await this.#direct.pttl(left)}`;
  }

  readonly #warned = (warning: Error & { readonly code?: string }): void => {
    // A branch that waits for 5 s is told so; in an outage that is the truth.
    if (warning.code === 'IOREDISSON_SELF_WAIT') return;
    this.violation(`warning: ${warning.name} ${warning.message}`);
  };

  readonly #rejected = (reason: unknown): void => {
    this.violation(
      `unhandled rejection: ${reason instanceof Error ? (reason.stack ?? String(reason)) : String(reason)}`,
    );
  };
}
