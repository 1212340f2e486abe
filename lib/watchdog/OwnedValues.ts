import type { GroupValues, Ownership } from './Ownership';

/**
 * The sets of values of one group that one owner holds or acquires, by their values. A single set, which is the usual
 * case, needs no index: it may have tens of thousands of values.
 */
export class OwnedValues {
  readonly #all = new Set<Ownership>();
  readonly #byField = new Map<string, Ownership[]>();

  /** Whether there are none. */
  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  /** Adds an ownership, and connects it with those that share a value with it. */
  add(ownership: Ownership): void {
    ownership.overlapping = this.sharing(ownership.values!.fields);
    for (const other of ownership.overlapping) other.overlapping = [...other.overlapping, ownership];
    this.#all.add(ownership);
    if (this.#byField.size > 0) this.#index(ownership);
  }

  /** Removes an ownership; those that wait for it check again. */
  remove(ownership: Ownership): void {
    for (const other of ownership.overlapping) {
      other.overlapping = other.overlapping.filter((one) => one !== ownership);
    }
    ownership.overlapping = [];
    ownership.recheck();
    this.#all.delete(ownership);
    if (this.#byField.size === 0) return;
    for (const field of ownership.values!.fields) {
      const rest = this.#byField.get(field)!.filter((one) => one !== ownership);
      if (rest.length === 0) this.#byField.delete(field);
      else this.#byField.set(field, rest);
    }
  }

  /** The ownerships that cover one of these values, each once. */
  sharing(fields: readonly string[]): Ownership[] {
    const found = new Set<Ownership>();
    if (this.#byField.size === 0) for (const ownership of this.#all) this.#index(ownership);
    if (!this.isEmpty) for (const field of fields) for (const one of this.#byField.get(field) ?? []) found.add(one);
    return [...found];
  }

  /** Monotonic time until which Redis certainly keeps all of these values, each for the last of those that cover it. */
  keptUntil({ fields }: GroupValues): number {
    let first = Infinity;
    for (const field of fields) {
      let last = 0;
      for (const { deadline } of this.#byField.get(field) ?? []) if (deadline > last) last = deadline;
      if (last < first) first = last;
    }
    return first;
  }

  #index(ownership: Ownership): void {
    for (const field of ownership.values!.fields) {
      const covering = this.#byField.get(field);
      if (covering === undefined) this.#byField.set(field, [ownership]);
      else covering.push(ownership);
    }
  }
}
