import type { GroupValues, Ownership } from './Ownership';

/** The sets of values of one group that one owner holds or acquires, by their values. */
export class OwnedValues {
  readonly #byField = new Map<string, Ownership[]>();

  /** Whether there are none. */
  get isEmpty(): boolean {
    return this.#byField.size === 0;
  }

  /** Adds an ownership, and connects it with those that share a value with it. */
  add(ownership: Ownership): void {
    const { fields } = ownership.values!;
    ownership.overlapping = this.sharing(fields);
    for (const other of ownership.overlapping) other.overlapping = [...other.overlapping, ownership];
    for (const field of fields) {
      const covering = this.#byField.get(field);
      if (covering === undefined) this.#byField.set(field, [ownership]);
      else covering.push(ownership);
    }
  }

  /** Removes an ownership; those that wait for it check again. */
  remove(ownership: Ownership): void {
    for (const other of ownership.overlapping) {
      other.overlapping = other.overlapping.filter((one) => one !== ownership);
    }
    ownership.overlapping = [];
    ownership.recheck();
    for (const field of ownership.values!.fields) {
      const rest = this.#byField.get(field)!.filter((one) => one !== ownership);
      if (rest.length === 0) this.#byField.delete(field);
      else this.#byField.set(field, rest);
    }
  }

  /** The ownerships that cover one of these values, each once. */
  sharing(fields: readonly string[]): Ownership[] {
    const found = new Set<Ownership>();
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
}
