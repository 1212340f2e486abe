import type { SendRecord } from '../../connection/pending/CommandExecutor';
import { LockLostError } from '../../errors';
import type { Scope } from '../../thread/threadScope';
import type { AcquireReply } from '../../scripts/replies';
import { Acquisition, type Target } from '../../acquire/Acquisition';
import type { Attempt, Wait } from '../../acquire/acquireWithin';
import type { Why } from '../../acquire/Rollback';
import type { Waiter } from '../../waiters/Waiter';
import { confirmedUntil, type Ownership } from '../../watchdog/Ownership';
import type { Heir, LockKind } from '../../kinds/LockKind';
import type { AcquireRequest, CallingThread } from './calls';
import type { LockContext } from './LockContext';
import type { SelfWait } from './SelfWaits';
import { undo } from './undo';

/** The result of a successful attempt. */
export interface Acquired {
  /** Monotonic time until which the lock certainly belongs to this client. */
  readonly deadline: number;
  /** The hold count in Redis, if it differs from the expected one. */
  readonly holds: number | undefined;
  /** The fencing token, from locks that have one. */
  readonly token: bigint | undefined;
  /** The values that were found to be lost, from group locks. */
  readonly gone: readonly string[] | undefined;
}

/**
 * The number of replies in a row that come after the end of the lease before an acquisition is given up: it cannot
 * succeed.
 */
const MAX_LATE = 5;
/** A call with a shorter wait (ms) does not give way to others first: its time might end before its first attempt. */
const MIN_WAIT_TO_GIVE_WAY_MS = 100;

/**
 * A lock for one thread, to be acquired once more. A holder may hand the lock over to it.
 *
 * What only locks have is here: the ownership of the thread, the holds it has already, and the hand-over.
 */
export class LockTarget implements Target<Acquired>, Heir {
  /** The lease that each attempt sets, in ms. */
  readonly leaseMs: number;
  readonly waitMs: number;
  readonly queues: boolean;
  readonly count: number;
  readonly ownership: Ownership;
  /** Its kind of lock; a holder hands over with the script of this kind. */
  readonly kind: LockKind;
  readonly acquisition: Acquisition<Acquired>;
  /** Set when it begins to wait in a scope; the lock engine ends it. */
  selfWait: SelfWait | undefined;
  sleptMs = 0;
  readonly #context: LockContext;
  readonly #call: CallingThread;
  #wait: Waiter<Acquired> | undefined;

  /** @param leaseMs - the lease that each attempt sets, in ms */
  constructor(context: LockContext, kind: LockKind, ownership: Ownership, request: AcquireRequest, leaseMs: number) {
    this.#context = context;
    this.#call = request.call;
    this.kind = kind;
    this.ownership = ownership;
    this.count = ownership.holds.length + 1;
    this.leaseMs = leaseMs;
    this.waitMs = request.waitMs;
    this.queues = request.queues;
    this.acquisition = new Acquisition(context, this, request.waitMs, request.queues);
    this.acquisition.trace = request.trace;
  }

  /** Not for a re-entry: the waiters wait for its own thread. */
  get mustQueue(): boolean {
    const { kind, rawName, owner } = this;
    const { subscriptions } = this.#context;
    if (this.count > 1 || kind.newWait !== undefined || subscriptions.idle) return false;
    const channel = kind.channelOf(rawName, owner);
    if (kind.waitOrder === 'fifo' && subscriptions.queue(channel, rawName)?.mustQueue === true) return true;
    return this.waitMs >= MIN_WAIT_TO_GIVE_WAY_MS && subscriptions.turns(channel, rawName)?.givesWay === true;
  }

  get what(): string {
    return `acquire lock '${this.name}'`;
  }

  get key(): string {
    return this.ownership.rawName;
  }

  get name(): string {
    return this.ownership.name;
  }

  get rawName(): string {
    return this.ownership.rawName;
  }

  get threadId(): number {
    return this.ownership.threadId;
  }

  get owner(): string {
    return this.ownership.owner;
  }

  get around(): Scope | undefined {
    return this.#call.around;
  }

  get callSite(): string | undefined {
    return this.acquisition.callSite;
  }

  get releasing(): boolean {
    return this.ownership.releasing;
  }

  get sendRecord(): SendRecord {
    return this.acquisition.sendRecord;
  }

  get repeated(): boolean {
    return this.acquisition.repeated;
  }

  get leftover(): boolean {
    return this.#context.ownerships.isLeftover(this.ownership);
  }

  before(): Promise<void> | undefined {
    return this.ownership.releasing ? this.ownership.whenReleased() : undefined;
  }

  send(): Promise<AcquireReply> {
    return this.kind.attempt(this);
  }

  refused(reply: AcquireReply & { readonly acquired: false }): void {
    // An acquisition that has not joined the queue does not sleep yet: it joins, and attempts once more.
    if (this.#wait !== undefined) {
      if (reply.ttl > this.sleptMs) this.sleptMs = reply.ttl;
      if (reply.unheard === true) this.kind.watch?.unheard(this.rawName);
    }
    const why = 'a re-entry found it with another owner';
    if (this.count > 1) this.#context.ownerships.lose([{ ownership: this.ownership, why }]);
  }

  deadline(sentAt: number): number {
    return confirmedUntil(sentAt, this.leaseMs);
  }

  late(times: number, answerMs: number): boolean {
    if (!this.sendRecord.cancelled) this.undo('doubtful', true);
    if (times < MAX_LATE) return true;
    const why = `its lease of ${this.leaseMs} ms was over each time that Redis answered (${Math.ceil(answerMs)} ms the last time): take a longer lease`;
    throw new LockLostError(this.name, this.threadId, why);
  }

  take({ holds, token, gone }: AcquireReply & { readonly acquired: true }, deadline: number): Acquired {
    return { deadline, holds, token, gone };
  }

  join(): Wait<Acquired> {
    const { kind, name, rawName, owner } = this;
    const { since } = this.#call;
    const { around } = this;
    if (around !== undefined) {
      this.selfWait ??= this.#context.selfWaits.begin(name, rawName, around, since, kind.values && this.ownership);
    }
    if (kind.newWait !== undefined) return kind.newWait(this);
    const order = this.count > 1 ? 'shared' : kind.waitOrder;
    const channel = kind.channelOf(rawName, owner);
    this.#wait = this.#context.subscriptions.join<Acquired>(channel, rawName, kind.wakeRule, order, this);
    kind.watch?.joined(rawName);
    return this.#wait;
  }

  receiveHandOver(acquired: Promise<AcquireReply>, connectionNumber: number): void {
    this.#wait?.wakeWith(this.acquisition.receive(acquired, connectionNumber));
  }

  left(joined: boolean): void {
    const { kind, rawName, owner } = this;
    const { subscriptions } = this.#context;
    if (joined) kind.watch?.left(rawName);
    // Fair locks with the names `x` and `{x}` share one queue in Redis, in which an owner has one place. That place is
    // gone now, although the owner may still wait for the other lock. So the waiter for that lock attempts again.
    if (kind.abandon !== undefined && subscriptions.size > 0)
      subscriptions.wakeOthers(kind.channelOf(rawName, owner), rawName);
  }

  undo(why: Why, taken: boolean, _pending?: Promise<Attempt<Acquired>>, handOver?: Promise<boolean>): void {
    const { ownership, kind, sendRecord: sent, leaseMs, waitMs, acquisition } = this;
    // A late reply does not end its wait, and it keeps its place in a queue.
    const leaves = (why === 'twice' || sent.cancelled) && acquisition.waits && kind.abandon !== undefined;
    if (!taken && !leaves) return;
    const waiter = leaves ? this : undefined;
    const queuedMs = waitMs === Infinity ? this.#context.settings.fairLockWaitTimeout : waitMs;
    undo({ ownership, kind, sent, leaseMs, waiter, waiterOnly: !taken, queuedMs, handOver }, why, this.#context);
  }
}
