import { Alarm } from '../../util/Alarm';

/** The fields that a queue needs of its items. */
export interface Queued {
  /** Its deadline (monotonic). */
  deadline: number;
  /** The queue it is in; it is in one at a time. */
  queue: { delete(item: Queued): void } | undefined;
  /** Its neighbours there. */
  older?: Queued | undefined;
  newer?: Queued | undefined;
}

/**
 * Calls that end at a deadline, unless removed before. All items have the same time left when they are added, so the
 * oldest is due first, and one alarm watches it; it stays set when the oldest is removed, and is set again when it
 * rings. Sockets keep the process alive while a caller waits for them; the alarm alone does not.
 *
 * A list linked through its items: a Set would outlive every garbage collection together with what it refers to. So a
 * removed item keeps no neighbour either.
 */
export class DeadlineQueue<T extends Queued> {
  /** The number of items. Written by this class only. */
  size = 0;
  readonly #expired: (item: T) => void;
  #oldest: Queued | undefined;
  #newest: Queued | undefined;
  readonly #alarm = new Alarm(() => this.#due(), { judges: () => this.size > 0 });

  /** @param expired - called with each item whose deadline has passed, after its removal */
  constructor(expired: (item: T) => void) {
    this.#expired = expired;
  }

  /** The item that was added first, of those that are left. */
  get oldest(): T | undefined {
    return this.#oldest as T | undefined;
  }

  /** The oldest first. Items may be removed and added meanwhile; added ones are not visited. */
  *[Symbol.iterator](): IterableIterator<T> {
    const items: Queued[] = [];
    for (let item = this.#oldest; item !== undefined; item = item.newer) items.push(item);
    for (const item of items) if (item.queue === this) yield item as T;
  }

  /** Adds an item behind all others. @param deadline - monotonic time, not before those of the others */
  add(item: T, deadline: number): void {
    item.queue?.delete(item);
    item.deadline = deadline;
    item.queue = this;
    item.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = item;
    else this.#newest.newer = item;
    this.#newest = item;
    this.size++;
    if (this.#alarm.at === Infinity) this.#alarm.set(deadline);
  }

  /** Removes an item, if it is in the queue. */
  delete(item: Queued): void {
    if (item.queue !== this) return;
    const { older, newer } = item;
    item.queue = item.older = item.newer = undefined;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    this.size--;
  }

  /** Removes everything. */
  clear(): void {
    for (const item of this) this.delete(item);
    this.#alarm.off();
  }

  #due(): void {
    const now = performance.now();
    try {
      for (const item of this) {
        if (item.deadline > now) break;
        this.delete(item);
        this.#expired(item);
      }
    } finally {
      // Items added meanwhile are due after all others.
      if (this.#oldest !== undefined) this.#alarm.set(this.#oldest.deadline);
    }
  }
}
