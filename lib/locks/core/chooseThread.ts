import { IllegalMonitorStateError } from '../../errors';
import type { Hold, Ownership } from '../../watchdog/Ownership';
import {
  isAround,
  liveScope,
  newThread,
  scopeAround,
  threadAround,
  threadsOf,
  type LogicalThread,
  type Scope,
} from '../../thread/threadScope';
import type { CallingThread } from './calls';
import type { LockEngine } from './LockEngine';

/** What a call must wait for before its thread can be chosen: a section beside it, or an acquisition under way. */
export interface Obstacle {
  readonly obstacle: object;
}

/** The thread chosen for a call. */
export interface ThreadChoice {
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
export function chooseThread(lock: LockEngine, call: CallingThread, around: Scope): ThreadChoice | Obstacle {
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
    const free = ownerships.every(({ holds, acquiring }) => holds.length === 0 && !acquiring);
    return { threadId: free ? own : (call.spare ??= newThread()).id, suspicious: false };
  }
  // The call re-enters no scope around it, so its own thread acquired its holds by `acquire`, or beside the call.
  const holds = ownerships.flatMap((ownership) => ownership.holds);
  if (holds.some((hold) => isOfSection(hold))) throw IllegalMonitorStateError.besideSection(lock.name, own);
  // The other half is being acquired by the same owner, so Redis would let both in.
  if (other?.acquiring === true) throw IllegalMonitorStateError.acquisitionPending(lock.name, own);
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

/** The thread that {@link chooseThread} chose. */
export function chosenThread(call: CallingThread, threadId: number): LogicalThread {
  if (call.thread.id === threadId) return call.thread;
  if (call.spare?.id === threadId) return call.spare;
  return threadAround(call.around, threadId) ?? newThread(threadId);
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
  const whole = ({ acquirer }: Ownership): Scope | undefined => (isInTheWay(acquirer) ? acquirer : undefined);
  const own = lock.ownershipsOf(threadId);
  const other = lock.otherHalfOf(threadId);
  const plain = call.origin === 'plain';
  // A `lock()` while another one is pending is refused later, by the engine.
  const pending = plain ? undefined : own.find(({ acquiring }) => acquiring);
  if (pending !== undefined) return whole(pending) ?? pending;
  const fits = ({ origin, scope }: Hold): boolean => origin === 'section' && isInTheWay(scope);
  const ownHolds = own.flatMap(({ holds }) => holds);
  const beside = (lock.shared && !plain ? undefined : ownHolds.find(fits)) ?? other?.holds.find(fits);
  if (beside !== undefined) return beside.scope;
  // Redis refuses the write lock to a thread with read holds only, so there is no obstacle then.
  if (other?.acquiring !== true || (lock.shared ? other.holds : ownHolds).length === 0) return undefined;
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
