/** One thing of a pattern: `\x`; a class with its items and its `]`, if it has one; any other character. */
const TOKEN = /\\(?<literal>[^])|\[(?<not>\^?)(?<items>(?:\\[^]|[^\]]-[^]|[^\]])*)(?<end>\]?)|[^]/g;
/** An item of a class: `\x`; a range, whose end may be its `]`; any other character. */
const ITEM = /\\([^])|([^])-([^])|[^]/g;

/**
 * A Redis glob as a test: `*`, `?`, `[a-z]`, `[^a]`, `\x`, byte by byte, and what is odd about them. Names are matched
 * here, since the keys of a lock are several, and the mapper of the configuration stands between name and key.
 *
 * Source: `stringmatchlen` of Redis.
 */
export function globTest(glob: string): (text: string) => boolean {
  const parts = [''];
  for (const { 0: token, groups } of bytesOf(glob).matchAll(TOKEN)) {
    if (token === '*') parts.push('');
    else parts[parts.length - 1] += sourceOf(token, groups!);
  }
  // What stands between two stars is taken where it is found first, for good: many stars cost no more than one. Each part
  // is an expression of its own: one expression for thousands of stars is too large for the engine.
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

/**
 * What to give to SCAN so that it finds every key with a name in it that matches.
 * @returns `undefined` where only a walk over all keys does: what follows an open `[` or a last `\` belongs to it
 */
export function scanFilter(glob: string): string | undefined {
  const last = [...glob.matchAll(TOKEN)].at(-1);
  const isOpen = last?.[0] === '\\' || last?.groups!['end'] === '';
  return isOpen ? undefined : `*${glob}*`;
}

/** A part of a regular expression for one byte. */
function sourceOf(token: string, { literal, not = '', items }: Record<string, string | undefined>): string {
  if (items === undefined) return token === '?' ? '[^]' : escaped(literal ?? token);
  const each = items.replace(ITEM, (item, char?: string, from?: string, to?: string) => {
    if (from === undefined || to === undefined) return escaped(char ?? item);
    // Redis takes the ends of a range in any order.
    return from < to ? `${escaped(from)}-${escaped(to)}` : `${escaped(to)}-${escaped(from)}`;
  });
  return `[${not}${each}]`;
}

function escaped(byte: string): string {
  return `\\x${Buffer.from(byte, 'latin1').toString('hex')}`;
}

/** A text as its bytes, a character for each. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}
