import type { SendRecord } from '../../connection/pending/CommandExecutor';
import { LockLostError } from '../../errors';
import type { CallingThread, LogicalThread, Scope } from '../../thread/threadScope';
import type { AcquireTrace } from '../../telemetry/tracing';
import { ACQUIRED, type AcquireReply, type ReleaseReply } from '../../scripts/replies';
import { type Acquired, Acquisition, type Target } from '../../acquire/Acquisition';
import type { Attempt, Wait } from '../../acquire/acquireWithin';
import { type Why, LATE_MS, type Leftover } from '../../acquire/Rollback';
import type { Waiter } from '../../waiters/Waiter';
import type { Ownership } from '../../watchdog/Ownership';
import type { Heir, LockKind, AttemptRequest } from '../../kinds/Kind';
import type { LockContext } from './LockContext';
import type { SelfWait } from './selfWaits';

/** One request of a thread to acquire a lock. */
export interface AcquireRequest {
  /** The thread of the call, unless a hold of the lock decides otherwise (`chooseThread`). */
  thread: LogicalThread;
  readonly call: CallingThread;
  /** In ms; -1 = the watchdog renews it. */
  readonly leaseMs: number;
  /** In ms; `Infinity` = no limit; 0 or less: a single attempt. */
  waitMs: number;
  /** `false`: a single attempt that joins no queue; a positive `waitMs` then limits the wait for its reply. */
  readonly queues: boolean;
  readonly signal: AbortSignal | undefined;
  /** Whether it is a member of a multi-lock. @default false */
  readonly member?: boolean | undefined;
  /** Whether it re-enters a hold of `acquire`, which only Java-style code can intend. @default false */
  suspicious?: boolean;
  /** Set while acquisitions have a telemetry subscriber. */
  trace?: AcquireTrace | undefined;
  /** @default the client's setting */
  readonly maxRenewals?: number | undefined;
  /** The lease that each renewal of the watchdog sets, in ms. @default the client's setting */
  readonly watchdogMs?: number | undefined;
  /** How long the watchdog thread renews it, see `Hold.maxStallMs`. @default the client's setting */
  readonly maxStallMs?: number | undefined;
  /** The owner from whom it is taken over (`attach`). @default it is acquired */
  readonly from?: string | undefined;
}

/**
 * The number of replies in a row that come after the end of the lease before an acquisition is given up: it cannot
 * succeed.
 */
const MAX_LATE = 5;
/** A call with less time than this after giving way (ms) does not: its time might end before its first attempt. */
const MIN_WAIT_AFTER_GIVING_WAY_MS = 95;

/**
 * A lock for one thread, to be acquired once more. A holder may hand the lock over to it.
 *
 * Contains what only locks need: the ownership of the thread, the holds that it already has, and the hand-over.
 */
export class LockTarget implements Target, Heir {
  /** The lease that each attempt sets, in ms. */
  readonly leaseMs: number;
  count = 1;
  readonly ownership: Ownership;
  /** Its kind of lock; a holder hands over with the script of this kind. */
  readonly kind: LockKind;
  readonly acquisition: Acquisition;
  /** Set when it begins to wait in a scope; the lock engine ends it. */
  selfWait: SelfWait | undefined;
  sleptMs = 0;
  readonly #context: LockContext;
  readonly #call: CallingThread;
  readonly #from: string | undefined;
  #wait: Waiter<Acquired> | undefined;

  /** @param leaseMs - the lease that each attempt sets, in ms */
  constructor(context: LockContext, kind: LockKind, ownership: Ownership, request: AcquireRequest, leaseMs: number) {
    this.#context = context;
    this.#call = request.call;
    this.#from = request.from;
    this.kind = kind;
    this.ownership = ownership;
    this.leaseMs = leaseMs;
    this.acquisition = new Acquisition(context, this, request.waitMs, request.queues);
    this.acquisition.trace = request.trace;
  }

  /** Whether the waiters may wait for its own thread, which has the lock, or some of its values. */
  get #reenters(): boolean {
    return this.ownership.live.length > 0 || this.ownership.overlapping?.some(({ live }) => live.length > 0) === true;
  }

  /** Not for a re-entry. */
  get mustQueue(): boolean {
    const { kind } = this;
    const { rawName, waitKey, owner } = this.ownership;
    const { subscriptions } = this.#context;
    if (this.#reenters || kind.newWait !== undefined || subscriptions.idle) return false;
    const channel = kind.channelOf(rawName, owner);
    if (kind.waitOrder === 'fifo' && subscriptions.queue(channel, waitKey)?.mustQueue === true) return true;
    const turns = subscriptions.turns(channel, waitKey);
    return turns?.givesWay === true && this.acquisition.waitMs - turns.giveWayMs >= MIN_WAIT_AFTER_GIVING_WAY_MS;
  }

  get what(): string {
    return `acquire lock '${this.ownership.name}'`;
  }

  get key(): string {
    return this.ownership.rawName;
  }

  get around(): Scope | undefined {
    return this.#call.around;
  }

  get callSite(): string | undefined {
    return this.acquisition.callSite;
  }

  get leftover(): boolean {
    return this.#context.ownerships.leftoverMs(this.ownership) > 0;
  }

  get writer(): Ownership | undefined {
    return this.#context.ownerships.writerOf(this.ownership);
  }

  before(): Promise<void> | undefined {
    // Redis lets it in under a write lock that it has under its name.
    const underOwnWrite = this.kind.half === 'read' ? this.writer?.lane.turn('count') : undefined;
    return underOwnWrite ?? this.ownership.lane.turn('attempt');
  }

  send(sendRecord: SendRecord): Promise<AcquireReply> {
    // Here: what had to end before has changed it.
    this.count = this.ownership.live.length + 1;
    return this.#from === undefined ? this.kind.attempt(this) : this.#takeOver(this.#from, sendRecord);
  }

  async #takeOver(from: string, sendRecord: SendRecord): Promise<AcquireReply> {
    const { ownership, leaseMs } = this;
    return acquiredBy(await this.kind.move!(ownership, from, ownership.owner, leaseMs, sendRecord));
  }

  refused(reply: AcquireReply & { readonly acquired: false }): void {
    // An acquisition that has not joined the queue does not sleep yet: it joins, and attempts once more.
    if (this.#wait !== undefined) {
      if (reply.ttl > this.sleptMs) this.sleptMs = reply.ttl;
      if (reply.unheard === true) this.kind.watch?.unheard(this.key);
    }
    const why = 'a re-entry found it with another owner';
    if (this.count > 1) this.#context.ownerships.lose([{ ownership: this.ownership, why }]);
  }

  late(times: number, answerMs: number): boolean {
    if (!this.acquisition.sendRecord.cancelled) this.undo('doubtful', true);
    if (times < MAX_LATE) return true;
    const why = `its lease of ${this.leaseMs} ms was over each time that Redis answered (${Math.ceil(answerMs)} ms the last time): take a longer lease`;
    throw new LockLostError(this.ownership.name, this.ownership.threadId, why);
  }

  join(): Wait<Acquired> {
    const { kind, around, ownership } = this;
    const { name, rawName, waitKey, owner } = ownership;
    if (around !== undefined && this.selfWait === undefined) {
      this.selfWait = { name, rawName, around, own: kind.values && ownership };
      this.#context.selfWaits.begin(this.selfWait, this.#call.since);
    }
    if (kind.newWait !== undefined) return kind.newWait(this);
    const channel = kind.channelOf(rawName, owner);
    const waits = this.#reenters ? ({ ...kind, waitOrder: 'shared' } as const) : kind;
    this.#wait = this.#context.subscriptions.join<Acquired>(waits, channel, rawName, this, undefined, waitKey);
    kind.watch?.joined(rawName, this.#wait);
    return this.#wait;
  }

  receiveHandOver(acquired: Promise<AcquireReply>, connectionNumber: number): void {
    this.#wait?.wakeWith(this.acquisition.receive(acquired, connectionNumber));
  }

  left(): void {
    const { kind } = this;
    const { rawName, owner } = this.ownership;
    const { subscriptions } = this.#context;
    if (this.#wait !== undefined) kind.watch?.left(rawName, this.#wait);
    // Fair locks with the names `x` and `{x}` share one queue in Redis, in which an owner has one place. That place is
    // gone now, although the owner may still wait for the other lock. So the waiter for that lock attempts again.
    if (kind.abandon !== undefined && subscriptions.size > 0)
      subscriptions.wakeOn(kind.channelOf(rawName, owner), (other) => other !== rawName);
  }

  undo(why: Why, taken: boolean, _pending?: Promise<Attempt<Acquired>>, handOver?: Promise<boolean>): void {
    const { ownership, kind, leaseMs, acquisition } = this;
    const { sendRecord: sent } = acquisition;
    if (why !== 'twice' && ownership.lane.relay?.drop(this) === true) return;
    // A late reply does not end its wait, and it keeps its place in a queue.
    const leaves = (why === 'twice' || sent.cancelled) && acquisition.waits && kind.abandon !== undefined;
    if (!taken && !leaves) return;
    const waiter = leaves ? this : undefined;
    const from = this.#from;
    undo({ ownership, kind, sent, leaseMs, from, waiter, waiterOnly: !taken, handOver }, why, this.#context);
  }
}

/**
 * The reply to a release as the heir sees it: acquired by a hand-over, else not acquired, and it may attempt at once.
 */
export function acquiredBy(reply: ReleaseReply): AcquireReply {
  if (reply.kind !== 'handed') return NOT_HANDED;
  return reply.token === undefined ? ACQUIRED : { acquired: true, token: reply.token };
}

const NOT_HANDED: AcquireReply = Object.freeze({ acquired: false, ttl: 0 });

/** How long the undo is repeated for a waiter that has left its queue, in ms: a broken socket may add it again late. */
const LATE_WAITER_MS = 5_000;

/** What an acquisition or a release may have left in Redis, or may still leave there, although no caller owns it. */
export interface UnwantedHold {
  readonly ownership: Ownership;
  readonly kind: LockKind;
  /** The record of the command that may have run, or may still run. Without one only a hold may be left. */
  readonly sent?: SendRecord | undefined;
  /** How long Redis keeps such a hold without an undo, in ms. */
  readonly leaseMs: number;
  /** The owner from whom it was taken over: such a hold is given back, not released, so that the ticket stays valid. */
  readonly from?: string | undefined;
  /**
   * The waiter that leaves a queue in Redis. Until it has left, it may delay the waiters behind it for as long as it
   * was to wait: its place stays until another owner attempts. Where Redis refuses the undo, it is tried for that
   * time and a minute.
   */
  readonly waiter?: AttemptRequest | undefined;
  /** Whether only that waiter has to be removed, and no hold. @default false */
  readonly waiterOnly?: boolean;
  /**
   * Set while a holder hands the lock over: resolves to whether the hand-over succeeded. Its command is the holder's
   * release, which the heir cannot cancel, so the undo waits for its end. Rejects if the outcome is unknown.
   */
  readonly handOver?: Promise<boolean> | undefined;
}

/**
 * Undoes, in the background, what a thread left in Redis without owning it. It removes a waiter from its queue, and
 * sets the holds in Redis, which a command without a reply may have changed, back to those that the thread is known to
 * have. While the thread has, acquires or releases the lock, there is nothing to undo: its next command sets the right
 * number of holds. When and how often: see {@link Rollback}.
 */
export function undo(
  unwanted: UnwantedHold,
  why: Why,
  { ownerships, rollback, settings, undoneAttach }: LockContext,
): void {
  const { ownership, kind, sent, leaseMs, from, waiter, waiterOnly = false, handOver } = unwanted;
  const { lane } = ownership;
  const waitMs = waiter?.acquisition.waitMs ?? 0;
  /** Sets the lease as well: a late re-entry may have set a longer one. */
  const giveBack = (sendRecord: SendRecord): Promise<void> =>
    ownerships.end<ReleaseReply>(ownership, undefined, {
      undoes: sendRecord,
      send: (command) =>
        from !== undefined && command.leaves().left === 0
          ? kind.move!(ownership, ownership.owner, from, leaseMs, sendRecord)
          : kind.release(command),
    });
  const endTry = (unblock: () => void): void => {
    unblock();
    // Another try may follow, but until then no release is under way.
    ownerships.tidy(ownership);
  };
  const leftover: Leftover = {
    sent,
    leaseMs,
    atLeastMs: waiter === undefined ? 0 : (waitMs === Infinity ? settings.fairLockWaitTimeout : waitMs) + LATE_MS,
    place: { key: ownership.rawName, member: ownership.owner },
    search: waiter === undefined ? kind.search : undefined,
    // A release under way still needs the hold: an undo before it would make that release find the lock gone.
    get unwanted() {
      return !lane.mustWait('search') && ownership.holds.length === 0;
    },
    // A search finds holds. It does not find waiters, nor a hold too many.
    get urgent() {
      return waiter !== undefined || handOver !== undefined || ownership.holds.length > 0;
    },
    async undo(newRecord) {
      const unblock = lane.block();
      try {
        const left = waiter && kind.abandon!(waiter, newRecord());
        await Promise.all([left, waiterOnly ? undefined : giveBack(newRecord())]);
      } finally {
        endTry(unblock);
      }
      // The waiter is off its queue now. What the broken socket may still add lives for a lease, not for a whole wait.
      this.atLeastMs = Math.min(this.atLeastMs!, LATE_WAITER_MS);
      return waiterOnly;
    },
    ended() {
      if (endUndo() && from !== undefined) undoneAttach.delete(from);
      ownerships.tidy(ownership);
    },
  };
  // Until the undo is sent, the thread must not acquire: the undo would release the new hold.
  const endUndo = lane.undo();
  if (from !== undefined) undoneAttach.set(from, ownership.threadId);
  const unblock = lane.block();
  const begin = (): void => {
    rollback.undo(leftover, why);
    endTry(unblock);
  };
  if (handOver === undefined) return begin();
  void handOver
    .catch(() => true)
    .then((there) => {
      if (there) return begin();
      endUndo();
      endTry(unblock);
    });
}
