import { tellRenewal } from '../util/channels';
import { DeadlineHeap } from '../util/DeadlineHeap';
import { clampTimer } from '../util/duration';
import { runOutside } from '../util/outside';
import { afterCallers, laterTurn, settledWithin } from '../util/timing';
import { type Loss, lossOf } from './losses';
import {
  confirmedUntil,
  type Hold,
  newSchedule,
  type Ownership,
  type Renewal,
  type RenewalSchedule,
} from './Ownership';
import type { OwnershipTable } from './OwnershipTable';
import type { RenewalThread } from './RenewalThread';

/** Renewals per watchdog time-out (as in Redisson). */
const RENEWALS_PER_TIMEOUT = 3;
/** Retries of a failed renewal per renewal period, so that several fit into a lease. */
const RETRIES_PER_PERIOD = 4;
/** The longest pause before a failed renewal is retried, in ms. */
const MAX_RETRY_PAUSE_MS = 1_000;
/** The most ownerships that one turn of the event loop checks, sends or reads: a few milliseconds of work. */
const OWNERSHIPS_PER_TURN = 1_000;
/** The shortest time between two checks of all holds, in ms: a connection may be lost many times in a second. */
const CHECK_PAUSE_MS = 1_000;
/** A lock whose lease has less than this part left was not renewed by the watchdog thread as it should be. */
export const OVERDUE_PART = 0.6;
/** The next ownerships are sent when the replies to those before them are there, or after this long, in ms. */
const MAX_ANSWER_MS = 50;

/**
 * The watchdog: one unref'd timer for all locks of a client. It renews locks without a lease in batches, three times
 * per watchdog time-out, and reports a loss as soon as the deadline of an ownership has passed.
 *
 * Invariants: 1. a failed renewal is retried within the lease, whatever the error; 2. an ownership past its deadline is
 * lost, even if Redis still has it: only what Redis has confirmed counts; 3. without holds there is no timer; 4.
 * renewals never send or read all ownerships in one turn of the event loop: {@link OWNERSHIPS_PER_TURN}; 5. what a
 * {@link RenewalThread} renews is renewed here, too, as soon as the thread is late with it or has failed.
 *
 * States: idle -> armed -> (due: losing, renewing) -> armed | idle; closed.
 */
export class Watchdog {
  readonly #table: OwnershipTable;
  readonly #batchSize: number;
  readonly #clientId: string;
  readonly #schedules = new Map<number, RenewalSchedule>();
  readonly #owned = new DeadlineHeap<Ownership>();
  /** Ownerships that Redis may have lost, and when they are checked. */
  readonly #doubted = new Set<Ownership>();
  #checkAt = Infinity;
  #checkedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer is due; nothing is due before. */
  #dueAt = Infinity;
  /** Whether the timer is about to be set. */
  #arming = false;
  #thread: RenewalThread | undefined;

  /**
   * @param batchSize - the most ownerships of one renewal command (`lockWatchdogBatchSize`)
   * @param clientId - for subscribers to renewals
   */
  constructor(table: OwnershipTable, batchSize: number, clientId: string) {
    this.#table = table;
    this.#batchSize = batchSize;
    this.#clientId = clientId;
    table.watcher = { changed: (ownership) => this.#changed(ownership), ended: (ownership) => this.#ended(ownership) };
  }

  /**
   * Does overdue work now. Called after each reply: if the event loop was blocked, a reply may be read before the timer
   * fires, and its caller must not continue with a hold that has expired.
   */
  readonly catchUp = (): void => {
    // The reply belongs to its caller's async context; the overdue work does not.
    if (performance.now() >= this.#dueAt) runOutside(() => this.#due());
  };

  /** The thread that renews ownerships with `maxStallMs`; `undefined`: this thread renews all, at once. */
  set thread(thread: RenewalThread | undefined) {
    this.#thread = thread;
    if (thread === undefined && this.#owned.size > 0) this.renewNow();
  }

  get thread(): RenewalThread | undefined {
    return this.#thread;
  }

  /** Renews all ownerships as soon as possible, and not when it is their time. */
  renewNow(): void {
    for (const schedule of this.#schedules.values()) schedule.nextAt = 0;
    this.#rearm();
  }

  /**
   * Redis may have lost what it had for some keys (a reconnect, a failover, a moved slot): looks whether the holds are
   * still there, also those with a lease. It prolongs none. It looks at once, but not more than once a second.
   */
  readonly check = (concerns: (key: string) => boolean): void => {
    for (const ownership of this.#table.all()) {
      if (ownership.holds.length > 0 && concerns(ownership.rawName)) this.#doubted.add(ownership);
    }
    this.#checkBy(this.#checkedAt + CHECK_PAUSE_MS);
  };

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
    void this.#inPortions(doubted, MAX_ANSWER_MS, isHeld, (batch) => this.#checkBatch(batch));
  }

  async #checkBatch(batch: readonly Ownership[]): Promise<void> {
    try {
      await this.#ask(batch, 0, 'a check after the connection was lost, or a failover, found it gone');
    } catch {
      // Whatever the reason: a lease still ends at its deadline.
      for (const ownership of batch) if (ownership.holds.length > 0) this.#doubted.add(ownership);
      this.#checkBy(performance.now() + CHECK_PAUSE_MS);
    }
  }

  /**
   * The thread has renewed an ownership.
   * @param holds - those it knew of
   * @param deadline - monotonic time until which Redis keeps the lock at least
   */
  renewedByThread(ownership: Ownership, holds: readonly Hold[], deadline: number): void {
    this.#renewed(ownership, holds, deadline);
  }

  /** The thread could not renew some ownerships: they are renewed here. */
  failedInThread(ownerships: readonly Ownership[], failure: Error): void {
    for (const ownership of ownerships) {
      const { schedule } = ownership;
      ownership.renewalFailed = failure;
      if (schedule === undefined) continue;
      schedule.failed.add(ownership);
      schedule.retryAt = Math.min(schedule.retryAt, performance.now());
    }
    this.#rearm();
  }

  #changed(ownership: Ownership): void {
    this.#thread?.changed(ownership);
    this.#owned.place(ownership);
    const watchdogMs = ownership.watchdogMs;
    let dueAt = ownership.deadline;
    if (ownership.schedule !== undefined && ownership.schedule.watchdogMs !== watchdogMs) this.#quit(ownership);
    if (watchdogMs > 0) {
      const schedule = ownership.schedule ?? this.#enter(ownership, watchdogMs);
      if (schedule.nextAt < dueAt) dueAt = schedule.nextAt;
    }
    if (dueAt < this.#dueAt) this.#arm(dueAt);
  }

  #ended(ownership: Ownership): void {
    this.#thread?.ended(ownership);
    this.#owned.delete(ownership);
    if (this.#doubted.size > 0) this.#doubted.delete(ownership);
    this.#quit(ownership);
    if (this.#owned.size === 0) this.#arm(Infinity);
  }

  #enter(ownership: Ownership, watchdogMs: number): RenewalSchedule {
    let schedule = this.#schedules.get(watchdogMs);
    if (schedule === undefined) this.#schedules.set(watchdogMs, (schedule = newSchedule(watchdogMs)));
    // The first ownership starts the schedule; an empty schedule stays idle.
    if (schedule.ownerships.size === 0) {
      schedule.nextAt = performance.now() + watchdogMs / RENEWALS_PER_TIMEOUT;
      schedule.retryAt = Infinity;
    }
    schedule.ownerships.add(ownership);
    ownership.schedule = schedule;
    return schedule;
  }

  #quit(ownership: Ownership): void {
    const { schedule } = ownership;
    if (schedule === undefined) return;
    schedule.ownerships.delete(ownership);
    if (schedule.failed.size > 0) schedule.failed.delete(ownership);
    ownership.schedule = undefined;
  }

  /**
   * Sets when it is due. Its timer follows when the callers whose promises have just been settled have continued: none of
   * them waits for that, and a lock that one of them releases at once needs no timer.
   */
  #arm(dueAt: number): void {
    this.#dueAt = dueAt;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    if (dueAt === Infinity || this.#arming) return;
    this.#arming = true;
    afterCallers(this.#setTimer);
  }

  readonly #setTimer = (): void => {
    this.#arming = false;
    if (this.#dueAt === Infinity) return;
    const pause = clampTimer(this.#dueAt - performance.now());
    this.#timer = setTimeout(() => this.#due(), pause);
    this.#timer.unref();
  };

  #due(): void {
    const now = performance.now();
    // A listener to a loss may check other holds, and so call this method again.
    this.#dueAt = Infinity;
    this.#thread?.receive();
    this.#expire(now);
    if (this.#checkAt <= now) this.#check();
    for (const schedule of this.#schedules.values()) {
      if (schedule.ownerships.size === 0) continue;
      if (schedule.nextAt <= now) {
        schedule.nextAt = now + schedule.watchdogMs / RENEWALS_PER_TIMEOUT;
        schedule.retryAt = Infinity;
        void this.#renew(schedule, [...schedule.ownerships]);
      } else if (schedule.retryAt <= now) {
        schedule.retryAt = Infinity;
        void this.#renew(schedule, [...schedule.failed]);
      }
    }
    this.#rearm();
  }

  #rearm(): void {
    let dueAt = Math.min(this.#checkAt, this.#owned.first?.deadline ?? Infinity);
    for (const schedule of this.#schedules.values()) {
      if (schedule.ownerships.size > 0) dueAt = Math.min(dueAt, schedule.nextAt, schedule.retryAt);
    }
    this.#arm(dueAt);
  }

  /** Marks every ownership whose deadline has passed as lost. */
  #expire(now: number): void {
    let ownership = this.#owned.first;
    if (ownership === undefined || ownership.deadline > now) return;
    const losses: Loss[] = [];
    for (; ownership !== undefined && ownership.deadline <= now; ownership = this.#owned.first) {
      this.#owned.delete(ownership);
      if (this.#table.isCovered(ownership, now)) this.#owned.place(ownership);
      else losses.push(lossOf(ownership));
    }
    this.#table.loseEach(losses);
  }

  #renew(schedule: RenewalSchedule, ownerships: readonly Ownership[]): Promise<void> {
    // The longest wait for the replies before the next batches are sent: a server that hangs must not delay the others.
    const pauseMs = Math.min(MAX_ANSWER_MS, (schedule.watchdogMs * OWNERSHIPS_PER_TURN) / (12 * ownerships.length));
    const due = (ownership: Ownership): boolean =>
      !ownership.renewing &&
      ownership.schedule === schedule &&
      !this.#renewedElsewhere(ownership) &&
      this.#mayRenew(ownership);
    return this.#inPortions(ownerships, pauseMs, due, (batch) => this.#renewBatch(schedule, batch));
  }

  /**
   * Sends ownerships in batches, a part at a time: writing or reading all of them at once would block the event loop.
   * @param pauseMs - the longest wait for the replies to one part, in ms
   * @param wanted - whether to send one; asked again just before
   */
  async #inPortions(
    ownerships: readonly Ownership[],
    pauseMs: number,
    wanted: (ownership: Ownership) => boolean,
    send: (batch: readonly Ownership[]) => Promise<void>,
  ): Promise<void> {
    const batches = new Map<Renewal, Map<string | number, Ownership[]>>();
    for (let i = 0; i < ownerships.length; i++) {
      if (i > 0 && i % OWNERSHIPS_PER_TURN === 0) await laterTurn();
      const ownership = ownerships[i]!;
      if (!wanted(ownership)) continue;
      let slots = batches.get(ownership.renewal);
      if (slots === undefined) batches.set(ownership.renewal, (slots = new Map<string | number, Ownership[]>()));
      const slot = ownership.renewal.batchOf(ownership);
      const batch = slots.get(slot);
      if (batch === undefined) slots.set(slot, [ownership]);
      else batch.push(ownership);
    }
    let sent: Promise<void>[] = [];
    let count = 0;
    for (const slots of batches.values()) {
      for (const all of slots.values()) {
        for (const part of inBatches(all, this.#batchSize)) {
          if (count >= OWNERSHIPS_PER_TURN) {
            await settledWithin(sent, pauseMs);
            sent = [];
            count = 0;
          }
          const batch = part.filter(wanted);
          if (batch.length > 0) sent.push(send(batch));
          for (const ownership of batch) count += sizeOf(ownership);
        }
      }
    }
  }

  /** Whether the watchdog thread renews it, and is not late. */
  #renewedElsewhere({ maxStallMs, renewalFailed, deadline, watchdogMs }: Ownership): boolean {
    if (this.#thread === undefined || maxStallMs === 0 || renewalFailed !== undefined) return false;
    return deadline - performance.now() > watchdogMs * OVERDUE_PART;
  }

  /** Gives up the holds whose renewals are used up. @returns whether there is a hold left to renew */
  #mayRenew(ownership: Ownership): boolean {
    for (const hold of ownership.holds) {
      if (hold.leaseMs !== -1 || hold.maxRenewals === 0 || hold.renewals < hold.maxRenewals) continue;
      this.#table.giveUp(ownership, hold, `it was renewed ${hold.renewals} times, which is its limit (maxRenewTimes)`);
    }
    return ownership.watchdogMs > 0;
  }

  async #renewBatch(schedule: RenewalSchedule, batch: readonly Ownership[]): Promise<void> {
    const { watchdogMs } = schedule;
    const sentAt = performance.now();
    for (const ownership of batch) ownership.renewing = true;
    try {
      await this.#ask(batch, watchdogMs, 'the renewal found it gone');
      tellRenewal(this.#clientId, batch.length, sentAt);
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      tellRenewal(this.#clientId, batch.length, sentAt, failure);
      for (const ownership of batch) {
        ownership.renewalFailed = failure;
        ownership.schedule?.failed.add(ownership);
      }
      if (schedule.retryAt === Infinity) schedule.retryAt = performance.now() + retryPause(watchdogMs);
    }
    for (const ownership of batch) ownership.renewing = false;
    if (this.#owned.size > 0) this.#rearm();
  }

  /**
   * Sends one renewal, or one check, and reports what is lost.
   * @param leaseMs - 0: a check
   * @param why - what is gone is lost
   */
  async #ask(batch: readonly Ownership[], leaseMs: number, why: string): Promise<void> {
    const sentAt = performance.now();
    const holds: (readonly Hold[])[] = batch.map((ownership) => ownership.holds);
    const alive = await batch[0]!.renewal.renew(batch, leaseMs);
    const losses: Loss[] = [];
    batch.forEach((ownership, i) => {
      // Released meanwhile, and perhaps acquired again: the reply concerns holds that no longer exist.
      if (ownership.holds.length === 0 || !holds[i]!.includes(ownership.holds[0]!)) return;
      const found = alive[i];
      if (found !== true) {
        const gone = typeof found === 'object' ? found : undefined;
        losses.push({ ownership, why: `${why} (expired, deleted, or Redis lost it)`, gone });
      } else if (leaseMs > 0) {
        this.#renewed(ownership, holds[i]!, confirmedUntil(sentAt, leaseMs));
        this.#thread?.changed(ownership);
      }
    });
    this.#table.loseEach(losses);
  }

  #renewed(ownership: Ownership, holds: readonly Hold[], deadline: number): void {
    ownership.renewalFailed = undefined;
    ownership.schedule?.failed.delete(ownership);
    // Otherwise the last hold without a lease was released meanwhile, and that release set a shorter lease after this
    // renewal.
    if (ownership.watchdogMs > 0 && deadline > ownership.deadline) {
      ownership.deadline = deadline;
      this.#owned.place(ownership);
    }
    for (const hold of holds) hold.renewals++;
  }
}

function isHeld({ holds }: Ownership): boolean {
  return holds.length > 0;
}

/** How much a renewal of it sends: each value of a group counts like a lock. */
function sizeOf({ values }: Ownership): number {
  return values?.fields.length ?? 1;
}

/** Ownerships in batches of at most this size. One that is larger has a batch of its own. */
function* inBatches(all: readonly Ownership[], size: number): Generator<readonly Ownership[]> {
  let batch: Ownership[] = [];
  let room = size;
  for (const ownership of all) {
    if (batch.length > 0 && sizeOf(ownership) > room) {
      yield batch;
      batch = [];
      room = size;
    }
    batch.push(ownership);
    room -= sizeOf(ownership);
  }
  if (batch.length > 0) yield batch;
}

/** The pause before a failed renewal is retried, in ms. */
function retryPause(watchdogMs: number): number {
  return Math.min(MAX_RETRY_PAUSE_MS, watchdogMs / RENEWALS_PER_TIMEOUT / RETRIES_PER_PERIOD);
}
