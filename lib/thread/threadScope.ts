import { AsyncLocalStorage } from 'node:async_hooks';
import { describe } from '../util/describe';

/** Automatic thread ids start here, above every id a caller may give (Redisson: the Java thread id). */
export const FIRST_AUTOMATIC_THREAD_ID = 2 ** 32;

/** A logical thread: what owns a lock in Redisson. */
export interface LogicalThread {
  readonly id: number;
  /**
   * The number of its sections that run or wait for their lock. A caller that is not inside all of them is beside one.
   */
  sections: number;
}

/**
 * The callback of `runInThread` (a thread) or of `withLock` (a section), with everything that it awaits and starts.
 *
 * A section is over when its callback ends. Work and holds that outlive it then belong to the scope around it; see
 * {@link liveScope}.
 */
export interface Scope {
  /** The thread that calls inside this scope belong to. */
  thread: LogicalThread;
  readonly isSection: boolean;
  /**
   * The scope around a section; may be over. A thread has none: it is outside every section, even if it was started in
   * one.
   */
  parent: Scope | undefined;
  /**
   * The scope in which a thread was started. It has no effect on re-entry; only the warning about a self-wait uses it.
   */
  startedIn: Scope | undefined;
  over: boolean;
  /** More threads that hold locks of this section: the thread is chosen for each member of a multi-lock separately. */
  others: Set<LogicalThread> | undefined;
  /**
   * The owners of holds that `lock()` and `acquire()` took in this scope, or in sections inside it that are over:
   * thread id -> number of holds. Holds that the scope of a thread took for that same thread have no entry.
   */
  taken: Map<number, Taker> | undefined;
}

interface Taker {
  readonly thread: LogicalThread;
  holds: number;
}

/** What all copies of the package in a process have in common. */
interface SharedThreads {
  readonly storage: AsyncLocalStorage<Scope | undefined>;
  /** The next automatic id. */
  nextId: number;
}

/**
 * One storage for all clients of the process: a logical thread is the same thread for every client, as in Java. Several
 * copies of this package, such as a bundled and an installed one, share it, too. The number in its key is the version
 * of {@link Scope}: it must change when the fields of a scope change.
 */
const shared = sharedThreads(Symbol.for('ioredisson:threads:1'));
const { storage } = shared;

function sharedThreads(key: symbol): SharedThreads {
  const global = globalThis as { [key: symbol]: SharedThreads | undefined };
  const existing = global[key];
  if (existing !== undefined) return existing;
  // The first id is never used, so that the smallest id that is too large for a caller is always refused.
  const value: SharedThreads = { storage: new AsyncLocalStorage(), nextId: FIRST_AUTOMATIC_THREAD_ID + 1 };
  Object.defineProperty(global, key, { value });
  return value;
}

/** A thread id that is new in this process. */
export function newThreadId(): number {
  return shared.nextId++;
}

/**
 * Checks a caller's thread id. It may be one that {@link newThreadId} has made: callers may pass on the `threadId` of a
 * hold.
 * @throws RangeError unless it is an integer from 0 to 2^32 - 1, or the id of a thread of this process
 */
export function checkThreadId(threadId: unknown): number {
  if (typeof threadId === 'number' && Number.isInteger(threadId) && threadId >= 0) {
    if (threadId < shared.nextId && threadId !== FIRST_AUTOMATIC_THREAD_ID) return threadId;
  }
  throw new RangeError(
    `threadId must be an integer from 0 to 2^32 - 1, or the id of a thread of this process, got ${describe(threadId)}`,
  );
}

/** A thread without sections. */
export function newThread(id = newThreadId()): LogicalThread {
  return { id, sections: 0 };
}

/** The scope in which the caller runs, or `undefined` outside scopes. Only facades read it, once per call. */
export function currentScope(): Scope | undefined {
  const scope = storage.getStore();
  return scope === undefined ? undefined : liveScope(scope);
}

/** The id of the running thread scope, or `undefined` outside one. */
export function currentThreadId(): number | undefined {
  return currentScope()?.thread.id;
}

/** The scope itself; if it is a section that is over, the nearest scope around it that is not. */
export function liveScope(scope: Scope | undefined): Scope | undefined {
  let live = scope;
  while (live?.isSection === true && live.over) live = live.parent;
  return live;
}

/** The scope around this one; `undefined` for a thread. */
export function scopeAround(scope: Scope): Scope | undefined {
  return scope.parent === undefined ? undefined : liveScope(scope.parent);
}

/** Whether `outer` is `scope` or a scope around it. */
export function isAround(outer: Scope, scope: Scope | undefined): boolean {
  for (let one = scope; one !== undefined; one = scopeAround(one)) if (one === outer) return true;
  return false;
}

/** The threads that may hold locks of a scope, its own thread first. */
export function threadsOf({ thread, others, taken }: Scope): readonly LogicalThread[] {
  if (others === undefined && taken === undefined) return [thread];
  const threads = new Set<LogicalThread>([thread, ...(others ?? [])]);
  for (const taker of taken?.values() ?? []) threads.add(taker.thread);
  return [...threads];
}

/** The thread with this id: the one of a scope around the caller, else a new one. */
export function threadOf(around: Scope | undefined, id: number): LogicalThread {
  for (let one = around; one !== undefined; one = scopeAround(one)) {
    const thread = one.thread.id === id ? one.thread : threadsOf(one).find((other) => other.id === id);
    if (thread !== undefined) return thread;
  }
  return newThread(id);
}

/**
 * `lock()` or `acquire()` took holds in the scope, for this thread. They belong to the scope while the scope runs, then
 * to the one around it.
 */
export function tookIn(scope: Scope | undefined, thread: LogicalThread, holds = 1): void {
  const live = liveScope(scope);
  if (live === undefined || (!live.isSection && live.thread.id === thread.id)) return;
  const taker = (live.taken ??= new Map<number, Taker>()).get(thread.id);
  if (taker === undefined) live.taken.set(thread.id, { thread, holds });
  else taker.holds += holds;
}

/** A hold that {@link tookIn} counted was released or lost. */
export function gaveBack(scope: Scope, threadId: number): void {
  const taken = liveScope(scope)?.taken;
  const taker = taken?.get(threadId);
  if (taker !== undefined && --taker.holds === 0) taken!.delete(threadId);
}

/** Whether the thread of a scope is in a section that is not around it. */
export function isBesideSection(scope: Scope): boolean {
  const { thread } = scope;
  if (thread.sections === 0) return false;
  let around = 0;
  for (let one: Scope | undefined = scope; one !== undefined; one = scopeAround(one)) {
    if (one.isSection && one.thread === thread) around++;
  }
  return around < thread.sections;
}

/**
 * Every scope around a call, including the scopes in which its threads were started. Scopes that are over are left out.
 */
export function* enclosingScopes(scope: Scope | undefined): Generator<Scope> {
  for (let one = scope; one !== undefined; one = one.isSection ? scopeAround(one) : running(one.startedIn)) yield one;
}

function newScope(thread: LogicalThread, isSection: boolean, parent?: Scope, startedIn?: Scope): Scope {
  return { thread, isSection, parent, startedIn, over: false, others: undefined, taken: undefined };
}

/** Moves the section to another thread: it acquires its lock on that thread. */
export function moveSection(section: Scope, thread: LogicalThread): void {
  section.thread.sections--;
  thread.sections++;
  section.thread = thread;
}

/** Runs the callback of a section. */
export function runInSection<T>(section: Scope, fn: () => T | PromiseLike<T>): Promise<T> {
  return storage.run(section, started, fn);
}

/**
 * Starts a lazy thenable (such as a database query) inside the scope: it begins its work only when `then` is called.
 */
function started<T>(fn: () => T | PromiseLike<T>): Promise<T> {
  return Promise.resolve(fn());
}

/** Call when the callback of a section has ended, or when the section did not get its lock. */
export function endSection(section: Scope): void {
  if (section.over) return;
  section.over = true;
  section.thread.sections--;
  // Work that outlives the section may run for long; it must not keep a whole chain of nested sections in memory.
  section.parent = liveScope(section.parent);
  const { parent, taken } = section;
  section.taken = undefined;
  for (const { thread, holds } of taken?.values() ?? []) tookIn(parent, thread, holds);
}

/** Runs `fn` as a new logical thread; the scope follows `await`, timers and callbacks started in it. */
export async function runAsNewThread<T>(fn: () => T | PromiseLike<T>): Promise<T> {
  const scope = newScope(newThread(), false, undefined, running(storage.getStore()));
  try {
    return await storage.run(scope, started, fn);
  } finally {
    scope.over = true;
    scope.startedIn = running(scope.startedIn);
  }
}

/** The nearest scope whose callback has not ended. */
function running(scope: Scope | undefined): Scope | undefined {
  let one = scope;
  while (one?.over === true) one = one.isSection ? one.parent : one.startedIn;
  return one;
}

/**
 * How a hold was acquired: by `lock` or a similar call, by `acquire`, or by `withLock`. It decides who may re-enter,
 * and which hold `unlock` releases.
 */
export type Origin = 'plain' | 'acquire' | 'section';

/** The thread of one call. The facade determines it once and passes it down, also to the members of a multi-lock. */
export interface CallingThread {
  readonly origin: Origin;
  /** Whether the caller named the thread. Then no other rule applies. */
  readonly given: boolean;
  /** The scope around the call. */
  readonly around: Scope | undefined;
  /** The thread of the call, unless a hold of the lock decides otherwise (`chooseThread`). */
  readonly thread: LogicalThread;
  /** The section that it begins (`withLock` only). */
  readonly section: Scope | undefined;
  /** Whether {@link thread} is the handle's, because no other rule applied. */
  readonly viaHandle: boolean;
  /** A new thread for this call alone, made if it needs one. */
  spare: LogicalThread | undefined;
  /** For a multi-lock: monotonic time at which it began to wait for its members, one after the other. */
  since: number | undefined;
}

/**
 * The logical thread of a handle, and the rule for the thread of a `lock()` or `unlock()`: the given one, else that of
 * the scope of the call, else the handle's. The two halves of a read/write lock share one {@link HandleThread}.
 */
export class HandleThread implements LogicalThread {
  readonly id = newThreadId();
  sections = 0;
  /** Outside scopes all its calls are the same. */
  readonly #call = calling('plain', false, undefined, this, undefined, true);

  /** The thread of a call that names `given`. */
  of(given: number | undefined): CallingThread {
    const around = currentScope();
    if (given !== undefined) return calling('plain', true, around, threadOf(around, given));
    if (around !== undefined) return calling('plain', false, around, around.thread);
    return this.#call;
  }
}

/**
 * The thread of an `acquire` or a `withLock`: the given one; else the scope's, unless that thread is in a section
 * beside the call; else a new one.
 * @param beginsSection - `withLock`: `endSection` must follow
 */
export function threadForHold(given: number | undefined, beginsSection: boolean): CallingThread {
  const around = currentScope();
  const thread =
    given !== undefined
      ? threadOf(around, given)
      : around === undefined || isBesideSection(around)
        ? newThread()
        : around.thread;
  if (beginsSection) thread.sections++;
  const section = beginsSection ? newScope(thread, true, around) : undefined;
  return calling(section === undefined ? 'acquire' : 'section', given !== undefined, around, thread, section);
}

function calling(
  origin: Origin,
  given: boolean,
  around: Scope | undefined,
  thread: LogicalThread,
  section?: Scope,
  viaHandle = false,
): CallingThread {
  return { origin, given, around, thread, section, viaHandle, spare: undefined, since: undefined };
}
