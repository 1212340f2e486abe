import { callUserCode } from './userCode';

/** The listeners of the user to one kind of event. */
export class Listeners<E> {
  readonly #what: string;
  readonly #all = new Set<(event: E) => unknown>();

  /** @param what - as for {@link callUserCode} */
  constructor(what: string) {
    this.#what = what;
  }

  /** Adds a listener. @returns a function that removes it */
  add(listener: (event: E) => unknown): () => void {
    // A wrapper of its own, so that one function added twice is called twice and removed once.
    const entry = (event: E): unknown => listener(event);
    this.#all.add(entry);
    return () => void this.#all.delete(entry);
  }

  /** Calls them all, but not those that one of them adds. */
  tell(event: E): void {
    for (const listener of [...this.#all]) callUserCode(this.#what, () => listener(event));
  }

  /** Removes them all. */
  clear(): void {
    this.#all.clear();
  }
}
