import { clampTimer } from '../../util/duration';
import { runOutside } from '../../util/outside';

/** A timer that fires later than this shows a stall of the event loop, or of the whole machine, in ms. */
const STALL_MS = 100;
/** After a stall replies may still come in for so long, in ms. */
const AFTER_STALL_MS = 200;

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
 * oldest is due first, and one timer watches it; it stays set when the oldest is removed, and checks again when it
 * fires.
 *
 * A list linked through its items: a Set would outlive every garbage collection together with what it refers to. So a
 * removed item keeps no neighbour either.
 */
export class DeadlineQueue<T extends Queued> {
  readonly #expired: (item: T) => void;
  #oldest: Queued | undefined;
  #newest: Queued | undefined;
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The check that the timer starts when it fires. */
  #look: NodeJS.Immediate | undefined;

  /** @param expired - called with each item whose deadline has passed, after its removal */
  constructor(expired: (item: T) => void) {
    this.#expired = expired;
  }

  /** The number of items. */
  get size(): number {
    return this.#size;
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
    this.#size++;
    if (this.#timer === undefined) this.#arm(deadline);
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
    this.#size--;
  }

  /** Removes everything. */
  clear(): void {
    for (const item of this) this.delete(item);
    clearTimeout(this.#timer);
    clearImmediate(this.#look);
    this.#timer = undefined;
  }

  #arm(at: number): void {
    // After a stall of the event loop timers run before the replies in the sockets are read: read those first. A new
    // connection needs several of them, and what has held up this process may have held up the server, too. The last
    // part has a timer of its own: else a stall that ends with the deadline would not show.
    const left = at - performance.now();
    const pause = clampTimer(Math.max(1, Math.ceil(left > AFTER_STALL_MS ? left - AFTER_STALL_MS : left)));
    const due = performance.now() + pause;
    const look = (): void => {
      const now = performance.now();
      if (now - due > STALL_MS) this.#timer = unrefed(() => this.#tick(), AFTER_STALL_MS);
      else if (now < at) this.#rearm();
      else this.#look = setImmediate(() => this.#tick());
    };
    this.#timer = unrefed(look, pause);
  }

  #rearm(): void {
    this.#timer = undefined;
    if (this.#oldest !== undefined) this.#arm(this.#oldest.deadline);
  }

  #tick(): void {
    const now = performance.now();
    try {
      // The fired timer stays set meanwhile: an item added now is due after all others, and must not set the next
      // timer.
      for (const item of this) {
        if (item.deadline > now) break;
        this.delete(item);
        this.#expired(item);
      }
    } finally {
      this.#rearm();
    }
  }
}

/** Sockets keep the process alive while a caller waits for them; this timer alone must not. */
function unrefed(run: () => void, pauseMs: number): NodeJS.Timeout {
  return runOutside(() => setTimeout(run, pauseMs)).unref();
}
