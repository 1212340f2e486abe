/** The calls that wait for one obstacle to one lock, in the order in which they came. */
interface SectionQueue {
  obstacle: object;
  readonly waiters: SectionWaiter[];
}

/**
 * Calls of one client that wait, without Redis, for a section beside them: the thread that lets them in runs it.
 *
 * One queue per obstacle (a section, or an acquisition under way) and lock, first come first served. When the obstacle
 * is gone, the first of its queue decides again; where that begins a section of its own, the rest waits for this one.
 * So each waiter is woken about once, however many there are. The section of a multi-lock is in the way of several
 * locks: each of these has a queue of its own.
 */
export class SectionQueues {
  /** obstacle -> key of the lock -> queue */
  readonly #queues = new Map<object, Map<string, SectionQueue>>();

  /** How many obstacles there are; 0: no call waits. */
  get size(): number {
    return this.#queues.size;
  }

  /**
   * Waits for `obstacle`: from now on no {@link free} of it is missed.
   * @param key - of the lock
   * @param waiter - of this call, if it has one already
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

  /** The obstacle is gone, for one lock at least: the first waiter of each queue decides again. */
  free(obstacle: object): void {
    for (const { waiters } of this.#queues.get(obstacle)?.values() ?? []) waiters[0]?.wake();
  }

  /** The client shuts down: every waiter attempts once more, and is refused. */
  close(): void {
    for (const queues of this.#queues.values()) {
      for (const { waiters } of queues.values()) for (const waiter of waiters) waiter.wake();
    }
  }

  /**
   * The call waits no longer.
   * @param next - what those behind it wait for from now on; without it the next decides again
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
 * The waiter of one such call.
 *
 * States: waiting (awake or asleep) -> woken -> waiting again | left.
 */
export class SectionWaiter {
  /** It attempts when it is woken, not before. */
  readonly isTurn = false;
  /** Where it stands; {@link SectionQueues} keeps it. */
  queue: SectionQueue | undefined;
  /** Whether the obstacle is gone, and it has not attempted since. */
  woken = false;
  /** Of the lock. */
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
