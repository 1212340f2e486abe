import { allCells, AXES, type Axis, type Cell } from './axes';

/**
 * Few combinations in which every pair of values of two axes occurs: most defects need two things to meet, hardly any
 * needs three. The same values give the same cells.
 */
export function pairwise(values: Readonly<Record<Axis, readonly string[]>>): Cell[] {
  const candidates = allCells(values).map((cell) => ({ cell, pairs: pairsOf(cell) }));
  const missing = new Set(candidates.flatMap(({ pairs }) => pairs));
  const chosen: Cell[] = [];
  const uses = new Map<string, number>();
  const usesOf = (cell: Cell): number => AXES.reduce((sum, axis) => sum + (uses.get(cell[axis]) ?? 0), 0);
  while (missing.size > 0) {
    let best = candidates[0]!;
    let most = 0;
    for (const candidate of candidates) {
      const gain = candidate.pairs.filter((pair) => missing.has(pair)).length;
      // Among equals the one whose values were taken less often.
      if (gain > most || (gain === most && usesOf(candidate.cell) < usesOf(best.cell))) {
        [best, most] = [candidate, gain];
      }
    }
    for (const pair of best.pairs) missing.delete(pair);
    for (const axis of AXES) uses.set(best.cell[axis], (uses.get(best.cell[axis]) ?? 0) + 1);
    chosen.push(best.cell);
  }
  return chosen;
}

/** The pairs of values in a cell, each as text. */
export function pairsOf(cell: Cell): string[] {
  return AXES.flatMap((one, i) => AXES.slice(i + 1).map((other) => `${cell[one]} + ${cell[other]}`));
}
