import { clampTimer } from '../util/duration';

/**
 * Calls that end at a deadline, unless taken out before. All that are put in have the same time left, so the oldest is
 * due first, and one timer watches it; it is left alone when the oldest is taken out, and looks again when it fires.
 */
export class DeadlineQueue<T extends { deadline: number }> {
  readonly #expired: (item: T) => void;
  readonly #items = new Set<T>();
  #timer: NodeJS.Timeout | undefined;

  /** @param expired - told of each item whose deadline has passed; it is out of the queue by then */
  constructor(expired: (item: T) => void) {
    this.#expired = expired;
  }

  /** How many there are. */
  get size(): number {
    return this.#items.size;
  }

  /** The oldest first. Items may be taken out meanwhile. */
  [Symbol.iterator](): IterableIterator<T> {
    return this.#items.values();
  }

  /** Puts an item in, behind all others. @param deadline - monotonic time, not before those of the others */
  add(item: T, deadline: number): void {
    item.deadline = deadline;
    this.#items.add(item);
    if (this.#timer === undefined) this.#arm(deadline);
  }

  /** Takes an item out, if it is in. */
  delete(item: T): void {
    this.#items.delete(item);
  }

  /** Takes everything out. */
  clear(): void {
    this.#items.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(at: number): void {
    this.#timer = setTimeout(() => this.#tick(), clampTimer(Math.max(1, Math.ceil(at - performance.now()))));
    // Sockets keep the process alive while somebody waits for them; this timer alone shall not.
    this.#timer.unref();
  }

  #tick(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const item of this.#items) {
      if (item.deadline > now) break;
      this.#items.delete(item);
      this.#expired(item);
    }
    const [oldest] = this.#items;
    if (oldest !== undefined && this.#timer === undefined) this.#arm(oldest.deadline);
  }
}
