import { ShutdownError } from '../errors';
import { moveSection, type Scope } from '../thread/threadScope';
import type { Turn } from '../thread/Turns';
import { acquireWithin, type Contest } from '../wait/acquireWithin';
import type { Attempt } from '../wait/Attempt';
import type { Wakeup } from '../wait/Wakeup';
import { chooseThread, chosenThread, threadThatLetsIn, type ThreadChoice } from './chooseThread';
import type { CallingThread } from './HandleThread';
import { patienceOf, type Demand, type Taken } from './Demand';
import type { LockEngine } from './LockEngine';

/** An acquisition that has begun; in an object, so that the waiting loop does not wait for it. */
interface Begun {
  readonly taking: Promise<Taken>;
}

const NOT_TAKEN: Taken = Object.freeze({ ok: false, ttl: -1, silence: undefined });
const NOT_YET: Attempt<never> = Object.freeze({ ok: false, retryInMs: Infinity });

/**
 * Takes a lock for the thread that a call is found to be. Outside scopes, and where the caller named the thread, there is
 * nothing to find out. A call beside a section of the thread that lets it in waits for that first.
 *
 * @param member - whether the lock is a member of a multi-lock
 * @throws as {@link LockEngine.take}
 */
export function takeInTurn(lock: LockEngine, call: CallingThread, demand: Demand, member = false): Promise<Taken> {
  const { around } = call;
  if (around === undefined || call.given) return lock.take(demand);
  const choice = chooseThread(lock, call, around);
  if (!('obstacle' in choice)) return begin(lock, call, demand, choice, member);
  return new TurnContest(lock, call, around, demand, member).run();
}

/** Nothing may come between the choice of the thread and this. */
function begin(
  lock: LockEngine,
  call: CallingThread,
  demand: Demand,
  { threadId, suspicious }: ThreadChoice,
  member: boolean,
): Promise<Taken> {
  const { section } = call;
  demand.threadId = threadId;
  demand.viaHandle = suspicious;
  demand.thread = chosenThread(call, threadId);
  if (section !== undefined && section.thread.id !== threadId) {
    // The members of a multi-lock decide each for itself; its section stays the thread's that it began as.
    if (member) (section.others ??= new Set()).add(demand.thread);
    else moveSection(section, demand.thread);
  }
  return lock.take(demand);
}

/** A call that waits for its turn among those that one thread lets in, as the waiting loop sees it. */
class TurnContest implements Contest<Begun> {
  readonly mustQueue = false;
  readonly #lock: LockEngine;
  readonly #call: CallingThread;
  readonly #around: Scope;
  readonly #demand: Demand;
  readonly #member: boolean;
  readonly #deadline: number;
  #turn: Turn | undefined;

  constructor(lock: LockEngine, call: CallingThread, around: Scope, demand: Demand, member: boolean) {
    this.#lock = lock;
    this.#call = call;
    this.#around = around;
    this.#demand = demand;
    this.#member = member;
    this.#deadline = performance.now() + demand.waitMs;
  }

  async run(): Promise<Taken> {
    const { context, name, rawName } = this.#lock;
    const wait = context.selfWaits.begin(name, rawName, this.#around, this.#call.since);
    let begun: Begun | undefined;
    try {
      begun = await acquireWithin(this, patienceOf(this.#demand));
    } finally {
      if (wait !== undefined) context.selfWaits.end(wait);
      this.#turn?.leave();
    }
    return begun === undefined ? NOT_TAKEN : begun.taking;
  }

  attempt(): Promise<Attempt<Begun>> {
    const { holds, closing } = this.#lock.context;
    if (closing.aborted) throw new ShutdownError(`acquire lock '${this.#lock.name}'`);
    const { turns } = holds;
    const choice = chooseThread(this.#lock, this.#call, this.#around);
    if ('obstacle' in choice) {
      // Before anything is awaited: the obstacle may go away meanwhile.
      this.#turn = turns.wait(choice.obstacle, this.#lock.rawName, this.#turn);
      return Promise.resolve(NOT_YET);
    }
    const demand = this.#demand;
    if (demand.waitMs !== Infinity) demand.waitMs = Math.max(0, this.#deadline - performance.now());
    const isLetIn = this.#turn !== undefined && threadThatLetsIn(this.#lock, this.#around) === choice.threadId;
    const taking = begin(this.#lock, this.#call, demand, choice, this.#member);
    taking.catch(() => undefined);
    // Those behind it wait for the thread that let all of them in. If this one is not let in any more, it waits in Redis for
    // others, perhaps for a section around those behind it: they decide for themselves.
    const hold = isLetIn ? this.#lock.holdOf(choice.threadId) : undefined;
    if (this.#turn !== undefined) turns.leave(this.#turn, hold?.acquirer ?? hold);
    return Promise.resolve({ ok: true, value: { taking } });
  }

  join(): Wakeup<Begun> | undefined {
    return this.#demand.waitMs > 0 ? this.#turn : undefined;
  }

  giveUp(pending: Promise<Attempt<Begun>> | undefined): void {
    void pending
      ?.then(async (begun) => {
        const taken = begun.ok ? await begun.value.taking : NOT_TAKEN;
        if (taken.ok) await this.#lock.give(this.#demand.threadId, taken.grip);
      }, noop)
      .catch(noop);
  }
}

function noop(): void {
  // Whoever called was told already.
}
