import { Random } from './Random';

/** In which order what is due at the same time happens in one process: as Node does it. */
export enum Phase {
  /** What comes from outside the processes. */
  World,
  Timer,
  Socket,
  Immediate,
}

/** One operating-system process: clients of ours run in it, with a clock of its own. */
export class SimProcess {
  alive = true;
  /** Until when it is stopped, in ms of the world. */
  frozenUntil = 0;
  /** Until when something is wrong with it or its connections, in ms of the world. */
  disturbedUntil = -Infinity;
  /** How fast its clocks run. */
  rate = 1;
  /** What its wall clock shows too much, in ms. */
  wallOffset = 0;

  constructor(readonly id: string) {}

  /** Something is wrong with it until then, in ms of the world. */
  disturb(until: number): void {
    this.disturbedUntil = Math.max(this.disturbedUntil, until);
  }
}

/**
 * A step of the exchange between a client and a server: the client is about to write, and has written; the server is
 * about to run a command, and has run it; the server is about to send a message; the client is about to read.
 */
export const STEPS = ['write', 'written', 'run', 'ran', 'message', 'read'] as const;
export type Step = (typeof STEPS)[number];

/** Something that is going to happen. */
export interface Occurrence {
  at: number;
  readonly phase: Phase;
  readonly tie: number;
  readonly process: SimProcess | undefined;
  readonly kind: string;
  readonly run: () => void;
  cancelled: boolean;
}

// Those of the real Node, before anybody replaces them.
const realImmediate = setImmediate;
const drained = (): Promise<void> => new Promise((resolve) => realImmediate(resolve));

/** The wall clock of the world when it begins. */
export const EPOCH = 1_800_000_000_000;

/**
 * The time of a simulated world and everything that is going to happen in it. One thing happens, then all promises and
 * ticks that follow from it, then the next thing. Who is first of two at the same time, the seed decides.
 */
export class Loop {
  /** Ms since the world began. */
  now = 0;
  /** Whose code runs. */
  current: SimProcess | undefined;
  readonly random: Random;
  /** Counts what has happened. */
  steps = 0;
  /** Of everything that has happened, in order. */
  hash = 0;
  /** How code of a process connects to an address, in worlds that have addresses. */
  dial: ((host: string, port: number) => unknown) | undefined;
  /** Told of each step of the exchange between clients and servers, just before or after it is made. */
  watch: ((step: Step, socket: unknown) => void) | undefined;
  /** Told what a client writes to a connection. */
  written: ((socket: unknown, text: string) => void) | undefined;
  /** Told of everything that happens. */
  trace: ((line: string) => void) | undefined;
  readonly #heap: Occurrence[] = [];

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  /** The monotonic clock of the process whose code runs. */
  get monotonic(): number {
    return 1_000 + this.now * (this.current?.rate ?? 1);
  }

  /** The wall clock of the process whose code runs. */
  get wall(): number {
    return Math.floor(EPOCH + this.now * (this.current?.rate ?? 1) + (this.current?.wallOffset ?? 0));
  }

  /** @param delay - ms of the world from now */
  after(
    delay: number,
    run: () => void,
    options: { phase?: Phase; process?: SimProcess | undefined; kind?: string } = {},
  ): Occurrence {
    const { phase = Phase.World, process, kind = '' } = options;
    const at = this.now + Math.max(0, delay);
    const one: Occurrence = { at, phase, tie: this.random.next(), process, kind, run, cancelled: false };
    this.#push(one);
    return one;
  }

  /** Code of a process, from now on. */
  as<T>(process: SimProcess | undefined, run: () => T): T {
    const before = this.current;
    this.current = process;
    try {
      return run();
    } finally {
      this.current = before;
    }
  }

  /**
   * Something worth a line in the trace, and in the hash but for its digits: there are thread ids among them, which
   * lib counts on through all worlds of a process.
   *
   * @param more - for the trace only
   */
  note(text: string, more?: () => string): void {
    let { hash } = this;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code < 48 || code > 57) hash = (Math.imul(hash, 31) + code) | 0;
    }
    this.hash = hash;
    if (this.trace === undefined) return;
    const who = (this.current?.id ?? '-').padEnd(5);
    this.trace(`${this.now.toFixed(3).padStart(12)} ${who} ${more === undefined ? text : more()}`);
  }

  /** Lets things happen until `over` says so, nothing is left to happen, or the time has come. */
  async run(over: () => boolean, until = Infinity): Promise<void> {
    while (!over()) {
      const one = this.#pop();
      if (one === undefined) return;
      if (one.at > until) {
        this.#push(one);
        this.now = until;
        return;
      }
      if (one.cancelled || one.process?.alive === false) continue;
      if (one.process !== undefined && one.process.frozenUntil > one.at) {
        one.at = one.process.frozenUntil;
        this.#push(one);
        continue;
      }
      this.now = Math.max(this.now, one.at);
      this.steps++;
      this.hash = (Math.imul(this.hash, 31) + Math.floor(one.at * 1000) + one.phase) | 0;
      this.current = one.process;
      one.run();
      await drained();
      this.current = undefined;
    }
  }

  /** How much of a process is still going to happen. */
  pending(process: SimProcess, phase: Phase): number {
    return this.#heap.filter((one) => one.process === process && one.phase === phase && !one.cancelled).length;
  }

  #before(a: Occurrence, b: Occurrence): boolean {
    return a.at !== b.at ? a.at < b.at : a.phase !== b.phase ? a.phase < b.phase : a.tie < b.tie;
  }

  #push(one: Occurrence): void {
    const heap = this.#heap;
    let i = heap.push(one) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!this.#before(one, heap[parent]!)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = one;
  }

  #pop(): Occurrence | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#before(heap[child + 1]!, heap[child]!)) child++;
      if (!this.#before(heap[child]!, last)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
    return top;
  }
}
