/** Something with a deadline. */
export interface Due {
  /** Monotonic time. */
  readonly deadline: number;
  /** Where it stands in the heap; -1: it does not. */
  heapIndex: number;
}

/**
 * Things with deadlines, the one whose deadline comes first on top: a binary heap that knows where each of them
 * stands. To add, move or take out one of 40 000, it looks at 15 others and not at all of them.
 */
export class DeadlineHeap<T extends Due> {
  readonly #all: T[] = [];

  /** How many there are. */
  get size(): number {
    return this.#all.length;
  }

  /** All of them, in no order. */
  get all(): readonly T[] {
    return this.#all;
  }

  /** The one whose deadline comes first. */
  get first(): T | undefined {
    return this.#all[0];
  }

  /** Puts one where its deadline belongs, be it a new one or one whose deadline has changed. */
  place(one: T): void {
    if (one.heapIndex < 0) one.heapIndex = this.#all.push(one) - 1;
    this.#sink(this.#rise(one.heapIndex));
  }

  /** Takes one out, if it is in. */
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
