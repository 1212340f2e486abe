import { moveSection, type Scope } from '../../thread/threadScope';
import type { SectionWaiter } from '../../thread/SectionQueues';
import { type Acquirable, acquireWithin, type Attempt, type Wait, waitLimit } from '../../acquire/acquireWithin';
import type { AcquireResult, LockEngine } from './LockEngine';
import { chooseThread, chosenThread, threadThatLetsIn, type ThreadChoice } from './chooseThread';
import type { AcquireRequest, CallingThread } from './calls';

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
 * @param around - the scope of the call, which did not name its thread
 * @param member - whether the lock is a member of a multi-lock
 * @throws as {@link LockEngine.acquire}
 */
export function acquireInScope(
  lock: LockEngine,
  call: CallingThread,
  around: Scope,
  request: AcquireRequest,
  member: boolean,
): Promise<AcquireResult> {
  const choice = chooseThread(lock, call, around);
  if (!('obstacle' in choice)) return begin(lock, call, request, choice, member);
  return new SectionAcquisition(lock, call, around, request, member).run();
}

/** Begins the acquisition. Must follow the choice of the thread at once: nothing may be awaited in between. */
function begin(
  lock: LockEngine,
  call: CallingThread,
  request: AcquireRequest,
  { threadId, suspicious }: ThreadChoice,
  member: boolean,
): Promise<AcquireResult> {
  const { section } = call;
  request.threadId = threadId;
  request.viaHandle = suspicious;
  request.thread = chosenThread(call, threadId);
  if (section !== undefined && section.thread.id !== threadId) {
    // Each member of a multi-lock chooses its own thread; the section stays with the thread with which it began.
    if (member) (section.others ??= new Set()).add(request.thread);
    else moveSection(section, request.thread);
  }
  return lock.acquire(request);
}

/** A call that waits for a section beside it, as the waiting loop sees it. */
class SectionAcquisition implements Acquirable<Begun> {
  readonly mustQueue = false;
  readonly #lock: LockEngine;
  readonly #call: CallingThread;
  readonly #around: Scope;
  readonly #request: AcquireRequest;
  readonly #member: boolean;
  readonly #deadline: number;
  #waiter: SectionWaiter | undefined;

  constructor(lock: LockEngine, call: CallingThread, around: Scope, request: AcquireRequest, member: boolean) {
    this.#lock = lock;
    this.#call = call;
    this.#around = around;
    this.#request = request;
    this.#member = member;
    this.#deadline = performance.now() + request.waitMs;
  }

  async run(): Promise<AcquireResult> {
    const { context, name, rawName } = this.#lock;
    const wait = context.selfWaits.begin(name, rawName, this.#around, this.#call.since);
    let begun: Begun | undefined;
    try {
      begun = await acquireWithin(this, waitLimit(this.#request.waitMs, this.#request.signal));
    } finally {
      if (wait !== undefined) context.selfWaits.end(wait);
      this.#waiter?.leave();
    }
    return begun === undefined ? NOT_ACQUIRED : begun.taking;
  }

  mayBegin(): void {
    this.#lock.context.closing.mayBegin(`acquire lock '${this.#lock.name}'`);
  }

  attempt(): Promise<Attempt<Begun>> {
    const { sectionQueues } = this.#lock.context.ownerships;
    const choice = chooseThread(this.#lock, this.#call, this.#around);
    if ('obstacle' in choice) {
      // Joins before anything is awaited: the obstacle may go away meanwhile.
      this.#waiter = sectionQueues.wait(choice.obstacle, this.#lock.rawName, this.#waiter);
      return Promise.resolve(NOT_YET);
    }
    const request = this.#request;
    if (request.waitMs !== Infinity) request.waitMs = Math.max(0, this.#deadline - performance.now());
    const isLetIn = this.#waiter !== undefined && threadThatLetsIn(this.#lock, this.#around) === choice.threadId;
    const taking = begin(this.#lock, this.#call, request, choice, this.#member);
    taking.catch(() => undefined);
    // The waiters behind this call re-enter as the same thread, so from now on they wait for its acquisition or
    // section. If this call does not re-enter any more, it waits in Redis, perhaps for a section around those waiters:
    // then they decide for themselves.
    const ownership = isLetIn ? this.#lock.ownershipOf(choice.threadId) : undefined;
    if (this.#waiter !== undefined) sectionQueues.leave(this.#waiter, ownership?.acquirer ?? ownership);
    return Promise.resolve({ ok: true, value: { taking } });
  }

  join(): Wait<Begun> | undefined {
    return this.#request.waitMs > 0 ? this.#waiter : undefined;
  }

  giveUp(pending: Promise<Attempt<Begun>> | undefined): void {
    void pending
      ?.then(async (begun) => {
        const taken = begun.ok ? await begun.value.taking : NOT_ACQUIRED;
        if (taken.ok) await this.#lock.release(this.#request.threadId, taken.hold);
      }, noop)
      .catch(noop);
  }
}

function noop(): void {
  // The caller has got its error already.
}
