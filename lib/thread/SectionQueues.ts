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
  /** obstacle -> key of the lock -> those who wait, first come first served */
  readonly #queues = new Map<object, Map<string, SectionWaiter[]>>();

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
    if (waiter.obstacle !== obstacle) {
      this.leave(waiter);
      waiter.obstacle = obstacle;
      const queue = this.#queues.get(obstacle)?.get(key);
      if (queue === undefined) this.#add(obstacle, key, [waiter]);
      else queue.push(waiter);
    }
    waiter.woken = false;
    return waiter;
  }

  /** The obstacle is gone, for at least one lock: the first waiter of each of its queues decides again. */
  free(obstacle: object): void {
    for (const [first] of this.#queues.get(obstacle)?.values() ?? []) first?.wake();
  }

  /** The client shuts down: each waiter finds out whether it may go on. */
  wakeAll(): void {
    for (const queues of this.#queues.values()) {
      for (const queue of queues.values()) for (const waiter of queue) waiter.wake();
    }
  }

  /**
   * Ends the wait of a call.
   * @param next - the obstacle that the waiters behind it wait for from now on; without it, the next waiter decides
   *   again
   */
  leave(waiter: SectionWaiter, next?: object): void {
    const { obstacle, key } = waiter;
    if (obstacle === undefined) return;
    waiter.obstacle = undefined;
    const queues = this.#queues.get(obstacle)!;
    const queue = queues.get(key)!;
    const at = queue.indexOf(waiter);
    queue.splice(at, 1);
    if (queue.length > 0 && next === undefined && at === 0 && waiter.woken) queue[0]!.wake();
    if (queue.length > 0 && (next === undefined || next === obstacle)) return;
    queues.delete(key);
    if (queues.size === 0) this.#queues.delete(obstacle);
    if (next === undefined || queue.length === 0) return;
    for (const moved of queue) moved.obstacle = next;
    this.#add(next, key, [...queue, ...(this.#queues.get(next)?.get(key) ?? [])]);
  }

  #add(obstacle: object, key: string, queue: SectionWaiter[]): void {
    const queues = this.#queues.get(obstacle);
    if (queues === undefined) this.#queues.set(obstacle, new Map([[key, queue]]));
    else queues.set(key, queue);
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
  /** What it waits for; set by {@link SectionQueues}. */
  obstacle: object | undefined;
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
