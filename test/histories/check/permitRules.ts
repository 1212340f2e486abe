import type { CallRecord, Take } from './calls';
import { inOrder, type Rule, shown, type Violation } from './rules';

/**
 * Never more permits than there are, with ids or without; none twice; and those that are left are no more than that.
 */
export const permits: Rule = ({ takes, others }) => {
  const found: Violation[] = [];
  const taken = takes.filter(({ invoke }) => invoke.permits !== undefined);
  const asked = others.filter(({ invoke, completion }) => invoke.call === 'available' && completion?.type === 'ok');
  const inside = new Set<Take>();
  const sets = others.filter(({ invoke }) => invoke.call === 'set');
  const left = leastLeft(taken, sets);
  for (const { take, leaves, asks } of inOrder(taken, asked)) {
    if (leaves !== undefined) inside.delete(leaves);
    else if (take !== undefined) {
      inside.add(take);
      const total = take.invoke.total ?? Infinity;
      const now = sum(inside);
      if (now <= total) continue;
      const text = `${now} are taken, and there are ${total}`;
      found.push({ rule: 'more permits than there are', text, calls: [...inside] });
    } else if (asks !== undefined) {
      const { total = Infinity } = asks.invoke;
      const { value = 0, at: endedAt } = asks.completion!;
      const certain = [...inside].filter(({ end }) => end > endedAt);
      const least = left(asks);
      if (value < least) {
        const text = `${shown(asks)} found ${value} of ${total}, where at least ${least} must be`;
        found.push({ rule: 'permits are gone', text, calls: [...certain, asks] });
      }
      if (value >= 0 && value <= total - sum(certain)) continue;
      const text = `${shown(asks)} found ${value} of ${total}, and ${sum(certain)} are taken`;
      found.push({ rule: 'more permits than there are', text, calls: [...certain, asks] });
    }
  }
  const owners = new Map<string, Take>();
  // Somebody may have set them who is not in the history.
  const first = sets.length === 0 ? -Infinity : Math.min(...sets.map(({ invoke }) => invoke.at));
  for (const take of taken) {
    const { invoke, completion } = take;
    const { ids } = completion ?? {};
    if (completion?.type === 'ok' && (completion.at < first || (ids && ids.length !== invoke.permits))) {
      const text = `${shown(take)} got ${ids?.length ?? invoke.permits}, and asked for ${invoke.permits}`;
      found.push({ rule: 'a permit from nowhere', text, calls: [take] });
    }
    for (const id of take.completion?.ids ?? []) {
      const other = owners.get(id);
      const text = `${id} is that of ${other && shown(other)} and of ${shown(take)}`;
      if (other !== undefined) found.push({ rule: 'a permit twice', text, calls: [other, take] });
      owners.set(id, take);
    }
  }
  return found;
};

/**
 * So many permits must be left at least, whoever asks: all that were set, less those that somebody may have. An attempt
 * that failed, or that has an unknown outcome, may have some for long.
 */
function leastLeft(taken: readonly Take[], sets: readonly CallRecord[]): (asks: CallRecord) => number {
  const out = summed(taken.map(({ invoke }) => [invoke.at, invoke.permits ?? 0]));
  const back = summed(
    taken.map(({ invoke, releases }) => {
      const done = releases.find(({ completion }) => completion?.type === 'ok');
      return [done?.completion?.at ?? Infinity, invoke.permits ?? 0];
    }),
  );
  const set = sets.find(({ completion }) => completion?.type === 'ok');
  return ({ invoke, completion }) => {
    if (set === undefined || set.completion!.at >= invoke.at) return -Infinity;
    return (set.invoke.total ?? 0) - out(completion!.at) + back(invoke.at);
  };
}

/** The sum of all numbers that were there at some time. */
function summed(numbers: readonly (readonly [at: number, number: number])[]): (at: number) => number {
  const sorted = [...numbers].sort(([a], [b]) => a - b);
  const sums = [0];
  for (const [, number] of sorted) sums.push(sums.at(-1)! + number);
  return (at) => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]![0] <= at) low = middle + 1;
      else high = middle;
    }
    return sums[low]!;
  };
}

/** Only one sets the number of permits. */
export const setting: Rule = ({ others }) => {
  const done = others.filter(({ invoke, completion }) => invoke.call === 'set' && completion?.type === 'ok');
  if (done.length < 2 || others.some(({ invoke }) => invoke.call === 'down' || invoke.call === 'await')) return [];
  return [{ rule: 'set twice', text: done.map(shown).join(' and '), calls: done }];
};

/**
 * A latch opens, and can be set again, when it has been counted down as often as it was set to, and not before. One
 * that nobody has set is open.
 */
export const latches: Rule = ({ others }) => {
  const downs = others.filter(({ invoke }) => invoke.call === 'down').map(({ invoke }) => invoke.at);
  const sets = others.filter(({ invoke, completion }) => invoke.call === 'set' && completion?.type === 'ok');
  sets.sort((a, b) => a.completion!.at - b.completion!.at);
  const found: Violation[] = [];
  for (const one of others) {
    const { invoke, completion } = one;
    if (invoke.call !== 'await' || completion?.type !== 'ok') continue;
    if (sets.length === 0 || sets[0]!.completion!.at > invoke.at) continue;
    const before = downs.filter((at) => at < completion.at).length;
    const total = invoke.total ?? 0;
    if (before >= total) continue;
    const text = `${shown(one)} passed after ${before} of ${total}`;
    found.push({ rule: 'a latch opens early', text, calls: [sets[0]!, one] });
  }
  if (downs.length === 0) return found;
  for (const [i, one] of sets.entries()) {
    const before = downs.filter((at) => at < one.completion!.at).length;
    const needed = i * (one.invoke.total ?? 0);
    if (before >= needed) continue;
    const text = `${shown(one)} is number ${i + 1}, after ${before} of ${needed}`;
    found.push({ rule: 'set twice', text, calls: [sets[i - 1]!, one] });
  }
  return found;
};

function sum(takes: Iterable<Take>): number {
  let permits = 0;
  for (const { invoke } of takes) permits += invoke.permits ?? 0;
  return permits;
}
