/** Numbers that look random and come back for the same seed (sfc32). */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param seed - an integer */
  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = Math.floor(seed / 2 ** 32) | 0;
    this.#c = 0x9e3779b9;
    for (let i = 0; i < 15; i++) this.next();
  }

  /** From 0 to below 1. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  /** An integer from 0 to `n - 1`. */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  /** A number from `low` to `high`. */
  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** Whether something happens that happens so often in a hundred. */
  chance(percent: number): boolean {
    return this.next() * 100 < percent;
  }

  /** One of them. */
  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }

  /** A time around a mean: mostly shorter, now and then much longer. */
  around(mean: number): number {
    return -mean * Math.log(1 - this.next());
  }
}
