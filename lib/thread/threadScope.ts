import { AsyncLocalStorage } from 'node:async_hooks';

/** Automatic thread ids start here, above every id a caller may give (Redisson: the Java thread id). */
export const FIRST_AUTOMATIC_THREAD_ID = 2 ** 32;

/** A logical thread: what Redisson's owner of a lock is. */
export interface LogicalThread {
  readonly id: number;
  /** Its sections that run or wait for their lock. A caller that is not inside all of them is beside one of them. */
  sections: number;
}

/**
 * The callback of `runInThread` (a thread) or of `withLock` (a section), with all that it awaits and starts.
 *
 * A section is over when its callback ends. What it left behind then belongs to the scope around it; see
 * {@link liveScope}.
 */
export interface Scope {
  /** Whose calls the calls inside are. */
  thread: LogicalThread;
  readonly isSection: boolean;
  /** The scope around a section; may be over. A thread has none: it is in no section, wherever it was started. */
  parent: Scope | undefined;
  /** The scope that a thread was started in. It lets no call in; only the warning of a self-wait reads it. */
  startedIn: Scope | undefined;
  over: boolean;
  /** More threads that hold locks of this section: members of a multi-lock decide each for itself. */
  others: Set<LogicalThread> | undefined;
  /**
   * Who holds what `lock()` and `acquire()` took in it, or in sections inside it that are over: thread id -> how many
   * holds. What a thread's scope took for that thread itself needs no entry.
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
 * One storage for all clients of the process: a logical thread is the same thread for every client, as in Java. Also
 * where there are two copies of this package, a bundled and an installed one, say. The number in its key is that of
 * the form of {@link Scope}: it changes with it.
 */
const shared = sharedThreads(Symbol.for('ioredisson:threads:1'));
const { storage } = shared;

function sharedThreads(key: symbol): SharedThreads {
  const global = globalThis as { [key: symbol]: SharedThreads | undefined };
  const existing = global[key];
  if (existing !== undefined) return existing;
  // The first id is left out, so that the smallest one that is too large for a caller is always refused.
  const value: SharedThreads = { storage: new AsyncLocalStorage(), nextId: FIRST_AUTOMATIC_THREAD_ID + 1 };
  Object.defineProperty(global, key, { value });
  return value;
}

/** A thread id that is new in this process. */
export function newThreadId(): number {
  return shared.nextId++;
}

/** Whether the id is one of {@link newThreadId}: callers may pass on what a hold told them. */
export function isAutomaticThreadId(threadId: number): boolean {
  return threadId > FIRST_AUTOMATIC_THREAD_ID && threadId < shared.nextId;
}

/** A thread with no section. */
export function newThread(id = newThreadId()): LogicalThread {
  return { id, sections: 0 };
}

/** The scope the caller runs in, or `undefined` outside scopes. Only facades ask, once per call. */
export function currentScope(): Scope | undefined {
  return liveScope(storage.getStore());
}

/** The id of the running thread scope, or `undefined` outside one. */
export function currentThreadId(): number | undefined {
  return currentScope()?.thread.id;
}

/** The scope itself, or, where it is a section that is over, the nearest one around it that is not. */
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

/** The threads that may hold something which belongs to a scope, its own first. */
export function threadsOf({ thread, others, taken }: Scope): readonly LogicalThread[] {
  if (others === undefined && taken === undefined) return [thread];
  const threads = new Set<LogicalThread>([thread, ...(others ?? [])]);
  for (const taker of taken?.values() ?? []) threads.add(taker.thread);
  return [...threads];
}

/** The thread of that id, where it is one of the scopes around the caller. */
export function threadAround(scope: Scope | undefined, id: number): LogicalThread | undefined {
  for (let one = scope; one !== undefined; one = scopeAround(one)) {
    const thread = one.thread.id === id ? one.thread : threadsOf(one).find((other) => other.id === id);
    if (thread !== undefined) return thread;
  }
  return undefined;
}

/**
 * `lock()` or `acquire()` took something in the scope, for that thread. It belongs to the scope, as long as that runs.
 */
export function tookIn(scope: Scope, thread: LogicalThread): void {
  const live = liveScope(scope);
  if (live !== undefined) addTaken(live, thread, 1);
}

/** What {@link tookIn} counted is given back, or lost. */
export function gaveBack(scope: Scope, threadId: number): void {
  const taken = liveScope(scope)?.taken;
  const taker = taken?.get(threadId);
  if (taker !== undefined && --taker.holds === 0) taken!.delete(threadId);
}

function addTaken(scope: Scope, thread: LogicalThread, holds: number): void {
  if (!scope.isSection && scope.thread.id === thread.id) return;
  const taker = (scope.taken ??= new Map<number, Taker>()).get(thread.id);
  if (taker === undefined) scope.taken.set(thread.id, { thread, holds });
  else taker.holds += holds;
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
 * Every scope around a call, those included that a thread on the way was started in. Scopes that are over are left out.
 */
export function* enclosingScopes(scope: Scope | undefined): Generator<Scope> {
  for (let one = scope; one !== undefined; one = outside(one)) yield one;
}

/** A section that a call is about to begin. {@link endSection} must follow. */
export function newSection(thread: LogicalThread, parent: Scope | undefined): Scope {
  thread.sections++;
  return { thread, isSection: true, parent, startedIn: undefined, over: false, others: undefined, taken: undefined };
}

/** The section gets its lock for another thread than it was made for. */
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
 * Starts a lazy thenable (a database query) inside the scope: it does its work only when `then` is called.
 */
function started<T>(fn: () => T | PromiseLike<T>): Promise<T> {
  return Promise.resolve(fn());
}

/** The callback of a section has ended, or it never got its lock. */
export function endSection(section: Scope): void {
  if (section.over) return;
  section.over = true;
  section.thread.sections--;
  // What it left behind may live for long; it must not keep alive all the sections that began one another.
  section.parent = liveScope(section.parent);
  const { parent, taken } = section;
  if (taken === undefined) return;
  section.taken = undefined;
  if (parent !== undefined) for (const { thread, holds } of taken.values()) addTaken(parent, thread, holds);
}

/** Runs `fn` as the given logical thread; the scope follows `await`, timers and callbacks started in it. */
export function runAsThread<T>(threadId: number, fn: () => T): T {
  return storage.run(threadScope(threadId), fn);
}

/** {@link runAsThread} as a new thread, for work that may be asynchronous. */
export async function runAsNewThread<T>(fn: () => T | PromiseLike<T>): Promise<T> {
  const scope = threadScope(newThreadId());
  try {
    return await storage.run(scope, started, fn);
  } finally {
    scope.over = true;
    scope.startedIn = running(scope.startedIn);
  }
}

function threadScope(threadId: number): Scope {
  const startedIn = running(storage.getStore());
  return {
    thread: newThread(threadId),
    isSection: false,
    parent: undefined,
    startedIn,
    over: false,
    others: undefined,
    taken: undefined,
  };
}

function outside(scope: Scope): Scope | undefined {
  return scope.isSection ? scopeAround(scope) : running(scope.startedIn);
}

/** The nearest scope whose callback has not ended. */
function running(scope: Scope | undefined): Scope | undefined {
  let one = scope;
  while (one?.over === true) one = one.isSection ? one.parent : one.startedIn;
  return one;
}
