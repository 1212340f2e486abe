import type { Wait, Wake } from '../wait/acquireWithin';
import { GIVE_WAY_MS } from './fairness';
import type { Waiter } from './Waiter';
import type { WaitQueue } from './WaitQueue';

/** The wait of one waiter in its queue, as the waiting loop sees it. */
export class QueueWait<T, H extends object = object> implements Wait<T> {
  /** Its latch, which the queue wakes. */
  readonly waiter: Waiter<T, H>;
  readonly #queue: WaitQueue<H>;

  /** @param waiter - one of that queue */
  constructor(queue: WaitQueue<H>, waiter: Waiter<T, H>) {
    this.#queue = queue;
    this.waiter = waiter;
  }

  set timed(timed: boolean) {
    this.waiter.timed = timed;
  }

  get isTurn(): boolean {
    const waiter = this.waiter;
    return waiter.order === 'shared' || (waiter.begun ? this.#queue.isHead(waiter) : this.#queue.mayBegin(waiter));
  }

  listen(): Promise<void> | undefined {
    this.waiter.begun = true;
    if (!this.#queue.listen()) return this.waiter.listen();
    this.waiter.heard();
    return undefined;
  }

  sleep(retryInMs: number, inDoubt = false): Promise<Wake<T>> {
    const queue = this.#queue;
    const waiter = this.waiter;
    // Woken in vain: there are fewer permits than it needs, but perhaps enough for those who need fewer.
    if (waiter.woken && waiter.need > 1 && waiter.error === undefined) queue.wakeFitting(waiter.need - 1);
    if (!queue.isHead(waiter)) return waiter.sleep(waiter.order === 'shared' || inDoubt ? retryInMs : Infinity);
    const sleeping = waiter.sleep(Infinity);
    // Readers go first: they try at the next message. If none comes, the head tries after a short pause.
    if (waiter.asleep) queue.recheckIn(waiter.begun ? retryInMs : GIVE_WAY_MS);
    return sleeping;
  }

  /**
   * It has acquired for so many ms: unless woken, its successor need not look again before. `undefined`: it has not.
   */
  acquiredFor(leaseMs: number | undefined): void {
    this.waiter.leaseMs = leaseMs;
  }

  /** It has acquired by an attempt of its own, not by a hand-over. */
  beginTurn(now: number): void {
    if (this.waiter.order === 'fifo') this.#queue.beginTurn(now);
  }

  connectionLost(): void {
    this.#queue.connectionLost();
  }

  leave(): void {
    this.#queue.remove(this.waiter);
  }
}
