/** After so many deletions at the earliest the entries move to a new map. */
const MIN_DELETED = 64;

/**
 * A map whose entries come and go quickly. V8 links each table that a map has outgrown to the next one. Once the garbage
 * collector has moved one of them to the old generation, all later ones, and whatever was in them, survive until the
 * next full collection: with a few entries per millisecond that costs more than everything else that a lock needs. So the
 * entries move to a new map before that adds up.
 */
export class ChurnedMap<K, V> {
  #map = new Map<K, V>();
  #deleted = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  set(key: K, value: V): void {
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    const deleted = this.#map.delete(key);
    if (deleted && ++this.#deleted > Math.max(MIN_DELETED, this.#map.size)) {
      this.#deleted = 0;
      this.#map = new Map(this.#map);
    }
    return deleted;
  }

  clear(): void {
    this.#map.clear();
  }

  /** Those that there are now: later changes may be missing in it. */
  values(): IterableIterator<V> {
    return this.#map.values();
  }
}
