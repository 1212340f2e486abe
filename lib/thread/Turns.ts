/** Those that wait for one obstacle, in the order in which they came. */
interface TurnQueue {
  obstacle: object;
  readonly turns: Turn[];
}

/**
 * Calls of one client that wait, without Redis, for a section beside them: the thread that lets them in is in it.
 *
 * One queue per obstacle (a section, or an acquisition under way), first come first served. When the obstacle is gone, the
 * first of its queue decides again; where that begins a section of its own, the rest waits for this one. So each waiter is
 * woken about once, however many there are.
 */
export class Turns {
  readonly #queues = new Map<object, TurnQueue>();

  /** How many queues there are: nobody waits while it is 0. */
  get size(): number {
    return this.#queues.size;
  }

  /**
   * Waits for `obstacle`: from now on no {@link free} of it is missed.
   * @param turn - the turn of this call, if it has one already
   */
  wait(obstacle: object, turn = new Turn(this)): Turn {
    if (turn.queue?.obstacle === obstacle) {
      turn.woken = false;
      return turn;
    }
    this.leave(turn);
    turn.woken = false;
    let queue = this.#queues.get(obstacle);
    if (queue === undefined) this.#queues.set(obstacle, (queue = { obstacle, turns: [] }));
    queue.turns.push(turn);
    turn.queue = queue;
    return turn;
  }

  /** The obstacle is gone: the first that waits for it may look. */
  free(obstacle: object): void {
    this.#queues.get(obstacle)?.turns[0]?.wake();
  }

  /** The client shuts down: each of them may look, and is refused. */
  close(): void {
    for (const { turns } of [...this.#queues.values()]) for (const turn of turns) turn.wake();
  }

  /** The call waits no longer. @param next - what those behind it wait for now; without it the next of them may look */
  leave(turn: Turn, next?: object): void {
    const { queue } = turn;
    if (queue === undefined) return;
    turn.queue = undefined;
    const at = queue.turns.indexOf(turn);
    queue.turns.splice(at, 1);
    if (queue.turns.length === 0) this.#queues.delete(queue.obstacle);
    else if (next !== undefined) this.#move(queue, next);
    else if (at === 0 && turn.woken) queue.turns[0]!.wake();
  }

  #move(queue: TurnQueue, obstacle: object): void {
    if (queue.obstacle === obstacle) return;
    this.#queues.delete(queue.obstacle);
    const there = this.#queues.get(obstacle);
    queue.obstacle = obstacle;
    this.#queues.set(obstacle, queue);
    for (const turn of there?.turns ?? []) {
      turn.queue = queue;
      queue.turns.push(turn);
    }
  }
}

/**
 * One such call: where the waiting loop sleeps.
 *
 * States: waiting (awake or asleep) -> woken -> waiting again | left.
 */
export class Turn {
  /** It attempts when it is woken, not before. */
  readonly isTurn = false;
  /** Where it stands; {@link Turns} keeps it. */
  queue: TurnQueue | undefined;
  /** Whether the obstacle is gone, and it has not looked since. */
  woken = false;
  readonly #turns: Turns;
  #sleeper: (() => void) | undefined;

  /** Made by {@link Turns} only. */
  constructor(turns: Turns) {
    this.#turns = turns;
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
    this.#turns.leave(this);
  }
}
