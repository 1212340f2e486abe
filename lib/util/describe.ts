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

/** How other libraries call an option, in small letters; how it is called here; what else to know. */
const SYNONYMS: readonly (readonly [words: RegExp, names: readonly string[], note?: string])[] = [
  [
    /^(ttl|duration|stale|lockatmostfor|releasetime|(lock|lease)(ttl|timeout|duration)?|expir.*)$/,
    ['leaseTime', 'expire'],
    ' Without it a lock is renewed while it is held.',
  ],
  [/^lockatleastfor$/, ['atLeast']],
  [/^((acquire|wait|max)*(timeout|wait)|acquire(time|attemptslimit)|(max)?(attempts|retr(y|ies)\w*))$/, ['waitTime']],
  [/^timeunit$/, ['unit']],
  [/^(key)?prefix$/, ['nameMapper']],
  [/^credential/, ['credentials']],
  [/^(refresh|(automatic)?extension|autoextend)/, [], '; a lock without leaseTime is renewed'],
  [/^on(locklost|compromised)$/, [], '; hold.signal aborts when the lock is lost'],
];

/**
 * What an unknown word was probably meant to be: a word of another library, or a mistyped one. Upper and lower case do
 * not count.
 *
 * @param word - the unknown word
 * @param known - the words there are
 * @returns the known word, the first of equally near ones; `undefined` when none is near
 */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const lower = word.toLowerCase();
  const all = [...known];
  const synonyms = SYNONYMS.find(([words]) => words.test(lower))?.[1];
  const synonym = synonyms?.find((name) => all.includes(name));
  if (synonyms !== undefined) return synonym;
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of all) {
    const distance = editDistance(lower, candidate.toLowerCase());
    if (distance < (best?.distance ?? Infinity)) best = { candidate, distance };
  }
  return best !== undefined && best.distance <= Math.max(word.length, best.candidate.length) / 3
    ? best.candidate
    : undefined;
}

/**
 * The end of a sentence about an unknown word: what was probably meant, if anything is near.
 *
 * @param known - as for {@link nearest}
 * @param otherwise - the end where nothing is near
 */
export function suggestion(word: string, known: Iterable<string>, otherwise = '', path = ''): string {
  const found = nearest(word, known);
  const note = SYNONYMS.find(([words]) => words.test(word.toLowerCase()))?.[2];
  if (found !== undefined) return `; did you mean '${path}${found}'?${note ?? ''}`;
  return note?.startsWith(';') === true ? note : otherwise;
}
