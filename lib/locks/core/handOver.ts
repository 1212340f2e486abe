import pDefer, { type DeferredPromise } from 'p-defer';
import { AsyncResource } from 'node:async_hooks';
import { endsUndo, type Why } from '../../acquire/Rollback';
import { newCleanupRecord, newSendRecord, type SendRecord } from '../../connection/pending/CommandExecutor';
import { CommandError, NoSyncedReplicasError, ShutdownError } from '../../errors';
import type { Heir, LockKind, ReleaseRequest } from '../../kinds/Kind';
import { ACQUIRED, HANDED, NOT_HELD, type ReleaseReply } from '../../scripts/replies';
import { NOTICE_MS } from '../../scripts/shortenLease';
import { afterCallers } from '../../util/timing';
import type { Turns } from '../../waiters/Turns';
import type { WaitQueue } from '../../waiters/WaitQueue';
import type { Passing } from '../../watchdog/Lane';
import { confirmedUntil } from '../../util/duration';
import type { Ownership } from '../../watchdog/Ownership';
import type { LockContext } from './LockContext';
import { acquiredBy, undo } from './LockTarget';

/** A lock with less of its lease left is not passed on before Redis knows, in ms. */
const MIN_LEASE_MS = 500;
/**
 * Nor is a lock whose last confirmation was requested longer ago than this and a round trip, in ms: it may have been
 * deleted meanwhile.
 */
const MAX_AGE_MS = 25;
/** The most that counts as a round trip, in ms: a server may hang. */
const MAX_ROUND_TRIP_MS = 100;
/** First pause before a command that has failed for good is sent again, in ms; it doubles. */
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 1_000;
/** The most pairs of values that are compared. */
const MAX_COMPARED = 100;
/** A hand-over passes one hold on: its release leaves none. */
const FREE: Pick<ReleaseRequest, 'leaves'> = { leaves: () => ({ left: 0, remainingMs: 0 }) };

/**
 * Releases with one command: a plain unlock, or a hand-over to the next waiter of this process, the heir.
 * @param kind - the kind of the lock that is released
 * @param deadline - monotonic time until which Redis would have kept the lock; `Infinity` if unknown
 * @throws what the kind's release throws
 */
export function releaseOrHandOver(
  context: LockContext,
  kind: LockKind,
  request: ReleaseRequest,
  deadline: number,
): Promise<ReleaseReply> {
  const { subscriptions, settings } = context;
  const { ownership } = request;
  const { relay } = ownership.lane;
  if (relay !== undefined) return (relay as Relay).release(request);
  // A kind with a queue in Redis has its own order. A thread that has read under its own write lock still reads.
  const mayHandOver = request.leaves().left === 0 && !subscriptions.idle && kind.abandon === undefined;
  const writes = kind.half === 'read' && context.ownerships.writerOf(ownership) !== undefined;
  if (!mayHandOver || writes) return kind.release(request);
  const { rawName, waitKey, owner, confirmedAt } = ownership;
  const channel = kind.channelOf(rawName, owner);
  const queue = subscriptions.queue(channel, waitKey);
  const turns = queue?.turns ?? subscriptions.turns(channel, waitKey);
  if (turns === undefined) return kind.release(request);
  const heir = findHeir(context, queue, turns, request.ownership, deadline);
  if (heir !== undefined) {
    if (settings.localHandOver && mayPass(kind, turns, heir, deadline, confirmedAt)) {
      return new Relay(context, kind, turns, request, heir).begin(request, heir);
    }
    turns.handedOver(deadline);
    const sentAt = performance.now();
    const released = heir.kind.handOver!(request, heir);
    heir.receiveHandOver(released.then(acquiredBy), request.sendRecord.connectionNumber);
    return released.then(
      (reply) => {
        turns.answered(sentAt);
        undoPart(reply, heir, request.sendRecord, context);
        return reply;
      },
      (error: unknown) => handOverFailed(error, kind, turns, request),
    );
  }
  return releaseToAll(kind, turns, request);
}

/**
 * The answer to the holder when its hand-over has failed. If no replica confirmed it, the hand-over took place all
 * the same: the heir gets that error, and rolls its acquisition back. If Redis refused it (no memory for another
 * owner, a token that is not a number), a plain release follows, which needs no memory; the heir keeps waiting.
 */
function handOverFailed(
  error: unknown,
  kind: LockKind,
  turns: Turns,
  request: ReleaseRequest,
): ReleaseReply | Promise<ReleaseReply> {
  if (error instanceof NoSyncedReplicasError) return HANDED;
  // A server that refuses a hand-over would refuse a plain release, too, and the executor has retried for long
  // enough; except for what only a hand-over needs: memory, and a key for tokens.
  if (!(error instanceof CommandError) || !(error.mayHaveRun || HAND_OVER_ALONE.has(error.reply))) throw error;
  return releaseToAll(kind, turns, request);
}

const HAND_OVER_ALONE = new Set(['OOM', 'WRONGTYPE']);

/** A lock may be free without a message: the waiters of this process attempt, whichever of its values they want. */
export function wakeWaiters({ subscriptions }: LockContext, kind: LockKind, { rawName, owner }: Ownership): void {
  subscriptions.wakeOn(kind.channelOf(rawName, owner), (other) => other === rawName);
}

/**
 * The waiter of this process that gets the lock without a message: the sleeping head of the FIFO queue, a limited
 * number of times in a row.
 */
function findHeir(
  { ownerships, settings }: LockContext,
  queue: WaitQueue<Heir> | undefined,
  turns: Turns,
  from: Ownership,
  deadline: number,
): Heir | undefined {
  const heir = queue?.heir;
  if (queue === undefined || heir?.kind.handOver === undefined) return undefined;
  // There may be more readers than one. Between two writers there is a chance for readers of other processes, unless
  // they are to wait for the whole turn.
  if (from.kind === 'read' || (from.kind === 'write' && !settings.localHandOver)) return undefined;
  // Every queue guarantees the same key. It is checked all the same: the heir's script writes to the heir's key, and
  // with another key there would be two holders. Kinds that share key and channel (plain, fenced, non-reentrant, spin)
  // may hand over to one another.
  const { waitKey, owner, lane, overlaps } = heir.ownership;
  if (waitKey !== from.waitKey || owner === from.owner) return undefined;
  // Redis has one count of a value for all sets of a thread.
  if (overlaps || from.overlaps) return undefined;
  // A release of the heir's thread may be sent again, and would then release what is handed over.
  if (lane.mustWait('heir')) return undefined;
  // A writer that reads, too, reads on. An heir whose read is under way would wait for itself.
  const reads = (one: Ownership): boolean => ownerships.otherHalf(one)?.unused === false;
  if (reads(from) || reads(heir.ownership)) return undefined;
  const now = performance.now();
  if (!turns.mayHandOver(now, settings.maxHandOvers)) return undefined;
  // Waiters of other processes sleep until the latest deadline of this turn, and only an unlock would notify them of a
  // lease that ends sooner.
  if (turns.toldUntil(deadline) - now - heir.leaseMs > NOTICE_MS) return undefined;
  // Last: it reads every queue of a group.
  return passesOthers(queue) ? undefined : heir;
}

/**
 * For a group lock: whether a hand-over would pass a caller of this process that has waited longer, for some of the
 * values and others: that caller needs all of them free at the same time. Large sets count as if they shared a value,
 * since each unlock checks this.
 */
function passesOthers({ subscription, head }: WaitQueue<Heir>): boolean {
  const fields = head?.heir?.ownership.values?.fields;
  if (fields === undefined) return false;
  for (const { first } of subscription.queues.values()) {
    const others = first === head ? undefined : first?.heir?.ownership.values?.fields;
    if (others === undefined || first!.joinedAt > head!.joinedAt) continue;
    if (fields.length * others.length > MAX_COMPARED || fields.some((field) => others.includes(field))) return true;
  }
  return false;
}

/** Some values of the set were gone, and an earlier send may have given the others to the heir, which does not know. */
function undoPart(
  reply: ReleaseReply,
  { ownership, kind, leaseMs }: Heir,
  sent: SendRecord,
  context: LockContext,
): void {
  if (reply.kind === 'notHeld' && reply.gone) undo({ ownership, kind, sent, leaseMs }, 'released', context);
}

/** Whether a lock may be passed on to the next waiter before Redis knows. Times are monotonic. */
function mayPass(kind: LockKind, turns: Turns, heir: Heir, deadline: number, confirmedAt = -Infinity): boolean {
  const now = performance.now();
  if (!kind.passesOn || !heir.kind.passesOn || heir.leaseMs < MIN_LEASE_MS) return false;
  const { roundTripMs } = turns;
  const maxAgeMs = MAX_AGE_MS + (roundTripMs === Infinity ? 0 : Math.min(roundTripMs, MAX_ROUND_TRIP_MS));
  return deadline - now >= MIN_LEASE_MS && now - confirmedAt <= maxAgeMs;
}

/** A release with a message: it notifies every waiting process, and this process gives way to the others. */
async function releaseToAll(kind: LockKind, turns: Turns, request: ReleaseRequest): Promise<ReleaseReply> {
  turns.releasing();
  let receivers = 0;
  try {
    const reply = await kind.release(request);
    if (reply.kind === 'released') receivers = reply.receivers;
    else if (reply.kind === 'kept') receivers = -1;
    return reply;
  } finally {
    turns.released(receivers);
  }
}

/** A former holder: Redis may still have it on record, or may never have had it. */
interface Part {
  readonly ownership: Ownership;
  /** Its `unlock()`. `undefined` if its caller was gone when it got the lock. */
  readonly answer?: DeferredPromise<ReleaseReply>;
}

/**
 * Passes a lock on among the waiters of this process before Redis knows (`localHandOver`).
 *
 * Redis has the lock under the name of one thread of this process, `#wire`, while another one has it here: the holder.
 * No other owner can get it while the lease that Redis has confirmed lasts, so the holder counts on that lease alone,
 * until Redis has confirmed its own. One command at a time moves the lock in Redis, from the thread on record to the
 * holder of that moment. It covers all who had the lock in between, and their `unlock()` resolves with it.
 *
 * 1. There is one command under way at most, and nothing else names a thread of a relay: each counts as releasing until
 *    Redis is known not to have it on record, or to have it rightly. So a thread comes once, and there is no circle.
 * 2. A command whose outcome is unknown is repeated unchanged, until it is answered or the lease has ended. A thread
 *    that gave the lock back does not get it again, whatever became of the command.
 * 3. With no holder left, the callers whose `unlock()` resolves call again first; then the next waiter gets the lock,
 *    or it is released.
 *
 * States: moving (a command is under way) <-> pausing (it has failed) -> choosing (no holder) -> moving | releasing ->
 * over; moving -> over (the holder is on record, or the lock is gone).
 */
class Relay implements Passing {
  /** Monotonic time until which Redis keeps the lock, whatever becomes of the command under way. */
  deadline: number;
  readonly #context: LockContext;
  readonly #kind: LockKind;
  readonly #turns: Turns;
  readonly #resource = new AsyncResource('ioredisson.relay');
  /** The owner in Redis, as far as it is known, and the one to whom the command under way moves the lock. */
  #wire: Ownership;
  #to: Heir;
  #holder: Heir | undefined;
  #confirmedAt: number | undefined;
  /** The threads that have given it back. The command under way covers this many of them; the others came since. */
  readonly #parts: Part[] = [];
  #covered = 0;
  #pauseMs = FIRST_PAUSE_MS;

  /** The holder, whose lock Redis has confirmed, passes it on. @param request - its release */
  constructor(context: LockContext, kind: LockKind, turns: Turns, { ownership }: ReleaseRequest, heir: Heir) {
    this.#context = context;
    this.#kind = kind;
    this.#turns = turns;
    this.#wire = ownership;
    this.#to = heir;
    this.#confirmedAt = ownership.confirmedAt;
    this.deadline = ownership.deadline;
    turns.beginRelay();
  }

  /** The first hand-over. @returns the reply to its release */
  begin(request: ReleaseRequest, heir: Heir): Promise<ReleaseReply> {
    this.#join(request.ownership);
    const reply = this.#add(request);
    this.#pass(heir);
    this.#send(heir);
    return reply;
  }

  /** The holder gives the lock back. */
  release(request: ReleaseRequest): Promise<ReleaseReply> {
    const reply = this.#add(request);
    this.#passOn();
    return reply;
  }

  drop(heir: Heir): boolean {
    if (this.#holder !== heir) return false;
    this.#parts.push({ ownership: heir.ownership });
    this.#passOn();
    return true;
  }

  #add({ ownership, sendRecord }: ReleaseRequest): Promise<ReleaseReply> {
    const answer = pDefer<ReleaseReply>();
    // It is never sent by that name: if it fails there is nothing to undo for the caller.
    sendRecord.cancelled = true;
    this.#parts.push({ ownership, answer });
    return answer.promise;
  }

  /** No command may name the owner from now on. */
  #join(ownership: Ownership): void {
    ownership.lane.join(this);
  }

  #leave(ownership: Ownership): void {
    ownership.lane.leave(this);
    this.#context.ownerships.tidy(ownership);
  }

  #passOn(): void {
    this.#holder = undefined;
    const heir = this.#next();
    if (heir !== undefined) this.#pass(heir);
  }

  get #queue(): WaitQueue<Heir> | undefined {
    const { rawName, waitKey, owner } = this.#wire;
    return this.#context.subscriptions.queue(this.#kind.channelOf(rawName, owner), waitKey);
  }

  #next(): Heir | undefined {
    const heir = findHeir(this.#context, this.#queue, this.#turns, this.#wire, this.deadline);
    return heir !== undefined && mayPass(this.#kind, this.#turns, heir, this.deadline, this.#confirmedAt)
      ? heir
      : undefined;
  }

  #pass(heir: Heir): void {
    this.#turns.handedOver(this.deadline);
    this.#holder = heir;
    this.#join(heir.ownership);
    heir.receiveHandOver(Promise.resolve(ACQUIRED), this.#context.executor.connectionNumber);
  }

  /** Moves the lock in Redis to the holder. */
  #send(holder: Heir): void {
    this.#to = holder;
    this.#covered = this.#parts.length;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#move();
  }

  #move(): void {
    const { leaseMs, kind } = this.#to;
    const sendRecord = newSendRecord();
    const sentAt = performance.now();
    this.deadline = Math.min(this.deadline, confirmedUntil(sentAt, leaseMs));
    kind.handOver!({ ownership: this.#wire, ...FREE, sendRecord }, this.#to).then(
      (reply) => {
        if (reply.kind === 'handed') return this.#moved(sentAt, sendRecord);
        this.#gone(sendRecord.sends > 1 ? HANDED : reply);
        undoPart(reply, this.#to, sendRecord, this.#context);
      },
      (error: unknown) => this.#failed(error, sendRecord),
    );
  }

  #moved(sentAt: number, sent: SendRecord): void {
    this.#turns.answered(sentAt);
    this.#confirmedAt = sentAt;
    this.deadline = confirmedUntil(sentAt, this.#to.leaseMs);
    // A copy of the command may still run, should its former owner be on record again by then.
    if (sent.onManyConnections) this.#undo(this.#to.ownership, 'twice', sent);
    this.#goOn();
  }

  /** The lock is with {@link #to} in Redis. */
  #goOn(): void {
    this.#wire = this.#to.ownership;
    this.#settle(HANDED, this.#covered);
    const holder = this.#holder;
    if (holder?.ownership.holds.length === 0 && !holder.ownership.lane.claimed) {
      // A lost hold counts as one that was given back.
      this.#parts.push({ ownership: holder.ownership });
      this.#holder = undefined;
    } else if (holder === this.#to) return this.#end(holder);
    else if (holder !== undefined) return this.#send(holder);
    behindCallers(() => this.#resource.runInAsyncScope(() => this.#choose()));
  }

  /** The holder is on record: from now on its lock is like any other. */
  #end({ ownership }: Heir): void {
    const { ownerships } = this.#context;
    ownership.confirmedAt = this.#confirmedAt;
    this.#leave(ownership);
    if (ownership.holds.length > 0) {
      ownerships.confirm(ownership, Math.min(ownership.leaseEnd, this.deadline));
      ownerships.update(ownership);
    }
    this.#endBehindCallers(false);
  }

  #endBehindCallers(free: boolean): void {
    behindCallers(() => this.#turns.endRelay(free));
  }

  #choose(): void {
    const heir = this.#next();
    if (heir === undefined) return void this.#release();
    this.#pass(heir);
    this.#send(heir);
  }

  async #release(): Promise<void> {
    const sendRecord = newSendRecord();
    const turns = this.#queue?.turns ?? this.#turns;
    let free = true;
    try {
      const released = releaseToAll(this.#kind, turns, { ownership: this.#wire, ...FREE, sendRecord });
      this.#covered = this.#parts.length;
      const reply = await released;
      free = this.#queue === undefined;
      if (sendRecord.unconfirmed === true) this.#undo(this.#wire, 'unconfirmed', sendRecord);
      this.#settle(reply.kind === 'notHeld' && sendRecord.sends > 1 ? HANDED : reply, this.#covered);
    } catch (error) {
      if (!endsUndo(error)) this.#undo(this.#wire, 'released', sendRecord);
      this.#settle(error as Error, this.#covered);
    }
    this.#endBehindCallers(free);
  }

  /**
   * Neither owner has it in Redis: it was taken away from outside.
   * @param reply - to the threads that the command covers
   */
  #gone(reply: ReleaseReply): void {
    const { ownerships } = this.#context;
    this.#settle(reply, this.#covered);
    this.#settle(NOT_HELD);
    const holder = this.#holder?.ownership;
    if (holder !== undefined) {
      const lose = (): void =>
        ownerships.lose([
          { ownership: holder, why: 'the hand-over found it gone (expired or deleted)', how: 'released' },
        ]);
      const turn = holder.lane.turn('undo');
      if (turn === undefined) lose();
      else void turn.then(lose);
      this.#leave(holder);
    }
    this.#stop();
  }

  #failed(error: unknown, sent: SendRecord): void {
    if (error instanceof NoSyncedReplicasError) {
      // The command ran. A holder that has the lock by this command alone loses it; the next command is confirmed by
      // itself.
      if (this.#holder === this.#to) this.#loseHolder(error);
      return this.#goOn();
    }
    for (const { answer } of this.#parts) answer?.reject(error);
    if (!endsUndo(error) && performance.now() < this.deadline) {
      const timer = setTimeout(() => this.#resource.runInAsyncScope(() => this.#move()), this.#pauseMs);
      timer.unref();
      this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
      return;
    }
    if (error instanceof ShutdownError) {
      // What was given back is taken back, as the last commands. What is held is left to expire.
      if (this.#holder === undefined) void this.#releaseBoth();
    } else {
      this.#loseHolder(error);
      // The former owner first: the command may run between the two.
      for (const one of [this.#wire, this.#to.ownership]) this.#undo(one, 'doubtful', sent);
    }
    this.#settle(error as Error);
    if (this.#holder !== undefined) this.#leave(this.#holder.ownership);
    this.#stop();
  }

  async #releaseBoth(): Promise<void> {
    const release = (ownership: Ownership): Promise<unknown> =>
      this.#kind.release({ ownership, ...FREE, sendRecord: newCleanupRecord() });
    await Promise.allSettled([this.#wire, this.#to.ownership].map(release));
  }

  #loseHolder(cause: unknown): void {
    if (this.#holder === undefined) return;
    const why = 'the command that reports its hand-over to Redis failed';
    this.#context.ownerships.lose([{ ownership: this.#holder.ownership, why, options: { cause } }]);
  }

  #undo(ownership: Ownership, why: Why, sent: SendRecord): void {
    const { lockWatchdogTimeout } = this.#context.settings;
    const leaseMs = Math.max(lockWatchdogTimeout, this.#to.leaseMs, this.deadline - performance.now());
    undo({ ownership, kind: this.#kind, sent, leaseMs }, why, this.#context);
  }

  /** Answers the first `count` threads that gave the lock back; a reply after an error changes nothing for them. */
  #settle(outcome: ReleaseReply | Error, count = this.#parts.length): void {
    for (const { ownership, answer } of this.#parts.splice(0, count)) {
      if (outcome instanceof Error) answer?.reject(outcome);
      else answer?.resolve(outcome);
      this.#leave(ownership);
    }
  }

  #stop(): void {
    this.#endBehindCallers(false);
    wakeWaiters(this.#context, this.#kind, this.#wire);
  }
}

/**
 * Runs behind callers whose `unlock()` has just resolved together, and that may want the lock again: they find that
 * they have to queue. Otherwise each of them would attempt on its own.
 */
function behindCallers(work: () => void): void {
  afterCallers(() => afterCallers(work));
}
