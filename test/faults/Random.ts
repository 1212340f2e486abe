/** Numbers that look random and come back for the same seed (xorshift32). */
export class Random {
  #state: number;

  /** @param seed - a positive integer */
  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  /** An integer from 0 to `n - 1`. */
  below(n: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % n;
  }

  /** An integer from `low` to `high`. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** Whether something happens that happens so often in a hundred. */
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  /** One of them. */
  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }

  /** Another source, whose numbers do not depend on how often this one is asked afterwards. */
  fork(): Random {
    return new Random(this.between(1, 0x7fffffff));
  }
}
