import {
  type CallingThread,
  moveSection,
  type Scope,
  isAround,
  liveScope,
  newThread,
  scopeAround,
  threadOf,
  threadsOf,
} from '../../thread/threadScope';
import type { SectionWaiter } from '../../thread/SectionQueues';
import { type Acquirable, acquireWithin, type Attempt, type Wait, waitLimit } from '../../acquire/acquireWithin';
import type { AcquireResult, LockEngine } from './LockEngine';
import type { AcquireRequest } from './LockTarget';
import { IllegalMonitorStateError } from '../../errors';
import type { Hold, Ownership } from '../../watchdog/Ownership';

/** An acquisition that has begun. The object keeps the waiting loop from awaiting the promise. */
interface Begun {
  readonly taking: Promise<AcquireResult>;
}

const NOT_ACQUIRED: AcquireResult = Object.freeze({ ok: false, ttl: -1, failure: undefined });
const NOT_YET: Attempt<never> = Object.freeze({ ok: false, retryInMs: Infinity });

/**
 * Acquires a lock for the thread of a call in a scope. If the call re-enters as a thread that runs a section beside it,
 * it waits for that section first.
 *
 * @param request - of a call in a scope, which did not name its thread
 * @throws as {@link LockEngine.acquire}
 */
export function acquireInScope(lock: LockEngine, request: AcquireRequest): Promise<AcquireResult> {
  const choice = chooseThread(lock, request.call);
  if ('obstacle' in choice) return new SectionAcquisition(lock, request).run();
  return begin(lock, request, choice);
}

/** Begins the acquisition. Must follow the choice of the thread at once: nothing may be awaited in between. */
function begin(
  lock: LockEngine,
  request: AcquireRequest,
  { threadId, suspicious }: ThreadChoice,
): Promise<AcquireResult> {
  const { call, member } = request;
  const { section } = call;
  request.suspicious = suspicious;
  request.thread = [call.thread, call.spare].find((one) => one?.id === threadId) ?? threadOf(call.around, threadId);
  if (section !== undefined && section.thread.id !== threadId) {
    // Each member of a multi-lock chooses its own thread; the section stays with the thread with which it began.
    if (member === true) (section.others ??= new Set()).add(request.thread);
    else moveSection(section, request.thread);
  }
  return lock.acquire(request);
}

/** A call that waits for a section beside it, as the waiting loop sees it. */
class SectionAcquisition implements Acquirable<Begun> {
  readonly mustQueue = false;
  readonly #lock: LockEngine;
  readonly #request: AcquireRequest;
  readonly #deadline: number;
  #waiter: SectionWaiter | undefined;

  constructor(lock: LockEngine, request: AcquireRequest) {
    this.#lock = lock;
    this.#request = request;
    this.#deadline = performance.now() + request.waitMs;
  }

  async run(): Promise<AcquireResult> {
    const { context, name, rawName } = this.#lock;
    const { call, waitMs, signal } = this.#request;
    const wait = { name, rawName, around: call.around! };
    context.selfWaits.begin(wait, call.since);
    let begun: Begun | undefined;
    try {
      begun = await acquireWithin(this, waitLimit(waitMs, signal));
    } finally {
      context.selfWaits.end(wait);
      this.#waiter?.leave();
    }
    return begun === undefined ? NOT_ACQUIRED : begun.taking;
  }

  mayBegin(): void {
    this.#lock.context.closing.mayBegin({ what: `acquire lock '${this.#lock.name}'` });
  }

  attempt(): Promise<Attempt<Begun>> {
    const { sectionQueues } = this.#lock.context.ownerships;
    const choice = chooseThread(this.#lock, this.#request.call);
    if ('obstacle' in choice) {
      // Joins before anything is awaited: the obstacle may go away meanwhile.
      this.#waiter = sectionQueues.wait(choice.obstacle, this.#lock.rawName, this.#waiter);
      return Promise.resolve(NOT_YET);
    }
    const request = this.#request;
    if (request.waitMs !== Infinity) request.waitMs = Math.max(0, this.#deadline - performance.now());
    const isLetIn =
      this.#waiter !== undefined && threadThatLetsIn(this.#lock, request.call.around!) === choice.threadId;
    const taking = begin(this.#lock, request, choice);
    taking.catch(() => undefined);
    // The waiters behind this call re-enter as the same thread, so from now on they wait for its acquisition or
    // section. If this call does not re-enter any more, it waits in Redis, perhaps for a section around those waiters:
    // then they decide for themselves.
    const ownership = isLetIn ? this.#lock.ownershipOf(choice.threadId) : undefined;
    if (this.#waiter !== undefined) sectionQueues.leave(this.#waiter, ownership?.lane.claimant ?? ownership);
    return Promise.resolve({ ok: true, value: { taking } });
  }

  join(): Wait<Begun> | undefined {
    return this.#request.waitMs > 0 ? this.#waiter : undefined;
  }

  giveUp(pending: Promise<Attempt<Begun>> | undefined): void {
    const release = pending?.then(async (begun) => {
      const taken = begun.ok ? await begun.value.taking : NOT_ACQUIRED;
      if (taken.ok) await this.#lock.release(this.#request.thread.id, taken.hold);
    });
    // The caller has got its error already.
    release?.catch(() => undefined);
  }
}

/** What a call must wait for before its thread can be chosen: a section beside it, or an acquisition under way. */
interface Obstacle {
  readonly obstacle: object;
}

/** The thread chosen for a call. */
interface ThreadChoice {
  readonly threadId: number;
  /** Whether it re-enters a hold of `acquire`, which only Java-style code can intend. */
  readonly suspicious: boolean;
}

/**
 * Chooses the thread of a call in a scope. `docs/threads.md` has the rules and their reasons.
 *
 * Only holds in the table count: a hold that was released or lost cannot be re-entered.
 *
 * @throws IllegalMonitorStateError for `lock()` and `tryLock()` beside a section of their own thread
 */
function chooseThread(lock: LockEngine, call: CallingThread): ThreadChoice | Obstacle {
  const around = call.around!;
  // A hold whose lease has run out cannot be re-entered, even if its timer is late.
  lock.context.watchdog.catchUp();
  const letIn = whatLetsIn(lock, around);
  if (letIn !== undefined) {
    const { threadId } = letIn.ownership;
    const obstacle = lock.kind.reentrant ? obstacleOf(lock, call, letIn, around) : undefined;
    if (obstacle === undefined) return { threadId, suspicious: false };
    if (call.origin !== 'plain') return { obstacle };
    if (obstacle === PENDING) throw IllegalMonitorStateError.acquisitionPending(lock.name, threadId);
    throw IllegalMonitorStateError.besideSection(lock.name, threadId);
  }
  const own = call.thread.id;
  const other = lock.otherHalfOf(own);
  const ownerships = [...lock.ownershipsOf(own), ...(other === undefined ? [] : [other])];
  if (call.origin !== 'plain') {
    const free = ownerships.every(({ live, lane }) => live.length === 0 && !lane.claimed);
    return { threadId: free ? own : (call.spare ??= newThread()).id, suspicious: false };
  }
  // The call re-enters no scope around it, so its own thread acquired its holds by `acquire`, or beside the call.
  const holds = ownerships.flatMap(({ live }) => live);
  if (holds.some((hold) => isOfSection(hold))) throw IllegalMonitorStateError.besideSection(lock.name, own);
  // The other half is being acquired by the same owner, so Redis would let both in.
  if (other?.lane.claimed === true) throw IllegalMonitorStateError.acquisitionPending(lock.name, own);
  return { threadId: own, suspicious: holds.length > 0 };
}

/**
 * The thread as which the call re-enters: that of the nearest scope around it that still has the lock. Both halves of a
 * read/write lock count.
 */
export function threadThatLetsIn(lock: LockEngine, around: Scope): number | undefined {
  return whatLetsIn(lock, around)?.ownership.threadId;
}

function whatLetsIn(lock: LockEngine, around: Scope): Found | undefined {
  return nearest(lock, around, true, (hold, scope) =>
    hold.origin === 'section' ? hold.scope === scope : hold.origin === 'plain' && isTakenIn(hold, scope),
  );
}

/**
 * The hold that `unlock()` in a scope releases: one that `lock()` took in the scope or around it, else one of a section
 * or of `acquire`.
 */
export function holdToRelease(lock: LockEngine, around: Scope): Found | undefined {
  return (
    nearest(lock, around, false, (hold, scope) => hold.origin === 'plain' && isTakenIn(hold, scope)) ??
    nearest(lock, around, false, (hold, scope) =>
      hold.origin === 'section' ? hold.scope === scope : hold.origin === 'acquire' && isTakenIn(hold, scope),
    )
  );
}

/**
 * The obstacle of a `lock()` while the other half is being acquired: an error, because `lock()` does not wait for it.
 */
const PENDING = {};

interface Found {
  readonly ownership: Ownership;
  readonly hold: Hold;
}

/**
 * The last hold that fits, in the innermost scope that has one.
 * @param related - whether the other half counts, too; for a group lock, all sets of values that share one with it
 */
function nearest(
  lock: LockEngine,
  around: Scope,
  related: boolean,
  fits: (hold: Hold, scope: Scope) => boolean,
): Found | undefined {
  let known: number | undefined;
  let ownerships: (Ownership | undefined)[] = [];
  for (let scope: Scope | undefined = around; scope !== undefined; scope = scopeAround(scope)) {
    for (const { id: threadId } of threadsOf(scope)) {
      // Nested scopes mostly have the same thread.
      if (threadId !== known)
        ownerships = related
          ? [...lock.ownershipsOf(threadId), lock.otherHalfOf(threadId)]
          : [lock.ownershipOf(threadId)];
      known = threadId;
      for (const ownership of ownerships) {
        const hold = ownership?.holds.findLast((one) => one.expires !== true && fits(one, scope));
        if (hold !== undefined) return { ownership: ownership!, hold };
      }
    }
  }
  return undefined;
}

/**
 * Whether `lock()` or `acquire()` took the hold in this scope. A hold for a named thread counts anywhere in that
 * thread.
 */
function isTakenIn(hold: Hold, scope: Scope): boolean {
  return hold.given === true || liveScope(hold.scope) === scope;
}

/**
 * What keeps a call from re-entering as that thread now. Parallel branches that re-enter take turns, except readers.
 */
function obstacleOf(lock: LockEngine, call: CallingThread, letIn: Found, around: Scope): object | undefined {
  const { threadId } = letIn.ownership;
  const isInTheWay = (section: Scope | undefined): boolean => isBeside(section, around, letIn.hold);
  const whole = ({ lane }: Ownership): Scope | undefined => (isInTheWay(lane.claimant) ? lane.claimant : undefined);
  const own = lock.ownershipsOf(threadId);
  const other = lock.otherHalfOf(threadId);
  const plain = call.origin === 'plain';
  // A `lock()` while another one is pending is refused later, by the engine.
  const pending = plain ? undefined : own.find(({ lane }) => lane.claimed);
  if (pending !== undefined) return whole(pending) ?? pending;
  const fits = ({ origin, scope }: Hold): boolean => origin === 'section' && isInTheWay(scope);
  const ownHolds = own.flatMap(({ live }) => live);
  const beside = (lock.shared && !plain ? undefined : ownHolds.find(fits)) ?? other?.live.find(fits);
  if (beside !== undefined) return beside.scope;
  // Redis refuses the write lock to a thread with read holds only, so there is no obstacle then.
  if (other?.lane.claimed !== true || (lock.shared ? other.live : ownHolds).length === 0) return undefined;
  return plain ? PENDING : (whole(other) ?? other);
}

/**
 * Whether a section runs beside the call, or is about to. Callbacks that were given the same `threadId` overlap: their
 * calls do not wait until the other callback ends, which might never happen.
 */
function isBeside(section: Scope | undefined, around: Scope, letIn: Hold): boolean {
  if (section === undefined || section.over || isAround(section, around)) return false;
  return letIn.origin !== 'section' || letIn.given !== true || isAround(letIn.scope!, section);
}

/** Whether the hold belongs to a running section: it is the section's own, or `lock()` took it inside the section. */
function isOfSection({ origin, given, scope: takenIn }: Hold): boolean {
  if (origin === 'acquire' || given === true) return false;
  return liveScope(takenIn)?.isSection === true && (origin === 'plain' || takenIn?.over === false);
}
