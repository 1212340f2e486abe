const [STAR, ANY, OPEN, CLOSE, NOT, ESCAPE, TO] = [...'*?[]^\\-'].map((char) => char.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];

/**
 * A Redis glob as a test: `*`, `?`, `[a-z]`, `[^a]`, `\x`, byte by byte, and what is odd about them. Names are matched
 * here, since the keys of a lock are several, and the mapper of the configuration stands between name and key.
 *
 * Source: `stringmatchlen` of Redis.
 */
export function globTest(glob: string): (text: string) => boolean {
  const pattern = Buffer.from(glob);
  return (text) => matches(pattern, Buffer.from(text));
}

/**
 * What to give to SCAN so that it finds every key with a name in it that matches.
 * @returns `undefined` where only a walk over all keys does: what follows an open `[` or a last `\` belongs to it
 */
export function scanFilter(glob: string): string | undefined {
  const pattern = Buffer.from(glob);
  for (let i = 0; i < pattern.length; i++) {
    if (pattern[i] === OPEN) i = inClass(pattern, i, 0).end;
    else if (pattern[i] === ESCAPE) i++;
    if (i >= pattern.length) return undefined;
  }
  return `*${glob}*`;
}

function matches(pattern: Buffer, text: Buffer): boolean {
  let [p, t] = [0, 0];
  // Where to go on when what follows the last star does not match: the star takes one more byte.
  let [afterStar, resumeAt] = [-1, 0];
  for (;;) {
    if (p < pattern.length && pattern[p] === STAR) {
      afterStar = ++p;
      resumeAt = t;
      continue;
    }
    if (t === text.length && p === pattern.length) return true;
    const next = t < text.length && p < pattern.length ? matchOne(pattern, p, text[t]!) : undefined;
    if (next !== undefined) {
      p = next;
      t++;
    } else {
      if (afterStar === -1 || resumeAt >= text.length) return false;
      p = afterStar;
      t = ++resumeAt;
    }
  }
}

/** @returns where the pattern goes on after what stands for one byte; `undefined` where that is another byte */
function matchOne(pattern: Buffer, at: number, byte: number): number | undefined {
  const char = pattern[at];
  if (char === ANY) return at + 1;
  if (char === OPEN) {
    const { matched, end } = inClass(pattern, at, byte);
    return matched ? Math.min(end + 1, pattern.length) : undefined;
  }
  const isEscaped = char === ESCAPE && at + 1 < pattern.length;
  return pattern[isEscaped ? at + 1 : at] === byte ? at + (isEscaped ? 2 : 1) : undefined;
}

/**
 * Reads a class from its `[` on.
 * @returns whether the byte is in it, and where its `]` is: the end, where it has none
 */
function inClass(pattern: Buffer, at: number, byte: number): { readonly matched: boolean; readonly end: number } {
  let i = at + 1;
  const isNot = pattern[i] === NOT;
  if (isNot) i++;
  let isIn = false;
  for (; i < pattern.length && pattern[i] !== CLOSE; i++) {
    if (pattern[i] === ESCAPE && i + 1 < pattern.length) {
      if (pattern[++i] === byte) isIn = true;
    } else if (i + 2 < pattern.length && pattern[i + 1] === TO) {
      const [from, to] = [pattern[i]!, pattern[i + 2]!];
      // Redis takes the ends of a range in any order.
      if (byte >= Math.min(from, to) && byte <= Math.max(from, to)) isIn = true;
      i += 2;
    } else if (pattern[i] === byte) isIn = true;
  }
  return { matched: isIn !== isNot, end: i };
}
