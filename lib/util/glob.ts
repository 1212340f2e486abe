/** One element of a pattern: `\x`; a class with its items and its `]`, if it has one; any other character. */
const TOKEN = /\\(?<literal>[^])|\[(?<not>\^?)(?<items>(?:\\[^]|[^\]]-[^]|[^\]])*)(?<end>\]?)|[^]/g;
/** An item of a class: `\x`; a range, whose end may be its `]`; any other character. */
const ITEM = /\\([^])|([^])-([^])|[^]/g;

/**
 * A Redis glob as a test: `*`, `?`, `[a-z]`, `[^a]`, `\x`, byte by byte, including the oddities of Redis. We match
 * names here, not in Redis, because a lock has several keys and the name mapper can change a name.
 *
 * Source: `stringmatchlen` of Redis.
 */
export function globTest(glob: string): (text: string) => boolean {
  const parts = [''];
  for (const { 0: token, groups } of bytesOf(glob).matchAll(TOKEN)) {
    if (token === '*') parts.push('');
    else parts[parts.length - 1] += sourceOf(token, groups!);
  }
  // Each part between two stars matches at its first occurrence, without backtracking: many stars cost no more than
  // one. Each part is its own expression: one for thousands of stars would be too large for the engine.
  const last = parts.length - 1;
  const tests = parts.map((part, i) => new RegExp((i === 0 ? '^' : '') + part + (i === last ? '$' : ''), 'g'));
  return (text) => {
    const bytes = bytesOf(text);
    let at = 0;
    return tests.every((test) => {
      test.lastIndex = at;
      const found = test.test(bytes);
      at = test.lastIndex;
      return found;
    });
  };
}

/** A test whether a name matches one of these patterns. */
export function anyGlobTest(globs: readonly string[]): (text: string) => boolean {
  const tests = globs.map(globTest);
  return (text) => tests.some((test) => test(text));
}

/**
 * A pattern for SCAN that finds every key containing a name that matches.
 * @returns `undefined` if all keys must be scanned: an open `[` or a final `\` would absorb the `*` that we append
 */
export function scanFilter(glob: string): string | undefined {
  const last = [...glob.matchAll(TOKEN)].at(-1);
  const isOpen = last?.[0] === '\\' || last?.groups!['end'] === '';
  return isOpen ? undefined : `*${glob}*`;
}

/** The regular expression of one token, for one byte. */
function sourceOf(token: string, { literal, not = '', items }: Record<string, string | undefined>): string {
  if (items === undefined) return token === '?' ? '[^]' : escaped(literal ?? token);
  const each = items.replace(ITEM, (item, char?: string, from?: string, to?: string) => {
    if (from === undefined || to === undefined) return escaped(char ?? item);
    // Redis accepts the ends of a range in any order.
    return from < to ? `${escaped(from)}-${escaped(to)}` : `${escaped(to)}-${escaped(from)}`;
  });
  return `[${not}${each}]`;
}

function escaped(byte: string): string {
  return `\\x${Buffer.from(byte, 'latin1').toString('hex')}`;
}

/** The bytes of a text, one character per byte. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}
