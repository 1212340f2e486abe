import { clampTimer } from '../util/duration';
import { runOutside } from '../util/outside';
import { laterTurn, settledWithin } from '../util/turns';
import { confirmedUntil, type Grip, type Hold, type Round } from './Hold';
import { DeadlineHeap } from './DeadlineHeap';
import type { HoldTable, Loss } from './HoldTable';
import type { RenewalKind } from './RenewalKind';

/** Renewal happens this many times per watchdog time-out (Redisson: every third of it). */
const RENEWALS_PER_TIMEOUT = 3;
/** Renewals that failed are repeated this many times within a period, so that several fit into a lease. */
const RETRIES_PER_PERIOD = 4;
/** The longest pause before a renewal that failed is repeated, in ms. */
const MAX_RETRY_PAUSE_MS = 1_000;
/** So many holds are looked at, sent or answered in one turn of the event loop: a few milliseconds of work. */
const HOLDS_PER_TURN = 1_000;
/** The next holds are sent when those before were answered, or after so long, in ms. */
const MAX_ANSWER_MS = 50;

/**
 * The watchdog: one unref'd timer for all holds of a client. It renews the holds without lease in batches, every third
 * of their watchdog time-out, and tells the loss of any hold as soon as its deadline has passed.
 *
 * Invariants: 1. a renewal that fails is repeated within the lease, whatever the error; 2. a hold past its deadline is
 * lost, even if Redis should still have it: nobody may believe longer than is proved; 3. no hold, no timer; 4. nothing is
 * done for all holds in one turn of the event loop: {@link HOLDS_PER_TURN}.
 *
 * States: idle -> armed -> (due: losing, renewing) -> armed | idle; closed.
 */
export class RenewalScheduler {
  readonly #table: HoldTable;
  readonly #batchSize: number;
  readonly #rounds = new Map<number, Round>();
  readonly #held = new DeadlineHeap();
  #timer: NodeJS.Timeout | undefined;
  /** When the timer is due; nothing is due before. */
  #dueAt = Infinity;

  /** @param batchSize - most holds of one renewal command (`lockWatchdogBatchSize`) */
  constructor(table: HoldTable, batchSize: number) {
    this.#table = table;
    this.#batchSize = batchSize;
    table.watcher = { changed: (hold) => this.#changed(hold), ended: (hold) => this.#ended(hold) };
  }

  /**
   * Does now what is overdue. Called whenever a reply has come: after a stall of the event loop the reply may be there
   * before the timer, and nobody may go on with a hold that has run out.
   */
  catchUp(): void {
    // The reply belongs to somebody's thread; what is overdue does not.
    if (performance.now() >= this.#dueAt) runOutside(() => this.#due());
  }

  #changed(hold: Hold): void {
    this.#held.place(hold);
    const watchdogMs = hold.watchdogMs;
    const now = performance.now();
    let dueAt = hold.deadline;
    if (hold.round !== undefined && hold.round.watchdogMs !== watchdogMs) this.#quit(hold);
    if (watchdogMs > 0) {
      const round = hold.round ?? this.#enter(hold, watchdogMs, now);
      if (round.nextAt < dueAt) dueAt = round.nextAt;
    }
    if (dueAt < this.#dueAt) this.#arm(dueAt, now);
  }

  #ended(hold: Hold): void {
    this.#held.delete(hold);
    this.#quit(hold);
    if (this.#held.size === 0) this.#arm(Infinity, 0);
  }

  #enter(hold: Hold, watchdogMs: number, now: number): Round {
    let round = this.#rounds.get(watchdogMs);
    if (round === undefined) this.#rounds.set(watchdogMs, (round = newRound(watchdogMs)));
    // The first one sets the beat; a round that has become empty is kept, but beats no more.
    if (round.holds.size === 0) {
      round.nextAt = now + watchdogMs / RENEWALS_PER_TIMEOUT;
      round.retryAt = Infinity;
    }
    round.holds.add(hold);
    hold.round = round;
    return round;
  }

  #quit(hold: Hold): void {
    const { round } = hold;
    if (round === undefined) return;
    round.holds.delete(hold);
    if (round.failed.size > 0) round.failed.delete(hold);
    hold.round = undefined;
  }

  #arm(dueAt: number, now: number): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#dueAt = dueAt;
    if (dueAt === Infinity) return;
    const pause = clampTimer(dueAt - now);
    this.#timer = runOutside(() => setTimeout(() => this.#due(), pause));
    this.#timer.unref();
  }

  #due(): void {
    const now = performance.now();
    // Whoever is told of a loss may look at other holds, and so come back here.
    this.#dueAt = Infinity;
    this.#expire(now);
    for (const round of this.#rounds.values()) {
      if (round.holds.size === 0) continue;
      if (round.nextAt <= now) {
        round.nextAt = now + round.watchdogMs / RENEWALS_PER_TIMEOUT;
        round.retryAt = Infinity;
        void this.#renew(round, [...round.holds]);
      } else if (round.retryAt <= now) {
        round.retryAt = Infinity;
        void this.#renew(round, [...round.failed]);
      }
    }
    this.#rearm();
  }

  #rearm(): void {
    let dueAt = this.#held.first?.deadline ?? Infinity;
    for (const round of this.#rounds.values()) {
      if (round.holds.size > 0) dueAt = Math.min(dueAt, round.nextAt, round.retryAt);
    }
    this.#arm(dueAt, performance.now());
  }

  /** Every hold whose deadline has passed is lost. */
  #expire(now: number): void {
    let hold = this.#held.first;
    if (hold === undefined || hold.deadline > now) return;
    const losses: Loss[] = [];
    for (; hold !== undefined && hold.deadline <= now; hold = this.#held.first) {
      this.#held.delete(hold);
      losses.push(lossOf(hold));
    }
    this.#table.loseEach(losses);
  }

  /** Renews them in batches, a few at a time: neither to write nor to read all of them shall hold anybody up. */
  async #renew(round: Round, holds: readonly Hold[]): Promise<void> {
    const batches = new Map<RenewalKind, Map<string | number, Hold[]>>();
    for (let i = 0; i < holds.length; i++) {
      if (i > 0 && i % HOLDS_PER_TURN === 0) await laterTurn();
      const hold = holds[i]!;
      if (hold.renewing || hold.round !== round || !this.#mayRenew(hold)) continue;
      let kinds = batches.get(hold.renewal);
      if (kinds === undefined) batches.set(hold.renewal, (kinds = new Map<string | number, Hold[]>()));
      const slot = hold.renewal.batchOf(hold);
      const batch = kinds.get(slot);
      if (batch === undefined) kinds.set(slot, [hold]);
      else batch.push(hold);
    }
    // So long at most the next ones wait for the answers of the last: a server that hangs shall not hold up the others.
    const pauseMs = Math.min(MAX_ANSWER_MS, (round.watchdogMs * HOLDS_PER_TURN) / (12 * holds.length));
    let sent: Promise<void>[] = [];
    let count = 0;
    for (const slots of batches.values()) {
      for (const all of slots.values()) {
        for (let i = 0; i < all.length; i += this.#batchSize) {
          if (count >= HOLDS_PER_TURN) {
            await settledWithin(sent, pauseMs);
            sent = [];
            count = 0;
          }
          const batch = all.slice(i, i + this.#batchSize).filter((hold) => !hold.renewing && hold.round === round);
          if (batch.length > 0) sent.push(this.#renewBatch(round, batch));
          count += batch.length;
        }
      }
    }
  }

  /** Gives up the grips whose renewals are used up. @returns whether anything is left to renew */
  #mayRenew(hold: Hold): boolean {
    for (const grip of hold.grips) {
      if (grip.leaseMs !== -1 || grip.maxRenewals === 0 || grip.renewals < grip.maxRenewals) continue;
      this.#table.surrender(hold, grip, `it was renewed ${grip.renewals} times, which is its limit (maxRenewTimes)`);
    }
    return hold.watchdogMs > 0;
  }

  async #renewBatch(round: Round, batch: readonly Hold[]): Promise<void> {
    const { watchdogMs } = round;
    const sentAt = performance.now();
    const grips: (readonly Grip[])[] = batch.map((hold) => hold.grips);
    for (const hold of batch) hold.renewing = true;
    try {
      const alive = await batch[0]!.renewal.renew(batch, watchdogMs);
      const losses: Loss[] = [];
      batch.forEach((hold, i) => {
        hold.renewing = false;
        // Released meanwhile, and perhaps taken again: the answer is about what is no more.
        if (hold.grips.length === 0 || !grips[i]!.includes(hold.grips[0]!)) return;
        if (alive[i] === true) this.#renewed(hold, grips[i]!, confirmedUntil(sentAt, watchdogMs));
        else losses.push({ hold, why: 'the renewal found it gone (expired, deleted, or Redis lost it)' });
      });
      this.#table.loseEach(losses);
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      for (const hold of batch) {
        hold.renewing = false;
        hold.renewalFailed = failure;
        hold.round?.failed.add(hold);
      }
      if (round.retryAt === Infinity) round.retryAt = performance.now() + retryPause(watchdogMs);
    }
    if (this.#held.size > 0) this.#rearm();
  }

  #renewed(hold: Hold, grips: readonly Grip[], deadline: number): void {
    hold.renewalFailed = undefined;
    hold.round?.failed.delete(hold);
    // What the watchdog kept was given back meanwhile, and a shorter lease set behind this renewal.
    if (hold.watchdogMs > 0 && deadline > hold.deadline) {
      hold.deadline = deadline;
      this.#held.place(hold);
    }
    for (const grip of grips) grip.renewals++;
  }
}

function lossOf(hold: Hold): Loss {
  const failure = hold.renewalFailed;
  if (hold.watchdogMs === 0) return { hold, why: 'its lease has ended' };
  if (failure !== undefined) {
    return { hold, why: 'its lease ran out because every renewal failed', options: { cause: failure } };
  }
  return { hold, why: 'its lease ran out before a renewal was confirmed (event loop blocked, or Redis silent)' };
}

function newRound(watchdogMs: number): Round {
  return { watchdogMs, holds: new Set(), nextAt: 0, failed: new Set(), retryAt: Infinity };
}

/** How long to wait before a failed renewal is repeated, in ms. */
function retryPause(watchdogMs: number): number {
  return Math.min(MAX_RETRY_PAUSE_MS, watchdogMs / RENEWALS_PER_TIMEOUT / RETRIES_PER_PERIOD);
}
