/** Where an unlock does not return the number of listeners, the shortest time between two counts, in ms. */
const COUNT_INTERVAL_MS = 50;

/** What a count needs of the queue. */
interface CountedQueue {
  readonly subscription: {
    /** Asks Redis for the number of listeners. @returns `undefined` when that cannot be known */
    countListeners(): Promise<number | undefined>;
  };
}

/**
 * The listeners of a channel where an unlock does not return their number: in a cluster with classic pub/sub it counts
 * those of one node. The nodes are asked from time to time.
 */
export class ListenerCount {
  /** As last read from Redis. */
  #listeners = 1;
  #countAt = -Infinity;

  /** @returns how many there are at least, this process included; it asks for the next time */
  of({ subscription }: CountedQueue): number {
    if (performance.now() >= this.#countAt) {
      // Until it is answered.
      this.#countAt = Infinity;
      void subscription.countListeners().then((listeners) => {
        this.#listeners = Math.max(1, listeners ?? this.#listeners);
        this.#countAt = performance.now() + COUNT_INTERVAL_MS;
      });
    }
    return this.#listeners;
  }
}
