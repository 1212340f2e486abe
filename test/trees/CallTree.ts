import { expect } from 'chai';
import pDefer from 'p-defer';
import { setTimeout as pause } from 'node:timers/promises';
import { IllegalMonitorStateError, type LockHold, LockTimeoutError, type Redisson, type RLock } from '../../lib';
import type { Random } from '../faults/Random';

/** A lock of the tree: a place in the order of taking, and whether several may have it. */
interface TreeLock {
  readonly rank: number;
  readonly key: string;
  readonly shared: boolean;
  readonly lock: RLock;
}

/** A scope as the contract has it. Passed on by hand: the oracle knows nothing of async contexts. */
interface Scope {
  readonly parent: Scope | undefined;
  /** Of a section. */
  readonly held: Held | undefined;
  /** What `lock()` took in it and nobody gave back: whoever waits for the section does. */
  readonly left: TreeLock[];
  over: boolean;
}

/** A hold, by what it was taken and where. */
interface Held {
  readonly of: TreeLock;
  readonly how: 'section' | 'plain' | 'acquire';
  /** The section itself, or the scope that the call was in. */
  scope: Scope | undefined;
  readonly hold: LockHold | undefined;
  readonly threadId: number | undefined;
  /** Whether the call named the thread. */
  readonly given: boolean;
  /** Whether it was around a call that began, which may outlive it. */
  readonly around?: boolean;
}

/** An `unlock()` under way. A hold is over before the call that gave it back resolves, so another one may see that. */
interface Unlock {
  readonly expected: readonly Held[];
  readonly byOthers: Held[];
}

/** Where a branch is: its scope, and the ranks that it, and whoever waits for it, may have. */
interface Place {
  readonly scope: Scope | undefined;
  readonly ranks: readonly number[];
  readonly depth: number;
  /** Whether the scope may end before the branch does. */
  readonly loose: boolean;
}

/**
 * A random tree of calls of one client, and a model of docs/threads.md that is told of each call and each answer. It
 * says who may be inside with whom, which single attempts must succeed, and what `unlock()` gives back.
 */
export class CallTree {
  /** What the tree did so far, for the message of a failure. */
  readonly log: string[] = [];
  /** How often what happened. */
  readonly counts: Record<string, number> = {};
  readonly #client: Redisson;
  readonly #locks: readonly TreeLock[];
  readonly #random: Random;
  readonly #held = new Set<Held>();
  /** Calls under way and holds not given back, by key. */
  readonly #inUse = new Map<string, number>();
  readonly #detached: Promise<void>[] = [];
  readonly #waiting = new Set<string>();
  /** Locks that a wait ended for while its attempt was on the wire: it may have them for a moment. */
  readonly #doubtful = new Set<string>();
  /** Every `unlock()` under way: what it may give back, and what others may that it overlaps with. */
  readonly #unlocks = new Set<Unlock>();
  /**
   * For each call under way that may re-enter: what could let it in meanwhile. The call is decided at a time of its
   * own.
   */
  readonly #entering = new Set<Held[]>();
  /**
   * Sections whose callback has just ended: their lock hears of that some microtasks later, and lets in until then
   * whoever calls in their scope.
   */
  readonly #ending = new Set<Held>();
  /** What `lock()` has, asks for, or is giving back: holds of one lock in one scope are alike, so they are counted. */
  readonly #plains = new Map<TreeLock, number>();
  /** Calls of `unlock()` under way that do not give back what a `lock()` before them took. */
  readonly #early = new Map<TreeLock, number>();
  /** How many calls began, by key. */
  readonly #begun = new Map<string, number>();
  #calls = 0;
  /** A branch that fails leaves what it holds, so that others may wait for ever. */
  readonly #failure = pDefer<never>();
  #budget = 60;

  constructor(client: Redisson, name: string, random: Random) {
    this.#client = client;
    this.#random = random;
    const rw = client.getReadWriteLock(`${name}:rw`);
    const plain = ['a', 'b', 'c'].map((key) => client.getLock(`${name}:${key}`));
    this.#locks = [
      { rank: 1, key: 'a', shared: false, lock: plain[0]! },
      { rank: 2, key: 'rw', shared: true, lock: rw.readLock() },
      { rank: 2, key: 'rw', shared: false, lock: rw.writeLock() },
      { rank: 3, key: 'b', shared: false, lock: plain[1]! },
      { rank: 4, key: 'c', shared: false, lock: plain[2]! },
    ];
  }

  /** Runs it to its end. Nothing must be left then. */
  async run(): Promise<void> {
    this.#failure.promise.catch(() => undefined);
    const roots = Array.from({ length: 3 }, () =>
      this.#sequence({ scope: undefined, ranks: [], depth: 0, loose: false }),
    );
    await Promise.race([settled(roots), this.#failure.promise]);
    while (this.#detached.length > 0) await Promise.race([settled(this.#detached.splice(0)), this.#failure.promise]);
    expect([...this.#held].map(({ of, how }) => `${how} ${of.key}`)).to.deep.equal([]);
    for (const { lock, key } of this.#locks) expect(await lock.isLocked(), `${key} is left`).to.equal(false);
  }

  /** Who holds what, and who waits. */
  get state(): string {
    const held = [...this.#held].map(({ of, how, threadId }) => `${how} ${of.key} by ${threadId}`);
    return `held: ${held.join(', ')}; waiting: ${[...this.#waiting].join(', ')}`;
  }

  async #sequence(place: Place): Promise<void> {
    try {
      for (let steps = this.#random.between(1, 3); steps > 0; steps--) await this.#step(place);
    } catch (error) {
      this.#failure.reject(error);
      throw error;
    }
  }

  async #step(place: Place): Promise<void> {
    if (this.#budget-- <= 0 || place.depth > 5) return tick(this.#random);
    const inScope = liveScope(place.scope) !== undefined;
    const dice = this.#random.below(100);
    const deeper = { ...place, depth: place.depth + 1 };
    if (dice < 45) return this.#section(deeper);
    if (dice < 57) {
      const branches = Array.from({ length: this.#random.between(2, 3) }, () => this.#sequence(deeper));
      return settled(branches);
    }
    if (dice < 67) return this.#thread(deeper);
    if (dice < 75) return this.#detach(deeper);
    if (dice < 82) return this.#acquire(deeper);
    if (dice < 94 && inScope && !place.loose) return this.#plain(deeper);
    if (inScope) return this.#unlockEarly(place);
    return tick(this.#random);
  }

  async #thread(place: Place): Promise<void> {
    const scope: Scope = { parent: undefined, held: undefined, left: [], over: false };
    await this.#client.runInThread(() => this.#sequence({ ...place, scope, loose: false }));
  }

  #detach(place: Place): void {
    // Nobody waits for it, so it has nothing that others could wait for in vain.
    const free = { ...place, ranks: [], loose: true };
    const go = this.#random.of([
      () => tick(this.#random),
      () => pause(this.#random.below(4)),
      () => new Promise<void>((resolve) => process.nextTick(resolve)),
    ]);
    this.#detached.push(go().then(() => this.#sequence(free)));
  }

  async #section(place: Place): Promise<void> {
    const of = this.#random.of(this.#locks);
    const parent = liveScope(place.scope);
    const threadId = this.#random.chance(6) ? this.#random.between(1, 2) : undefined;
    const once = this.#random.chance(30);
    const options: { threadId?: number; waitTime?: number } = { ...(threadId === undefined ? {} : { threadId }) };
    if (once) options.waitTime = 0;
    else if (threadId !== undefined || !this.#isSafe(of, place)) options.waitTime = this.#random.between(1, 15);
    const must = once && threadId === undefined && this.#mustSucceed(of, parent);
    // Whoever asks while it is free may be the first, whatever the order of the calls: an `unlock()` under way of the
    // same thread, though it has nothing to give back, comes before the attempt.
    const alone = (this.#inUse.get(of.key) ?? 0) === 0;
    const begun = this.#begin(of);
    const doubtful = (): boolean => this.#doubtful.has(of.key) || (alone && this.#begun.get(of.key) !== begun);
    const letsIn = this.#beginEntering(of, place);
    const left: TreeLock[] = [];
    let entered = false;
    const call = `${++this.#calls}: ${of.key}${of.shared ? ' (shared)' : ''} ${JSON.stringify(options)} in ${this.#client.currentThreadId()} after ${place.ranks.join()}`;
    this.#waiting.add(call);
    try {
      await of.lock.withLock(async (hold) => {
        entered = true;
        this.#waiting.delete(call);
        const scope: Scope = { parent, held: undefined, left, over: false };
        const given = threadId !== undefined;
        const held: Held = { of, how: 'section', scope, hold, threadId: hold.threadId, given };
        (scope as { held: Held }).held = held;
        this.#enter(held, parent, letsIn);
        expect(this.#client.currentThreadId()).to.equal(hold.threadId);
        try {
          await tick(this.#random);
          await this.#sequence({ ...place, scope, ranks: [...place.ranks, of.rank], loose: false });
          await tick(this.#random);
          if (!place.loose && this.#random.chance(15)) await this.#leaveBehind({ ...place, scope });
          if (this.#random.chance(5)) throw new Error('work');
        } finally {
          this.#end(held, scope);
        }
      }, options);
    } catch (error) {
      if (error instanceof LockTimeoutError && !entered) {
        this.#count('timeout');
        if (!once) this.#doubtful.add(of.key);
        expect(must, `a single attempt at ${of.key} must succeed`).to.equal(must && doubtful());
      } else if (error instanceof IllegalMonitorStateError && threadId !== undefined) {
        // Two branches named the same thread.
        this.#count('refused');
      } else if ((error as Error).message !== 'work') throw error;
    } finally {
      this.#waiting.delete(call);
      this.#entering.delete(letsIn);
      this.#use(of, -1);
    }
    // What was left behind belongs to the scope around, which gives it back.
    for (const one of left) await this.#giveBack(one, { ...place, scope: parent });
  }

  /** `lock()` and its like, with what runs under it. */
  async #plain(place: Place): Promise<void> {
    const of = this.#random.of(this.#locks);
    const held = await this.#take(of, place);
    if (held === undefined) return;
    await tick(this.#random);
    await this.#sequence({ ...place, ranks: [...place.ranks, of.rank] });
    await this.#giveBack(of, place);
  }

  async #leaveBehind(place: Place): Promise<void> {
    if (liveScope(place.scope?.parent) === undefined) return;
    const of = this.#random.of(this.#locks);
    if ((await this.#take(of, place)) === undefined) return;
    place.scope!.left.push(of);
    this.#count('left behind');
  }

  async #take(of: TreeLock, place: Place): Promise<Held | undefined> {
    if (counted(this.#early, of) > 0) return undefined;
    const scope = liveScope(place.scope)!;
    const busyBefore = this.#usedBesides(of, scope);
    this.#begin(of);
    add(this.#plains, of, 1);
    let held: Held | undefined;
    try {
      if (!(await of.lock.tryLock(this.#random.below(10)))) {
        this.#doubtful.add(of.key);
        return undefined;
      }
      held = { of, how: 'plain', scope, hold: undefined, threadId: undefined, given: false };
      this.#enter(held, scope);
      return held;
    } catch (error) {
      if (!(error instanceof IllegalMonitorStateError)) throw error;
      this.#count('refused');
      expect(busyBefore > 0, `lock() of ${of.key} is refused without a reason: ${error.message}`).to.equal(true);
      return undefined;
    } finally {
      if (held === undefined) {
        this.#use(of, -1);
        add(this.#plains, of, -1);
      }
    }
  }

  /** The `unlock()` of a `lock()`. */
  async #giveBack(of: TreeLock, place: Place): Promise<void> {
    await this.#unlock(of, place);
    add(this.#plains, of, -1);
  }

  async #acquire(place: Place): Promise<void> {
    const of = this.#random.of(this.#locks);
    const scope = liveScope(place.scope);
    this.#begin(of);
    const letsIn = this.#beginEntering(of, place);
    const hold = await of.lock.tryAcquireHold({ waitTime: this.#random.below(10) });
    this.#entering.delete(letsIn);
    if (hold === null) {
      this.#doubtful.add(of.key);
      return this.#use(of, -1);
    }
    const held: Held = { of, how: 'acquire', scope, hold, threadId: hold.threadId, given: false };
    this.#enter(held, scope, letsIn);
    await tick(this.#random);
    await this.#sequence({ ...place, ranks: [...place.ranks, of.rank] });
    const there = this.#held.delete(held);
    await hold.unlock();
    if (there) this.#use(of, -1);
  }

  async #unlockEarly(place: Place): Promise<void> {
    const of = this.#random.of(this.#locks);
    // Others own what they took by lock(): they would miss it. An `unlock()` may have to wait for an acquisition, and
    // decides what it gives back after that.
    if (counted(this.#plains, of) > 0) return;
    add(this.#early, of, 1);
    await this.#unlock(of, place);
    add(this.#early, of, -1);
  }

  /** `unlock()` gives back what the model says, or is refused where there is nothing. */
  async #unlock(of: TreeLock, place: Place): Promise<void> {
    const expected = this.#toGiveBack(of, liveScope(place.scope)!);
    const pending = this.#pending(of);
    const begun = this.#begun.get(of.key);
    const plain = expected[0]?.how === 'plain';
    if (plain) this.#held.delete(expected[0]!);
    const unlock: Unlock = { expected, byOthers: [] };
    for (const other of this.#unlocks) {
      other.byOthers.push(...expected);
      unlock.byOthers.push(...other.expected);
    }
    this.#unlocks.add(unlock);
    try {
      await of.lock.unlock();
    } catch (error) {
      if (!(error instanceof IllegalMonitorStateError)) throw error;
      if (pending > 0 && !plain) return;
      expect(
        expected.map(({ how }) => how),
        'unlock() was refused',
      ).to.deep.equal([]);
      return;
    } finally {
      this.#unlocks.delete(unlock);
    }
    if (plain) {
      this.#count('unlock');
      return this.#use(of, -1);
    }
    if (expected.length > 0) this.#count('early unlock');
    const gone = [...this.#held].filter((held) => held.of === of && held.hold?.isHeld === false);
    if (pending === 0 && this.#begun.get(of.key) === begun) {
      expect(expected, 'unlock() had something to give back').not.to.deep.equal([]);
      expect(
        gone.filter((held) => !expected.includes(held) && !unlock.byOthers.includes(held)),
        'unlock() gave back what is not ours',
      ).to.deep.equal([]);
    }
    for (const held of gone) {
      this.#held.delete(held);
      if (held.how === 'acquire') this.#use(of, -1);
    }
  }

  /** A hold was taken: is anybody inside who may not? */
  #enter(held: Held, around: Scope | undefined, letIns: readonly Held[] = []): void {
    const { of, how } = held;
    this.#log(
      `${how} ${of.key}${of.shared ? ' (shared)' : ''} by ${held.threadId}${held.given ? '!' : ''} in ${this.#client.currentThreadId()}`,
    );
    this.#count(how);
    const inside = [...this.#held].filter(({ of: other }) => other.key === of.key && !(other.shared && of.shared));
    const letIn = this.#letsIn(of, around);
    const scopes = new Set(scopesAround(around));
    // An `unlock()` under way waits for a re-entry of its thread, so what let that one in may be as good as gone.
    const wasLetIn = letIns.some((one) => one.of.key === of.key && (one.around || scopes.has(liveScope(one.scope)!)));
    const byGiven = this.#givenSectionThatLetsIn(of, around);
    for (const other of inside) {
      const named =
        (other.given || held.given) && (other.threadId === held.threadId || how === 'plain' || other.how === 'plain');
      if (named || other.hold?.isHeld === false) continue;
      // Callbacks that were given the same thread overlap: a call that such a callback lets in does not wait for what
      // runs in the other one (docs/threads.md).
      if (byGiven !== undefined && !scopesAround(other.scope).includes(byGiven)) continue;
      // What lock() took in a branch beside is the thread's, as in Java; Redis keeps other threads out.
      const allowed =
        other.how === 'section'
          ? letIn.includes(other)
          : letIn.length > 0 || wasLetIn || this.#sameThreadJava(held, other);
      expect(
        allowed,
        `${how} ${of.key} of ${held.threadId} in ${this.#client.currentThreadId()} overlaps ${other.how} of ${other.threadId}; ${this.state}`,
      ).to.equal(true);
      this.#count('nested');
    }
    this.#held.add(held);
    if (how === 'plain') for (const others of this.#entering) others.push(held);
  }

  /**
   * A call that may re-enter begins: it may still be let in by what an `unlock()` under way gives back, and by a
   * section around it that is just ending, or that ends while the call is under way (only branches that nobody waits
   * for outlive their section).
   */
  #beginEntering(of: TreeLock, place: Place): Held[] {
    const leaving = [...this.#unlocks].flatMap(({ expected }) => expected);
    const letsIn = [...this.#held, ...leaving, ...this.#ending]
      .filter((held) => held.how !== 'acquire' && held.of.key === of.key)
      .map((held) => ({ ...held, around: isWithin(place.scope, held.scope) }));
    this.#entering.add(letsIn);
    return letsIn;
  }

  /** The callback of a section has ended. */
  #end(held: Held, scope: Scope): void {
    scope.over = true;
    this.#held.delete(held);
    this.#ending.add(held);
    void microtasks(5).then(() => this.#ending.delete(held));
  }

  /** `lock()` may re-enter what `acquire()` took for its thread. */
  #sameThreadJava(held: Held, other: Held): boolean {
    return held.how === 'plain' && other.threadId === this.#client.currentThreadId();
  }

  /** What lets a call in: sections around it that have the lock, and what lock() took in a scope around it. */
  #letsIn(of: TreeLock, around: Scope | undefined): Held[] {
    const scopes = new Set(scopesAround(around));
    return [...this.#held].filter(
      ({ of: other, how, scope, hold }) =>
        other.key === of.key && how !== 'acquire' && hold?.isHeld !== false && scopes.has(liveScope(scope)!),
    );
  }

  /** The innermost section around a call that has the lock, where the thread of that section was given. */
  #givenSectionThatLetsIn(of: TreeLock, around: Scope | undefined): Scope | undefined {
    const innermost = scopesAround(around).find(({ held }) => held?.of.key === of.key && this.#held.has(held));
    return innermost?.held?.given === true ? innermost : undefined;
  }

  #toGiveBack(of: TreeLock, around: Scope): Held[] {
    const mine = [...this.#held].filter((held) => held.of === of && held.hold?.isHeld !== false).reverse();
    for (const wanted of [['plain'], ['section', 'acquire']]) {
      for (const scope of scopesAround(around)) {
        const here = mine.filter(({ how, scope: taken }) => wanted.includes(how) && liveScope(taken) === scope);
        if (here.length > 0) return here;
      }
    }
    return [];
  }

  /**
   * Whether a single attempt must succeed: nobody uses it, or only scopes around the call, of the same or a stronger
   * half.
   */
  #mustSucceed(of: TreeLock, around: Scope | undefined): boolean {
    const using = this.#inUse.get(of.key) ?? 0;
    if (using === 0) return true;
    const letIn = this.#letsIn(of, around);
    if (letIn.length !== using) return false;
    return of.shared || letIn.some(({ of: other }) => !other.shared);
  }

  /** Whether it may wait without limit: it keeps the order of the locks, or re-enters the last one of its order. */
  #isSafe(of: TreeLock, place: Place): boolean {
    const highest = Math.max(0, ...place.ranks);
    return of.rank > highest;
  }

  /** How many calls and holds of a lock there are that are not around the scope. */
  #usedBesides(of: TreeLock, around: Scope): number {
    return (this.#inUse.get(of.key) ?? 0) - this.#letsIn(of, around).length;
  }

  #pending(of: TreeLock): number {
    return (this.#inUse.get(of.key) ?? 0) - [...this.#held].filter(({ of: other }) => other.key === of.key).length;
  }

  /** A call begins. @returns the how manieth of its key it is */
  #begin(of: TreeLock): number {
    this.#use(of, 1);
    return add(this.#begun, of.key, 1);
  }

  #use({ key }: TreeLock, change: number): void {
    add(this.#inUse, key, change);
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  #log(line: string): void {
    this.log.push(line);
  }
}

function liveScope(scope: Scope | undefined): Scope | undefined {
  let live = scope;
  while (live?.over === true) live = live.parent;
  return live;
}

/** Whether a call was made in a scope, or in one inside it; also after its end. */
function isWithin(place: Scope | undefined, scope: Scope | undefined): boolean {
  for (let one = place; one !== undefined; one = one.parent) if (one === scope) return true;
  return false;
}

async function microtasks(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await Promise.resolve();
}

function scopesAround(scope: Scope | undefined): Scope[] {
  const scopes: Scope[] = [];
  for (let one = liveScope(scope); one !== undefined; one = liveScope(one.parent)) scopes.push(one);
  return scopes;
}

/** Waits for all, and then tells of the first error. */
async function settled(branches: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(branches)).find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** A pause that other branches use. */
async function tick(random: Random): Promise<void> {
  for (let turns = random.below(3); turns >= 0; turns--) await new Promise<void>((resolve) => setImmediate(resolve));
}

function counted<K>(counts: ReadonlyMap<K, number>, key: K): number {
  return counts.get(key) ?? 0;
}

function add<K>(counts: Map<K, number>, key: K, change: number): number {
  const count = counted(counts, key) + change;
  counts.set(key, count);
  return count;
}
