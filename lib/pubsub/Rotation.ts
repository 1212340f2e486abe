/**
 * How long a process that gives way waits for the others before it tries all the same. They need one message and one
 * command; the waiters of a process that died meanwhile shall not cost more than this.
 */
const GIVE_WAY_MS = 5;

/**
 * Takes turns between processes that wait for one lock.
 *
 * Redis delivers a message to its subscribers always in the same order, so the same process would win every race.
 * Each real unlock tells how many subscribers it woke. A process that had the lock therefore gives way to that many
 * others: it lets as many further unlock messages pass before it tries again, and the processes end up in a rotation.
 * It is courtesy, not a rule others depend on: after {@link GIVE_WAY_MS} without a message it tries anyway. Where nobody
 * else was told it tries at once, and lets its own message pass: that would only make its next waiter try in vain.
 *
 * States: free (tries at each message) -> releasing (own unlock under way) -> givingWay (n messages to let pass) -> free.
 */
export class Rotation {
  readonly #wake: () => void;
  #releasing = 0;
  #seen = 0;
  #skip = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param wake - wakes the head of the line */
  constructor(wake: () => void) {
    this.#wake = wake;
  }

  /** An unlock of this process is about to be sent. */
  releasing(): void {
    this.#releasing++;
    this.#seen = 0;
  }

  /**
   * That unlock was answered.
   * @param receivers - how many subscribers were told, this process among them; 0 when unknown; -1 when nobody was told,
   *   since the lock is not free
   */
  released(receivers: number): void {
    this.#releasing--;
    if (receivers < 0) {
      // Messages that came meanwhile were not ours.
      if (this.#seen > 0) this.#wake();
      return;
    }
    // Our own message is one of those seen or to come.
    const toCome = receivers - this.#seen;
    // Nobody else was told: our own message is no news to the head, who tries now.
    const alone = receivers <= 1;
    this.#skip = Math.max(0, alone ? toCome : toCome - 1);
    if (alone || toCome <= 0) this.#wake();
    // Should the one that was told be another, we let his message pass, and look again.
    if (toCome > 0) this.#arm();
  }

  /** A message came. @returns whether the head of the line shall try now */
  message(): boolean {
    if (this.#releasing > 0) {
      this.#seen++;
      return false;
    }
    if (this.#skip === 0) return true;
    this.#skip--;
    this.#arm();
    return false;
  }

  /** The queue is no more; an unlock of this process may still be under way. */
  close(): void {
    this.#closed = true;
    this.reset();
  }

  /** The head of the line has acquired: nothing to give way for any more. */
  reset(): void {
    this.#skip = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(this.#wake, GIVE_WAY_MS);
  }
}
