import { IllegalMonitorStateError } from '../errors';
import type { Grip, Hold } from '../renewal/Hold';
import {
  isAround,
  liveScope,
  newThread,
  scopeAround,
  threadAround,
  threadsOf,
  type LogicalThread,
  type Scope,
} from '../thread/threadScope';
import type { CallingThread } from './HandleThread';
import type { LockEngine } from './LockEngine';

/** What a call has to wait for before it can be told whose it is: a section beside it, or an acquisition under way. */
export interface Obstacle {
  readonly obstacle: object;
}

/** What is known of whose a call is. */
export interface ThreadChoice {
  readonly threadId: number;
  /** Whether it re-enters a hold of `acquire`, which only Java-style code can mean. */
  readonly suspicious: boolean;
}

/**
 * Whose thread a call in a scope is, as far as the lock decides it. `docs/threads.md` has the rules, and why.
 *
 * The table of holds is the only truth: a hold that was given back or lost lets nobody in.
 *
 * @throws IllegalMonitorStateError for `lock()` and `tryLock()` beside a section of their own thread
 */
export function chooseThread(lock: LockEngine, call: CallingThread, around: Scope): ThreadChoice | Obstacle {
  // A hold whose lease has run out lets nobody in, however late its timer is.
  lock.context.watchdog.catchUp();
  const letIn = whatLetsIn(lock, around);
  if (letIn !== undefined) {
    const { threadId } = letIn.hold;
    const obstacle = lock.driver.reentrant ? obstacleOf(lock, call, letIn, around) : undefined;
    if (obstacle === undefined) return { threadId, suspicious: false };
    if (call.origin !== 'plain') return { obstacle };
    if (obstacle === PENDING) throw IllegalMonitorStateError.acquisitionPending(lock.name, threadId);
    throw IllegalMonitorStateError.besideSection(lock.name, threadId);
  }
  const own = call.thread.id;
  const holds = [lock.holdOf(own), lock.otherHalfOf(own)];
  if (call.origin !== 'plain') {
    const free = holds.every((hold) => hold === undefined || (hold.grips.length === 0 && !hold.acquiring));
    return { threadId: free ? own : (call.spare ??= newThread()).id, suspicious: false };
  }
  // Nobody around lets it in, so what its own thread has was taken by `acquire`, or beside it.
  const grips = holds.flatMap((hold) => hold?.grips ?? []);
  if (grips.some((grip) => isOfSection(grip))) throw IllegalMonitorStateError.besideSection(lock.name, own);
  // Redis would let it in beside what the other half is acquired for: it is the same owner.
  if (holds[1]?.acquiring === true) throw IllegalMonitorStateError.acquisitionPending(lock.name, own);
  return { threadId: own, suspicious: grips.length > 0 };
}

/** The thread of the nearest scope that still has the lock and lets the call in. Both halves of a read/write lock count. */
export function threadThatLetsIn(lock: LockEngine, around: Scope): number | undefined {
  return whatLetsIn(lock, around)?.hold.threadId;
}

function whatLetsIn(lock: LockEngine, around: Scope): Found | undefined {
  return nearest(lock, around, true, (grip, scope) =>
    grip.origin === 'section' ? grip.scope === scope : grip.origin === 'plain' && isTakenIn(grip, scope),
  );
}

/** What `unlock()` in a scope gives back: what `lock()` took in it or around it, else a section's or what `acquire` took. */
export function gripToGiveBack(lock: LockEngine, around: Scope): Found | undefined {
  return (
    nearest(lock, around, false, (grip, scope) => grip.origin === 'plain' && isTakenIn(grip, scope)) ??
    nearest(lock, around, false, (grip, scope) =>
      grip.origin === 'section' ? grip.scope === scope : grip.origin === 'acquire' && isTakenIn(grip, scope),
    )
  );
}

/** The thread that {@link chooseThread} chose. */
export function chosenThread(call: CallingThread, threadId: number): LogicalThread {
  if (call.thread.id === threadId) return call.thread;
  if (call.spare?.id === threadId) return call.spare;
  return threadAround(call.around, threadId) ?? newThread(threadId);
}

/** Stands in the way of `lock()`, which does not wait for it: the other half is being acquired. */
const PENDING = {};

interface Found {
  readonly hold: Hold;
  readonly grip: Grip;
}

/** The youngest grip of the innermost scope that fits. */
function nearest(
  lock: LockEngine,
  around: Scope,
  bothHalves: boolean,
  fits: (grip: Grip, scope: Scope) => boolean,
): Found | undefined {
  let known: number | undefined;
  let holds: (Hold | undefined)[] = [];
  for (let scope: Scope | undefined = around; scope !== undefined; scope = scopeAround(scope)) {
    for (const { id: threadId } of threadsOf(scope)) {
      // Scopes within scopes mostly have one and the same thread.
      if (threadId !== known) holds = [lock.holdOf(threadId), bothHalves ? lock.otherHalfOf(threadId) : undefined];
      known = threadId;
      for (const hold of holds) {
        const grip = hold?.grips.findLast((one) => one.left !== true && fits(one, scope));
        if (grip !== undefined) return { hold: hold!, grip };
      }
    }
  }
  return undefined;
}

/** Whether `lock()` or `acquire()` took it in that scope, or for a thread that was named: then anywhere in that thread. */
function isTakenIn(grip: Grip, scope: Scope): boolean {
  return grip.given === true || liveScope(grip.scope) === scope;
}

/** What keeps a call from re-entering as that thread now: branches that re-enter side by side take turns, readers apart. */
function obstacleOf(lock: LockEngine, call: CallingThread, letIn: Found, around: Scope): object | undefined {
  const { threadId } = letIn.hold;
  const isInTheWay = (section: Scope | undefined): boolean => isBeside(section, around, letIn.grip);
  const whole = ({ acquirer }: Hold): Scope | undefined => (isInTheWay(acquirer) ? acquirer : undefined);
  const own = lock.holdOf(threadId);
  const other = lock.otherHalfOf(threadId);
  const plain = call.origin === 'plain';
  // `lock()` while another one is pending is refused further down.
  if (own?.acquiring === true && !plain) return whole(own) ?? own;
  const fits = ({ origin, scope }: Grip): boolean => origin === 'section' && isInTheWay(scope);
  const beside = (lock.shared && !plain ? undefined : own?.grips.find(fits)) ?? other?.grips.find(fits);
  if (beside !== undefined) return beside.scope;
  // A write that is asked for under read holds alone is not let in by Redis, so it is in nobody's way.
  if (other?.acquiring !== true || ((lock.shared ? other : own)?.grips.length ?? 0) === 0) return undefined;
  return plain ? PENDING : (whole(other) ?? other);
}

/**
 * Whether a section runs beside the call, or is about to. Callbacks that were given the thread of one another overlap: what
 * they call does not wait for each other's end, which could be for ever.
 */
function isBeside(section: Scope | undefined, around: Scope, letIn: Grip): boolean {
  if (section === undefined || section.over || isAround(section, around)) return false;
  return letIn.origin !== 'section' || letIn.given !== true || isAround(letIn.scope!, section);
}

/** Whether it belongs to a section that runs: it is its hold, or `lock()` took it in there. */
function isOfSection({ origin, given, scope: takenIn }: Grip): boolean {
  if (origin === 'acquire' || given === true) return false;
  return liveScope(takenIn)?.isSection === true && (origin === 'plain' || takenIn?.over === false);
}
