import { Alarm } from '../util/Alarm';
import { tellRenewal } from '../util/channels';
import { confirmedUntil, NO_LEASE } from '../util/duration';
import { runOutside } from '../util/outside';
import { afterCallers, DeadlineHeap, laterTurn, settledWithin } from '../util/timing';
import { type Loss, lossOf, type OwnershipTable } from './OwnershipTable';
import type { Charge, Ownership, Renewal, Renewed } from './Ownership';

/** Renewals per watchdog time-out (as in Redisson). */
const RENEWALS_PER_TIMEOUT = 3;
/** Retries of a failed renewal per renewal period, so that several fit into a lease. */
const RETRIES_PER_PERIOD = 4;
/** The longest pause before a failed renewal is retried, in ms. */
const MAX_RETRY_PAUSE_MS = 1_000;
/** Near the end of the lease it is retried after this part of the time that is left ... */
const RETRY_PART = 0.25;
/** ... but not sooner than after this, in ms. */
const MIN_RETRY_PAUSE_MS = 25;
/** The most ownerships that one turn of the event loop checks, sends or reads: a few milliseconds of work. */
const PER_TURN = 1_000;
/** The next ownerships are sent when the replies to those before them are there, or after this long, in ms. */
const MAX_ANSWER_MS = 50;
/** The shortest time between two checks of all holds, in ms: a connection may be lost many times in a second. */
const CHECK_PAUSE_MS = 1_000;
/** A lock whose lease has less than this part left was not renewed by the watchdog thread as it should be. */
export const OVERDUE_PART = 0.6;
const FOUND_GONE = 'the renewal found it gone';

/**
 * The watchdog: one unref'd timer for all locks of a client. It renews locks without a lease in batches, three times
 * per watchdog time-out, and reports a loss as soon as the deadline of an ownership has passed.
 *
 * Invariants: 1. a failed renewal is retried within the lease, whatever the error; 2. an ownership past its deadline is
 * lost, even if Redis still has it: only what Redis has confirmed counts; 3. without holds there is no timer; 4.
 * renewals never send or read all ownerships in one turn of the event loop: {@link inPortions}; 5. what a
 * {@link RenewalThread} renews is renewed here, too, as soon as the thread is late with it or has failed.
 *
 * States: idle -> armed -> (due: losing, renewing) -> armed | idle; closed.
 */
export class Watchdog {
  readonly #table: OwnershipTable;
  readonly #batchSize: number;
  readonly #clientId: string;
  readonly #renewals: Renewals<Ownership>;
  /** All ownerships with holds. */
  readonly #deadlines = new DeadlineHeap<Ownership>();
  /** Ownerships that Redis may have lost, and when they are checked. */
  readonly #doubted = new Set<Ownership>();
  #checkAt = Infinity;
  #checkedAt = -Infinity;
  readonly #alarm = new Alarm(() => this.#due());
  /** When the next work is due; nothing is due before. */
  #dueAt = Infinity;
  /** Whether the alarm is about to be set. */
  #arming = false;
  /** The thread that renews ownerships with `maxStallMs`; `undefined`: this thread renews all. */
  thread: RenewalThread | undefined;
  /**
   * Is told of each ownership that has got its first hold, and has lost its last; set if Redis reports changes of keys.
   */
  follower: { began(ownership: Ownership): void; ended(ownership: Ownership): void } | undefined;

  /**
   * @param batchSize - the most ownerships of one renewal command (`lockWatchdogBatchSize`)
   * @param clientId - for subscribers to renewals
   */
  constructor(table: OwnershipTable, batchSize: number, clientId: string) {
    this.#table = table;
    this.#batchSize = batchSize;
    this.#clientId = clientId;
    this.#renewals = new Renewals({
      batchSize,
      all: () => this.#deadlines.all,
      wanted: (one) => (this.thread === undefined || !this.#renewedElsewhere(one)) && this.giveUpUsed(one),
      send: this.#renew,
      rearm: this.#rearm,
    });
    table.watcher = this;
  }

  /**
   * Does overdue work now. Called after each reply: if the event loop was blocked, a reply may be read before the timer
   * fires, and its caller must not continue with a hold that has expired.
   */
  readonly catchUp = (): void => {
    // The reply belongs to its caller's async context; the overdue work does not.
    if (performance.now() >= this.#dueAt) runOutside(() => this.#due());
  };

  /** Renews all ownerships as soon as possible, and not when it is their time. */
  renewNow(): void {
    this.#renewals.renewNow();
  }

  /**
   * Redis may have lost what it had for some keys (a reconnect, a failover, a moved slot): checks whether the holds are
   * still there, also those with a lease. It prolongs no lease. It checks at once, but not more than once a second.
   */
  readonly check = (concerns: (key: string) => boolean): void => {
    for (const one of this.#deadlines.all) if (concerns(one.rawName)) this.#doubted.add(one);
    this.#checkBy(this.#checkedAt + CHECK_PAUSE_MS);
  };

  /** As {@link check}, at once: Redis has reported that these have changed. */
  doubt(ownerships: Iterable<Ownership>): void {
    for (const one of ownerships) this.#doubted.add(one);
    this.#checkBy(0);
  }

  #checkBy(at: number): void {
    if (this.#doubted.size === 0) return;
    this.#checkAt = Math.min(this.#checkAt, at);
    if (this.#checkAt <= performance.now()) runOutside(() => this.#check());
    else this.#rearm();
  }

  #check(): void {
    const doubted = [...this.#doubted];
    this.#doubted.clear();
    this.#checkAt = Infinity;
    this.#checkedAt = performance.now();
    // What is passed on is checked by the command with which Redis gets to know it.
    const isHeld = ({ holds, lane }: Ownership): boolean => holds.length > 0 && lane.relay === undefined;
    void inPortions(doubted, this.#batchSize, isHeld, async (batch) => {
      try {
        await this.#ask(
          batch,
          0,
          'a check found it gone (its key was reported as changed, or its connection or master was lost)',
        );
      } catch {
        // Whatever the reason: a lease still ends at its deadline.
        for (const one of batch) if (isHeld(one)) this.#doubted.add(one);
        this.#checkBy(performance.now() + CHECK_PAUSE_MS);
      }
    });
  }

  /** The thread could not renew some ownerships: they are renewed here. */
  failedInThread(ownerships: readonly Ownership[], failure: Error): void {
    this.#renewals.failed(ownerships, failure, 0);
  }

  /** See `OwnershipTable.watcher`. */
  changed(ownership: Ownership): void {
    this.thread?.changed(ownership);
    if (ownership.heapIndex < 0) this.follower?.began(ownership);
    this.#deadlines.place(ownership);
    const dueAt = Math.min(ownership.deadline, this.#renewals.place(ownership, ownership.watchdogMs));
    if (dueAt < this.#dueAt) this.#arm(dueAt);
  }

  /** See `OwnershipTable.watcher`. */
  ended(ownership: Ownership): void {
    this.thread?.ended(ownership);
    this.follower?.ended(ownership);
    this.#deadlines.delete(ownership);
    this.#doubted.delete(ownership);
    this.#renewals.place(ownership, 0);
    ownership.failure = undefined;
    // One that is taken again must not wait for the reply to a renewal from before.
    ownership.renewing = undefined;
    if (this.#deadlines.first === undefined) this.#rest();
  }

  /** Nothing is due. */
  #rest(): void {
    this.#dueAt = Infinity;
    this.#alarm.off();
  }

  /**
   * Sets when it is due. Its timer follows when the callers whose promises have just been settled have continued: none
   * of them waits for that, and a lock that one of them releases at once needs no timer.
   */
  #arm(dueAt: number): void {
    this.#dueAt = dueAt;
    if (this.#arming) return;
    this.#arming = true;
    afterCallers(this.#setAlarm);
  }

  readonly #setAlarm = (): void => {
    this.#arming = false;
    if (this.#dueAt < Infinity) this.#alarm.set(this.#dueAt);
  };

  #due(): void {
    const now = performance.now();
    // A listener to a loss may check other holds, and so call this method again.
    this.#dueAt = Infinity;
    this.thread?.receive();
    this.#expire(now);
    if (this.#checkAt <= now) this.#check();
    this.#renewals.run(now);
  }

  readonly #rearm = (): void => {
    const { first } = this.#deadlines;
    if (first === undefined) this.#rest();
    else this.#arm(Math.min(this.#checkAt, first.deadline, this.#renewals.nextAt));
  };

  /** Marks every ownership whose deadline has passed as lost. */
  #expire(now: number): void {
    let one = this.#deadlines.first;
    if (one === undefined || one.deadline > now) return;
    const losses: Loss[] = [];
    for (; one !== undefined && one.deadline <= now; one = this.#deadlines.first) {
      this.#deadlines.delete(one);
      if (this.#table.isCovered(one, now)) this.#deadlines.place(one);
      else losses.push(lossOf(one));
    }
    this.#table.lose(losses);
  }

  /** Whether the watchdog thread renews it, and is not late. */
  #renewedElsewhere({ failure, deadline, maxStallMs, watchdogMs }: Ownership): boolean {
    if (failure !== undefined || maxStallMs === 0) return false;
    return deadline - performance.now() > watchdogMs * OVERDUE_PART;
  }

  /** Gives up the holds whose renewals are used up. @returns whether there is a hold left to renew */
  giveUpUsed(ownership: Ownership): boolean {
    for (const hold of ownership.holds) {
      const { leaseMs, maxRenewals, renewals } = hold;
      if (leaseMs !== NO_LEASE || maxRenewals === 0 || renewals < maxRenewals) continue;
      const why = `it was renewed ${renewals} times, which is its limit (maxRenewTimes)`;
      this.#table.lose([{ ownership, holds: [hold], why, options: { cause: new Error(why) }, how: 'givenUp' }]);
    }
    return ownership.watchdogMs > 0;
  }

  readonly #renew = async (batch: readonly Ownership[], watchdogMs: number): Promise<void> => {
    const sentAt = performance.now();
    let failure: Error | undefined;
    try {
      await this.#ask(batch, watchdogMs, FOUND_GONE);
      if (this.thread !== undefined) for (const one of batch) this.thread.changed(one);
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw failure;
    } finally {
      tellRenewal(this.#clientId, batch.length, sentAt, failure);
    }
  };

  /**
   * Sends one renewal, or one check, and reports what is lost.
   * @param leaseMs - 0: a check
   * @param why - what is gone is lost
   */
  async #ask(batch: readonly Ownership[], leaseMs: number, why: string): Promise<void> {
    const sentAt = performance.now();
    const alive = await batch[0]!.renewal.renew(batch, leaseMs);
    this.answered(batch, alive, sentAt, leaseMs, why);
  }

  /**
   * Redis has answered a renewal, be it one of the thread, or a check.
   * @param sentAt - monotonic time just before it was sent
   * @param leaseMs - the lease that what is still held has from then on; 0: a check, which sets none
   */
  answered(
    asked: readonly Ownership[],
    alive: readonly Renewed[],
    sentAt: number,
    leaseMs: number,
    why = FOUND_GONE,
  ): void {
    const losses: Loss[] = [];
    asked.forEach((ownership, i) => {
      // Released meanwhile, and perhaps acquired again: the reply concerns holds that no longer exist.
      if (ownership.holds.length === 0 || ownership.holds[0]!.since > sentAt) return;
      const found = alive[i];
      if (found !== true) {
        const gone = typeof found === 'object' ? found : undefined;
        losses.push({ ownership, why: `${why} (expired, deleted, or Redis lost it)`, gone });
      } else if (leaseMs > 0) this.#renewed(ownership, sentAt, confirmedUntil(sentAt, leaseMs));
    });
    if (losses.length > 0) this.#table.lose(losses);
  }

  #renewed(ownership: Ownership, sentAt: number, deadline: number): void {
    ownership.failure = undefined;
    ownership.answeredAt = performance.now();
    // Otherwise the last hold without a lease was released meanwhile, and that release set a shorter lease after this
    // renewal.
    if (ownership.watchdogMs > 0 && deadline > ownership.deadline) {
      ownership.deadline = deadline;
      this.#deadlines.place(ownership);
    }
    for (const hold of ownership.holds) if (hold.since <= sentAt) hold.renewals++;
  }
}

/** A thread that renews ownerships for the watchdog of the main thread. */
export interface RenewalThread {
  /** The holds or the deadline of an ownership have changed. The thread knows before the caller of the lock goes on. */
  changed(ownership: Ownership): void;
  /** An ownership has no holds any more. */
  ended(ownership: Ownership): void;
  /** Handles what the thread has reported, now: the event loop may have been blocked since. */
  receive(): void;
  /**
   * Resolves when the last renewal of an ownership that the thread no longer renews has ended; `undefined` if none is
   * under way. The thread has its own connection, so such a renewal may run after a later command of this one.
   */
  settled(ownership: Ownership): Promise<void> | undefined;
  /** Ends the thread and its connection. */
  close(): Promise<void>;
}

/** Starts the thread of a client. */
export interface ThreadStart {
  /** How long it renews a lock by default, in ms: `maxStall` of the setting; 0: it does not. */
  readonly maxStallMs: number;
  /** Starts it, unless it was started before. */
  use(): void;
  /** @throws ConfigError if the client's connection cannot be given to a thread */
  check(): void;
}

/** Charges with the same watchdog time-out, renewed together. */
interface Schedule<T> {
  /** How many there are. Which is not kept: they enter and leave with each lock, see `ChurnedMap`. */
  charges: number;
  /** Monotonic time of the next renewal; not used while the schedule is empty. */
  nextAt: number;
  /** Those whose last renewal failed. */
  readonly failed: Set<T>;
  /**
   * Monotonic time at which {@link failed} ones are retried; `Infinity` while there are none, or while a retry is under
   * way.
   */
  retryAt: number;
}

/** Who renews. */
export interface Renewer<T> {
  /** The most ownerships of one renewal command (`lockWatchdogBatchSize`). */
  readonly batchSize: number;
  /** All charges. */
  all(): Iterable<T>;
  /** Whether to renew one now; asked again just before it is sent. */
  wanted(charge: T): boolean;
  /** Sends one command. It rejects if the batch is to be retried. */
  send(batch: readonly T[], watchdogMs: number): Promise<void>;
  /** {@link Renewals.nextAt} may have changed. */
  rearm(): void;
}

/**
 * When what is renewed, in which batches: three times per watchdog time-out, and sooner where a renewal failed. The
 * watchdog has one, and so has its thread; each has a timer of its own.
 */
export class Renewals<T extends Charge> {
  readonly #renewer: Renewer<T>;
  readonly #schedules = new Map<number, Schedule<T>>();

  constructor(renewer: Renewer<T>) {
    this.#renewer = renewer;
  }

  /** Monotonic time at which {@link run} has work; `Infinity`: never. */
  get nextAt(): number {
    let at = Infinity;
    for (const { charges, nextAt, retryAt } of this.#schedules.values()) {
      if (charges > 0) at = Math.min(at, nextAt, retryAt);
    }
    return at;
  }

  /** Renews it every third of this time; 0: not any more. @returns monotonic time of its next regular renewal */
  place(charge: T, watchdogMs: number): number {
    let schedule = this.#schedules.get(watchdogMs);
    if (charge.renewalMs === watchdogMs) return schedule?.nextAt ?? Infinity;
    const before = this.#schedules.get(charge.renewalMs);
    if (before !== undefined && --before.charges === 0) before.failed.clear();
    charge.renewalMs = watchdogMs;
    if (watchdogMs === 0) return Infinity;
    if (schedule === undefined) {
      schedule = { charges: 0, nextAt: 0, failed: new Set(), retryAt: Infinity };
      this.#schedules.set(watchdogMs, schedule);
    }
    // The first one starts the schedule; an empty schedule stays idle.
    if (schedule.charges === 0) {
      schedule.nextAt = performance.now() + watchdogMs / RENEWALS_PER_TIMEOUT;
      schedule.retryAt = Infinity;
    }
    schedule.charges++;
    return schedule.nextAt;
  }

  /** Renews all as soon as possible, and not when it is their time. */
  renewNow(): void {
    for (const schedule of this.#schedules.values()) schedule.nextAt = 0;
    this.#renewer.rearm();
  }

  /** Their renewal failed: they are retried after the usual pause, or after this one, in ms. */
  failed(charges: readonly T[], failure: Error, pauseMs?: number): void {
    for (const charge of charges) {
      const schedule = this.#schedules.get(charge.renewalMs);
      if (schedule === undefined) continue;
      charge.failure = failure;
      schedule.failed.add(charge);
      const now = performance.now();
      schedule.retryAt = Math.min(schedule.retryAt, now + (pauseMs ?? retryPause(charge, now)));
    }
    this.#renewer.rearm();
  }

  /** Sends what is due, and has the alarm set for what follows. */
  run(now: number): void {
    for (const [watchdogMs, schedule] of this.#schedules) {
      const { charges, nextAt, retryAt } = schedule;
      if (charges === 0 || (nextAt > now && retryAt > now)) continue;
      let due = [...schedule.failed].filter(({ failure }) => failure !== undefined);
      schedule.failed.clear();
      schedule.retryAt = Infinity;
      if (nextAt <= now) {
        schedule.nextAt = now + watchdogMs / RENEWALS_PER_TIMEOUT;
        due = [...this.#renewer.all()].filter(({ renewalMs }) => renewalMs === watchdogMs);
      }
      void this.#renew(watchdogMs, due);
    }
    this.#renewer.rearm();
  }

  #renew(watchdogMs: number, charges: readonly T[]): Promise<void> {
    const { batchSize } = this.#renewer;
    // The longest wait for the replies before the next batches are sent: a server that hangs must not delay the others.
    const pauseMs = Math.min(MAX_ANSWER_MS, (watchdogMs * PER_TURN) / (12 * charges.length));
    const due = (one: T): boolean =>
      one.renewing === undefined && one.renewalMs === watchdogMs && this.#renewer.wanted(one);
    return inPortions(charges, batchSize, due, (batch) => this.#renewBatch(batch, watchdogMs), pauseMs);
  }

  async #renewBatch(batch: readonly T[], watchdogMs: number): Promise<void> {
    for (const charge of batch) charge.renewing = batch;
    let failure: Error | undefined;
    try {
      await this.#renewer.send(batch, watchdogMs);
    } catch (error) {
      failure = error as Error;
    }
    // Of one that was given back meanwhile, and taken again, it says nothing.
    const own = batch.filter(({ renewing }) => renewing === batch);
    for (const charge of own) charge.renewing = undefined;
    if (failure === undefined) this.#renewer.rearm();
    else this.failed(own, failure);
  }
}

/**
 * Sends charges in batches, a part at a time: writing or reading all of them at once would block the event loop.
 * @param wanted - whether to send one; asked again just before
 * @param pauseMs - the longest wait for the replies to one part, in ms
 */
export async function inPortions<T extends Charge>(
  charges: readonly T[],
  batchSize: number,
  wanted: (charge: T) => boolean,
  send: (batch: readonly T[]) => Promise<void>,
  pauseMs = MAX_ANSWER_MS,
): Promise<void> {
  /** By renewal and slot: the batch that has room, and how much. */
  const open = new Map<Renewal, Map<string | number, { readonly batch: T[]; room: number }>>();
  const batches: T[][] = [];
  for (let i = 0; i < charges.length; i++) {
    if (i > 0 && i % PER_TURN === 0) await laterTurn();
    const charge = charges[i]!;
    if (!wanted(charge)) continue;
    const { renewal } = charge;
    let slots = open.get(renewal);
    if (slots === undefined) open.set(renewal, (slots = new Map<string | number, { batch: T[]; room: number }>()));
    const slot = renewal.batchOf(charge);
    let last = slots.get(slot);
    // One that is larger than a batch has one of its own.
    if (last === undefined || last.room < sizeOf(charge)) {
      slots.set(slot, (last = { batch: [], room: batchSize }));
      batches.push(last.batch);
    }
    last.batch.push(charge);
    last.room -= sizeOf(charge);
  }
  let sent: Promise<void>[] = [];
  let count = 0;
  for (const part of batches) {
    if (count >= PER_TURN) {
      await settledWithin(sent, pauseMs);
      sent = [];
      count = 0;
    }
    const batch = part.filter(wanted);
    if (batch.length > 0) sent.push(send(batch));
    for (const charge of batch) count += sizeOf(charge);
  }
}

/** How much a renewal of it sends: each value of a group counts like a lock. */
function sizeOf({ values }: Charge): number {
  return values?.fields.length ?? 1;
}

/** The pause before a failed renewal is retried, in ms. */
function retryPause({ renewalMs, deadline }: Charge, now: number): number {
  const usual = Math.min(MAX_RETRY_PAUSE_MS, renewalMs / RENEWALS_PER_TIMEOUT / RETRIES_PER_PERIOD);
  return Math.min(usual, Math.max(MIN_RETRY_PAUSE_MS, (deadline - now) * RETRY_PART));
}
