import { Alarm } from '../util/Alarm';

/** A call that has waited this long (ms) is checked: it may wait for ever, and nothing else would report it. */
const SUSPICIOUS_MS = 5_000;
/** Waits are checked together, at most once in this time (ms). */
const PAUSE_MS = 100;

/**
 * Warns, once per client, of a call that has waited for 5 s and cannot get in.
 *
 * One unref'd timer serves all waits, and only while calls wait.
 */
export class LongWaits<Wait extends object> {
  readonly #check: (due: readonly Wait[], waits: LongWaits<Wait>) => void;
  readonly #warn: (wait: Wait) => void;
  /** The waits, each with the monotonic time of its next check. */
  readonly #waits = new Map<Wait, number>();
  readonly #alarm = new Alarm(() => this.#checkDue());
  #warned = false;

  /**
   * @param check - looks at the waits that are due, and calls {@link found} or {@link end} of some of them, also later;
   *   the others are due again after another 5 s
   * @param warn - called once
   */
  constructor(check: (due: readonly Wait[], waits: LongWaits<Wait>) => void, warn: (wait: Wait) => void) {
    this.#check = check;
    this.#warn = warn;
  }

  /** A call begins to wait; {@link end} must follow. @param since - monotonic time at which it began. @default now */
  begin(wait: Wait, since = performance.now()): void {
    if (this.#warned) return;
    const dueAt = since + SUSPICIOUS_MS;
    this.#waits.set(wait, dueAt);
    this.#alarm.setBy(dueAt);
  }

  /** The call waits no longer, or need not be checked again. */
  end(wait: Wait): void {
    if (this.#waits.delete(wait) && this.#waits.size === 0) this.#alarm.off();
  }

  /** The call cannot get in. Warns of it if it still waits. */
  found(wait: Wait): void {
    if (!this.#waits.has(wait)) return;
    this.#warned = true;
    this.#waits.clear();
    this.#alarm.off();
    this.#warn(wait);
  }

  #checkDue(): void {
    const now = performance.now();
    const due: Wait[] = [];
    let next = now + SUSPICIOUS_MS;
    for (const [wait, dueAt] of this.#waits) {
      if (dueAt > now) next = Math.min(next, dueAt);
      else {
        due.push(wait);
        this.#waits.set(wait, now + SUSPICIOUS_MS);
      }
    }
    this.#alarm.set(Math.max(next, now + PAUSE_MS));
    if (due.length > 0) this.#check(due, this);
  }
}
