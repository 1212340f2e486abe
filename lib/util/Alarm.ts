import { clampTimer } from './duration';
import { runOutside } from './outside';

/** A timer that fires later than this shows that the event loop was blocked, in ms. */
const STALL_MS = 5;
/** The longest time that replies get after that, in ms; they get as long as the loop was blocked. */
const AFTER_STALL_MS = 200;
/** How often that time begins anew while replies come in and reading them blocks the loop. */
const MAX_STALLS = 20;

/** What has arrived so far. Those who read from a connection count what they read. */
export const arrived = { replies: 0 };

/** What an alarm is for. */
export interface AlarmOptions {
  /** Whether callers wait for it, so that it keeps the process alive. @default false */
  readonly awaited?: boolean;
  /**
   * Set where the alarm ends a wait for Redis: whether a reply is on its way. Then what has arrived by then is read
   * before it fires, and after a blocked event loop it fires later still.
   */
  readonly judges?: () => boolean;
}

/**
 * One timer for many deadlines: it fires at the earliest of them. The owner of the deadlines sets it again when it
 * fires.
 *
 * The timer runs outside any caller's async context. A timer that would fire too early is kept: it costs less to fire
 * in vain than to be made again for each change.
 *
 * An alarm that *judges* is the one place where a wait for Redis is found to be over. Node runs timers before it reads
 * sockets, so after a blocked event loop the deadline has passed while the reply is there, unread; or the command was
 * made just before, and could not even be written. So it reads first, and after a stall gives replies as long as the
 * stall was, up to {@link AFTER_STALL_MS}. A stall shows in a timer that is late. Half of the wait, or its last
 * {@link AFTER_STALL_MS}, has a timer of its own: otherwise a stall that ends with the deadline would not show.
 *
 * States: off <-> set (a timer is pending, for the time of the alarm or before) -> reading -> (a reply is on its way
 * after a stall) set | fires, and is off.
 */
export class Alarm {
  /** The monotonic time at which it fires; `Infinity`: it is off. Written by this class only. */
  at = Infinity;
  readonly #ring: () => void;
  readonly #awaited: boolean;
  readonly #judges: (() => boolean) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #armedAt = -Infinity;
  #reading: NodeJS.Immediate | undefined;
  /** Monotonic time until which replies may still come in after a stall. */
  #patientUntil = -Infinity;
  /** How often it has put off ringing because of that, and the replies until then. */
  #putOffs = 0;
  #replies = 0;

  /** @param ring - called when it fires; it may set the alarm again */
  constructor(ring: () => void, { awaited = false, judges }: AlarmOptions = {}) {
    this.#ring = ring;
    this.#awaited = awaited;
    this.#judges = judges;
  }

  /** Rings then (monotonic), whatever it was set to. `Infinity`: not at all. */
  set(at: number): void {
    this.at = at;
    if (at === Infinity) return;
    const now = performance.now();
    // Fake timers of a test that has ended take theirs with them: the clock then stands before, or the timer is
    // overdue.
    if (at >= this.#timerAt && now > this.#armedAt && now <= this.#timerAt) return;
    this.#arm(now, this.#judges === undefined ? at : at - Math.min(AFTER_STALL_MS, (at - now) / 2));
  }

  /** Rings then (monotonic), or earlier if it is set to an earlier time. */
  setBy(at: number): void {
    if (at < this.at) this.set(at);
  }

  /** Does not ring, and frees its timer. */
  off(): void {
    clearTimeout(this.#timer);
    if (this.#reading !== undefined) clearImmediate(this.#reading);
    this.#timer = this.#reading = undefined;
    this.at = this.#timerAt = Infinity;
    this.#putOffs = 0;
  }

  #arm(now: number, at: number): void {
    clearTimeout(this.#timer);
    const pause = clampTimer(at - now);
    this.#armedAt = now;
    this.#timerAt = now + pause;
    this.#timer = runOutside(() => setTimeout(this.#fired, pause));
    if (!this.#awaited) this.#timer.unref();
  }

  readonly #fired = (): void => {
    const now = performance.now();
    const late = now - this.#timerAt;
    this.#timerAt = Infinity;
    this.#timer = undefined;
    const { at } = this;
    if (at === Infinity) return;
    const judges = this.#judges !== undefined;
    // Blocked again, but by other work: nothing came in.
    const isIdle = this.#putOffs > 0 && this.#replies === arrived.replies;
    if (judges && late > STALL_MS && !isIdle) this.#patientUntil = now + Math.min(late, AFTER_STALL_MS);
    // Too early: a timer may be a millisecond early, a long pause may be clamped or cut in two, and the alarm may have
    // been set to a later time.
    if (now < at) return this.#arm(now, judges && at - now > AFTER_STALL_MS ? at - AFTER_STALL_MS : at);
    if (this.#judges?.() === true) this.#reading ??= setImmediate(this.#judge);
    else this.#end();
  };

  /** What had arrived is read. */
  readonly #judge = (): void => {
    this.#reading = undefined;
    const now = performance.now();
    // Set to a later time meanwhile, or off.
    if (now < this.at) return;
    if (now >= this.#patientUntil || this.#putOffs === MAX_STALLS || !this.#judges!()) return this.#end();
    this.#putOffs++;
    this.#replies = arrived.replies;
    this.#arm(now, this.#patientUntil);
  };

  #end(): void {
    this.at = Infinity;
    this.#putOffs = 0;
    this.#ring();
  }
}
