import { Alarm } from './Alarm';
import { runOutside } from './outside';

/** The part of a pause that chance decides. */
const RANDOM_PART = 0.6;

/**
 * A pause of at most `ms`, shortened by chance, so that many clients whose connections broke at the same moment do not
 * all come back at the same moment, again and again.
 *
 * @param ms - the longest pause, in ms
 * @returns whole ms, at least two fifths of it
 */
export function jittered(ms: number): number {
  return Math.ceil(ms * (1 - RANDOM_PART * Math.random()));
}

/** Microtasks after which callers have resumed whose promises are settled now, also behind a few `then`s. */
const STEPS_TO_CALLERS = 6;

const settled = Promise.resolve();
let postponed: (() => void)[] = [];
let steps = 0;

/**
 * Runs `work` in this turn of the event loop, but after the callers whose results have just come: no caller waits for
 * it. It belongs to no caller, and must not throw; if it does, that is an unhandled rejection.
 *
 * By steps of promises: a tick or an immediate of Node costs ten times as much where it comes once in a while, and that
 * time passes before a waiter learns that it has the lock.
 */
export function afterCallers(work: () => void): void {
  if (postponed.push(work) === 1) void settled.then(step);
}

function step(): void {
  // Not an async function: each `await` of it would make three objects more, for each lock that is taken.
  if (++steps < STEPS_TO_CALLERS) return void settled.then(step);
  const all = postponed;
  postponed = [];
  steps = 0;
  runOutside(() => {
    for (const work of all) {
      try {
        work();
      } catch (error) {
        // The other works run nevertheless; it becomes an unhandled rejection.
        void Promise.reject(error);
      }
    }
  });
}

/** Runs `work`, and then `end`, whatever happens. An error of `work` counts more than one of `end`. */
export async function runAndEnd<T>(work: () => Promise<T>, end: () => Promise<void>): Promise<T> {
  let value: T;
  try {
    value = await work();
  } catch (error) {
    await end().catch(() => undefined);
    throw error;
  }
  await end();
  return value;
}

/** Resolves in a later turn of the event loop: answers that wait in the sockets are read before. */
export function laterTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** Resolves when all have settled, or after `ms`. It alone does not keep the process alive. */
export function settledWithin(operations: readonly Promise<unknown>[], ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms).unref();
    void Promise.allSettled(operations).then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/**
 * Waits for a promise, within a time limit.
 * @param limitMs - how long, in ms
 * @returns what it resolves to, or `undefined` when the time is over first
 * @throws what it rejects with in that time
 */
export async function inTime<T>(promise: Promise<T>, limitMs: number): Promise<{ readonly value: T } | undefined> {
  let alarm: Alarm | undefined;
  const late = new Promise<undefined>((resolve) => {
    alarm = new Alarm(() => resolve(undefined), { awaited: true, judges: () => true });
    alarm.set(performance.now() + limitMs);
  });
  try {
    return await Promise.race([promise.then((value) => ({ value })), late]);
  } finally {
    alarm?.off();
  }
}

/** Something with a deadline. */
export interface Due {
  /** Monotonic time. */
  readonly deadline: number;
  /** Its index in the heap; -1: it is not in it. */
  heapIndex: number;
}

/**
 * Items with deadlines, the earliest on top: a binary heap that knows the place of each item. To add, move or remove
 * one of 40 000, it reads 15 others and not all of them.
 */
export class DeadlineHeap<T extends Due> {
  readonly #all: T[] = [];
  /** All items, in no order. */
  readonly all: readonly T[] = this.#all;

  /** The item with the earliest deadline. */
  get first(): T | undefined {
    return this.#all[0];
  }

  /** Adds an item, or moves one whose deadline has changed. */
  place(one: T): void {
    // A new one comes last, with nothing below it.
    if (one.heapIndex < 0) this.#rise((one.heapIndex = this.#all.push(one) - 1));
    else this.#sink(this.#rise(one.heapIndex));
  }

  /** Removes an item, if it is in the heap. */
  delete(one: T): void {
    const index = one.heapIndex;
    if (index < 0) return;
    one.heapIndex = -1;
    const last = this.#all.pop()!;
    if (last === one) return;
    this.#put(last, index);
    this.#sink(this.#rise(index));
  }

  #rise(from: number): number {
    const one = this.#all[from]!;
    let index = from;
    while (index > 0) {
      const parent = this.#all[(index - 1) >> 1]!;
      if (parent.deadline <= one.deadline) break;
      this.#put(parent, index);
      index = (index - 1) >> 1;
    }
    if (index !== from) this.#put(one, index);
    return index;
  }

  #sink(from: number): void {
    const one = this.#all[from]!;
    let index = from;
    for (;;) {
      const left = 2 * index + 1;
      let child = this.#all[left];
      if (child === undefined) break;
      const right = this.#all[left + 1];
      if (right !== undefined && right.deadline < child.deadline) child = right;
      if (one.deadline <= child.deadline) break;
      const next = child.heapIndex;
      this.#put(child, index);
      index = next;
    }
    if (index !== from) this.#put(one, index);
  }

  #put(one: T, index: number): void {
    this.#all[index] = one;
    one.heapIndex = index;
  }
}
