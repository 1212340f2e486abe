import { allCells, AXES, type Axis, type Cell } from './axes';

/**
 * Few combinations in which every pair of values of two axes occurs: most defects need two things to meet, hardly any
 * needs three. The same values give the same cells.
 */
export function pairwise(values: Readonly<Record<Axis, readonly string[]>>): Cell[] {
  const candidates = allCells(values).map((cell) => ({ cell, pairs: pairsOf(cell) }));
  const missing = new Set(candidates.flatMap(({ pairs }) => pairs));
  const chosen: Cell[] = [];
  while (missing.size > 0) {
    let best = candidates[0]!;
    let most = 0;
    for (const candidate of candidates) {
      const gain = candidate.pairs.filter((pair) => missing.has(pair)).length;
      if (gain > most) [best, most] = [candidate, gain];
    }
    for (const pair of best.pairs) missing.delete(pair);
    chosen.push(best.cell);
  }
  return chosen;
}

/** The pairs of values in a cell, each as text. */
export function pairsOf(cell: Cell): string[] {
  return AXES.flatMap((one, i) => AXES.slice(i + 1).map((other) => `${cell[one]} + ${cell[other]}`));
}
