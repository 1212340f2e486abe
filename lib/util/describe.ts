import { inspect } from 'node:util';

/** What a message says instead of a text that is not shown. */
export const MAY_HOLD_A_SECRET = 'a text that may hold a secret';

/**
 * What a value is, for a message, without showing what may hold a password: objects are named, not printed.
 *
 * @param value - anything
 * @returns e.g. `5`, `'on'`, `null`, `a list of 2`, `an instance of Map`
 */
export function describe(value: unknown): string {
  if (typeof value === 'string') return isSuspicious(value) ? MAY_HOLD_A_SECRET : `'${value}'`;
  if (typeof value === 'function') return 'a function';
  return typeof value === 'object' ? describeObject(value) : inspect(value);
}

function describeObject(value: object | null): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  const { constructor } = value as { readonly constructor?: { readonly name?: unknown } };
  const name = typeof constructor === 'function' ? constructor.name : '';
  return name === 'Object' || name === '' ? 'an object' : `an instance of ${name}`;
}

/** Addresses hold passwords, and a text that is long or has several lines was not meant to be shown. */
function isSuspicious(text: string): boolean {
  return text.length > 100 || /[@\n]|:\/\//.test(text);
}

/**
 * The number of single-letter insertions, deletions and replacements between two words (Levenshtein).
 *
 * @param a - one word
 * @param b - the other
 */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}

/**
 * What a mistyped word was probably meant to be. Upper and lower case do not count.
 *
 * @param word - the unknown word
 * @param known - the words there are
 * @returns the nearest known word, the first of equally near ones; `undefined` when there are none
 */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (best === undefined || distance < best.distance) best = { candidate, distance };
  }
  return best?.candidate;
}
