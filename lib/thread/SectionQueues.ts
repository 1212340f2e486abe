/** The calls that wait for one obstacle (see {@link SectionQueues}) and one lock, first come first served. */
interface SectionQueue {
  obstacle: object;
  readonly waiters: SectionWaiter[];
}

/**
 * Calls of one client that wait, without Redis, for a section beside them. That section runs in the thread under which
 * these calls would re-enter.
 *
 * There is one queue per lock and obstacle: a section, or an acquisition under way. It is first come first served. When
 * the obstacle is gone, the first waiter of the queue decides again. If it then begins a section, the others wait for
 * that section. So each waiter is woken about once, however many there are. The section of a multi-lock can be the
 * obstacle for several locks: each of them has its own queue.
 */
export class SectionQueues {
  /** obstacle -> key of the lock -> queue */
  readonly #queues = new Map<object, Map<string, SectionQueue>>();

  /** The number of obstacles; 0: no call waits. */
  get size(): number {
    return this.#queues.size;
  }

  /**
   * Waits for `obstacle`: from now on no {@link free} of it is missed.
   * @param key - of the lock
   * @param waiter - the waiter of this call, if it has one already
   */
  wait(obstacle: object, key: string, waiter = new SectionWaiter(this, key)): SectionWaiter {
    if (waiter.queue?.obstacle === obstacle) {
      waiter.woken = false;
      return waiter;
    }
    this.leave(waiter);
    waiter.woken = false;
    let queue = this.#queues.get(obstacle)?.get(key);
    if (queue === undefined) this.#add((queue = { obstacle, waiters: [] }), key);
    queue.waiters.push(waiter);
    waiter.queue = queue;
    return waiter;
  }

  /** The obstacle is gone, for at least one lock: the first waiter of each of its queues decides again. */
  free(obstacle: object): void {
    for (const { waiters } of this.#queues.get(obstacle)?.values() ?? []) waiters[0]?.wake();
  }

  /** The client shuts down: each waiter finds out whether it may go on. */
  wakeAll(): void {
    for (const queues of this.#queues.values()) {
      for (const { waiters } of queues.values()) for (const waiter of waiters) waiter.wake();
    }
  }

  /**
   * Ends the wait of a call.
   * @param next - the obstacle that the waiters behind it wait for from now on; without it, the next waiter decides
   *   again
   */
  leave(waiter: SectionWaiter, next?: object): void {
    const { queue, key } = waiter;
    if (queue === undefined) return;
    waiter.queue = undefined;
    const at = queue.waiters.indexOf(waiter);
    queue.waiters.splice(at, 1);
    if (queue.waiters.length === 0) this.#remove(queue, key);
    else if (next !== undefined) this.#move(queue, key, next);
    else if (at === 0 && waiter.woken) queue.waiters[0]!.wake();
  }

  #move(queue: SectionQueue, key: string, obstacle: object): void {
    if (queue.obstacle === obstacle) return;
    this.#remove(queue, key);
    const there = this.#queues.get(obstacle)?.get(key);
    queue.obstacle = obstacle;
    this.#add(queue, key);
    for (const waiter of there?.waiters ?? []) {
      waiter.queue = queue;
      queue.waiters.push(waiter);
    }
  }

  #add(queue: SectionQueue, key: string): void {
    const queues = this.#queues.get(queue.obstacle);
    if (queues === undefined) this.#queues.set(queue.obstacle, new Map([[key, queue]]));
    else queues.set(key, queue);
  }

  #remove({ obstacle }: SectionQueue, key: string): void {
    const queues = this.#queues.get(obstacle);
    if (queues?.delete(key) === true && queues.size === 0) this.#queues.delete(obstacle);
  }
}

/**
 * The waiter of one call in {@link SectionQueues}.
 *
 * States: waiting (awake or asleep) -> woken -> waiting again | left.
 */
export class SectionWaiter {
  /** It attempts when it is woken, not before. */
  readonly isTurn = false;
  /** Its queue; set by {@link SectionQueues}. */
  queue: SectionQueue | undefined;
  /** Whether it was woken and has not waited again since. */
  woken = false;
  /** The key of the lock. */
  readonly key: string;
  readonly #sectionQueues: SectionQueues;
  #sleeper: (() => void) | undefined;

  /** Made by {@link SectionQueues} only. */
  constructor(sectionQueues: SectionQueues, key: string) {
    this.#sectionQueues = sectionQueues;
    this.key = key;
  }

  listen(): undefined {
    return undefined;
  }

  sleep(): Promise<undefined> {
    if (this.woken) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#sleeper = () => resolve(undefined);
    });
  }

  wake(): void {
    this.woken = true;
    this.#sleeper?.();
    this.#sleeper = undefined;
  }

  leave(): void {
    this.#sectionQueues.leave(this);
  }
}
