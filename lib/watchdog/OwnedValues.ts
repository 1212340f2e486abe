import type { Ownership, Portion, ValueIndex } from './Ownership';

const NOBODY: readonly Ownership[] = [];

/**
 * The sets of values of one group that one owner holds or acquires, by their values. A single set, which is the usual
 * case, needs no index: it may have tens of thousands of values.
 */
export class OwnedValues implements ValueIndex {
  readonly #all = new Set<Ownership>();
  /** The ownerships that cover a value. Values that the same ones cover mostly have the same list. */
  readonly #byField = new Map<string, readonly Ownership[]>();

  /** Whether there are none. */
  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  /** Adds an ownership, and connects it with those that share a value with it. */
  add(ownership: Ownership): void {
    ownership.overlapping = this.sharing(ownership.values!.fields);
    for (const other of ownership.overlapping) other.overlapping = [...other.overlapping!, ownership];
    this.#all.add(ownership);
    if (this.#byField.size > 0) this.#index(ownership);
  }

  /** Removes an ownership; those that wait for it check again. */
  remove(ownership: Ownership): void {
    for (const other of ownership.overlapping!) {
      other.overlapping = other.overlapping!.filter((one) => one !== ownership);
    }
    ownership.overlapping = [];
    ownership.recheck();
    this.#all.delete(ownership);
    if (this.#byField.size > 0)
      this.#change(ownership, (covering = NOBODY) => covering.filter((one) => one !== ownership));
  }

  /** The ownerships that cover one of these values, each once. */
  sharing(fields: readonly string[]): Ownership[] {
    if (this.#byField.size === 0) for (const ownership of this.#all) this.#index(ownership);
    return [...new Set(this.#lists(fields).flat())];
  }

  /** Monotonic time until which Redis certainly keeps all these values, each for the last of those that cover it. */
  keptUntil(fields: readonly string[]): number {
    const ends = this.#lists(fields).map((covering) => Math.max(...covering.map(({ deadline }) => deadline)));
    return Math.min(...ends);
  }

  /** The values of an ownership in portions. */
  portionsOf(ownership: Ownership): readonly Portion[] {
    const { fields } = ownership.values!;
    if (ownership.overlapping!.length === 0) return [{ others: NOBODY, fields }];
    const portions = new Map<readonly Ownership[], string[]>();
    for (const field of fields) {
      const covering = this.#byField.get(field)!;
      const portion = portions.get(covering);
      if (portion === undefined) portions.set(covering, [field]);
      else portion.push(field);
    }
    return [...portions].map(([covering, part]) => ({
      others: covering.filter((one) => one !== ownership),
      fields: part,
    }));
  }

  #lists(fields: readonly string[]): (readonly Ownership[])[] {
    const lists = new Set<readonly Ownership[]>();
    if (this.#byField.size > 0) for (const field of fields) lists.add(this.#byField.get(field) ?? NOBODY);
    return [...lists];
  }

  #index(ownership: Ownership): void {
    this.#change(ownership, (covering = NOBODY) => [...covering, ownership]);
  }

  /** Changes the lists of all values of an ownership: each different list once, so that values still share them. */
  #change(ownership: Ownership, change: (covering?: readonly Ownership[]) => readonly Ownership[]): void {
    const changed = new Map<readonly Ownership[] | undefined, readonly Ownership[]>();
    for (const field of ownership.values!.fields) {
      const before = this.#byField.get(field);
      let after = changed.get(before);
      if (after === undefined) changed.set(before, (after = change(before)));
      if (after.length > 0) this.#byField.set(field, after);
      else this.#byField.delete(field);
    }
  }
}
