/** Seeded numbers: the same seed gives the same test, here and in a report of a failure. */
export interface Random {
  /** A whole number from 0 up to, not including, `n`. */
  below(n: number): number;
  pick<T>(from: readonly T[]): T;
  /** True in so many of a hundred cases. */
  chance(percent: number): boolean;
}

/** A small linear congruential generator (Lehmer, modulus 2^31 - 1): far good enough to choose test cases. */
export function seededRandom(seed: number): Random {
  let state = (seed % 2_147_483_646) + 1;
  const below = (n: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return Math.floor((state / 2_147_483_647) * n);
  };
  return {
    below,
    pick: <T>(from: readonly T[]): T => from[below(from.length)] as T,
    chance: (percent) => below(100) < percent,
  };
}
