import { clampTimer } from '../../util/duration';
import { runOutside } from '../../util/outside';

/** What a queue needs of its items. */
export interface Queued {
  /** When it is due (monotonic). */
  deadline: number;
  /** The queue it is in; it is in one at a time. */
  queue: { delete(item: Queued): void } | undefined;
  /** Its neighbours there. */
  older?: Queued | undefined;
  newer?: Queued | undefined;
}

/**
 * Calls that end at a deadline, unless taken out before. All that are put in have the same time left, so the oldest is
 * due first, and one timer watches it; it is left alone when the oldest is taken out, and checks again when it fires.
 *
 * A list that its items link: a Set would outlive every garbage collection together with what it refers to. So an item
 * that was taken out keeps no neighbour either.
 */
export class DeadlineQueue<T extends Queued> {
  readonly #expired: (item: T) => void;
  #oldest: Queued | undefined;
  #newest: Queued | undefined;
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  /** What the timer starts when it fires. */
  #look: NodeJS.Immediate | undefined;

  /** @param expired - called with each item whose deadline has passed; it is out of the queue by then */
  constructor(expired: (item: T) => void) {
    this.#expired = expired;
  }

  /** How many there are. */
  get size(): number {
    return this.#size;
  }

  /** The oldest first. Items may be taken out and put in meanwhile; those put in do not come any more. */
  *[Symbol.iterator](): IterableIterator<T> {
    const items: Queued[] = [];
    for (let item = this.#oldest; item !== undefined; item = item.newer) items.push(item);
    for (const item of items) if (item.queue === this) yield item as T;
  }

  /** Puts an item in, behind all others. @param deadline - monotonic time, not before those of the others */
  add(item: T, deadline: number): void {
    item.queue?.delete(item);
    item.deadline = deadline;
    item.queue = this;
    item.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = item;
    else this.#newest.newer = item;
    this.#newest = item;
    this.#size++;
    if (this.#timer === undefined) this.#arm(deadline);
  }

  /** Takes an item out, if it is in. */
  delete(item: Queued): void {
    if (item.queue !== this) return;
    const { older, newer } = item;
    item.queue = item.older = item.newer = undefined;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    this.#size--;
  }

  /** Takes everything out. */
  clear(): void {
    for (const item of this) this.delete(item);
    clearTimeout(this.#timer);
    clearImmediate(this.#look);
    this.#timer = undefined;
  }

  #arm(at: number): void {
    // After a stall of the event loop timers come before the answers that lie in the sockets: those are read first.
    const look = (): void => {
      this.#look = setImmediate(() => this.#tick());
    };
    const pause = clampTimer(Math.max(1, Math.ceil(at - performance.now())));
    this.#timer = runOutside(() => setTimeout(look, pause));
    // Sockets keep the process alive while a caller waits for them; this timer alone shall not.
    this.#timer.unref();
  }

  #tick(): void {
    const now = performance.now();
    try {
      // The timer that has fired stands meanwhile: what is put in again is due after all others, and must not set the next.
      for (const item of this) {
        if (item.deadline > now) break;
        this.delete(item);
        this.#expired(item);
      }
    } finally {
      this.#timer = undefined;
      if (this.#oldest !== undefined) this.#arm(this.#oldest.deadline);
    }
  }
}
