/** A fenced block of code. */
export interface CodeBlock {
  /** The line of the opening fence, from 1. */
  readonly line: number;
  /** Lower case; empty when none is given. */
  readonly language: string;
  readonly code: string;
  /** What an HTML comment `<!-- snippet: ... -->` right above it says. */
  readonly note: string | undefined;
}

/** The fenced blocks of a Markdown text, in order. */
export function codeBlocks(markdown: string): CodeBlock[] {
  const lines = markdown.split('\n');
  const blocks: CodeBlock[] = [];
  for (let at = 0; at < lines.length; at++) {
    const fence = /^(\s*)(`{3,}|~{3,})\s*(\S*)/.exec(lines[at] ?? '');
    if (fence === null) continue;
    const [, indent = '', ticks = '', language = ''] = fence;
    const end = lines.findIndex((line, index) => index > at && line.trim() === ticks);
    if (end === -1) throw new Error(`line ${at + 1}: the block has no end`);
    const code = lines.slice(at + 1, end).map((line) => line.slice(line.startsWith(indent) ? indent.length : 0));
    blocks.push({ line: at + 1, language: language.toLowerCase(), code: code.join('\n'), note: noteAbove(lines, at) });
    at = end;
  }
  return blocks;
}

/** A table whose last column is code, below an HTML comment `<!-- snippet: table ... -->`. */
export interface CodeTable {
  /** The line of the comment, from 1. */
  readonly line: number;
  /** What the comment says. */
  readonly note: string;
  /** The code of each row. */
  readonly rows: readonly string[];
}

/** The tables of code of a Markdown text, in order. */
export function codeTables(markdown: string): CodeTable[] {
  return [...markdown.matchAll(/^<!-- snippet: table\n([^]*?)\n-->\n+((?:\|.*\n)+)/gm)].map((found) => {
    const [, note = '', table = ''] = found;
    const line = markdown.slice(0, found.index).split('\n').length;
    const [, , ...rows] = table.trim().split('\n');
    return {
      line,
      note,
      rows: rows.map((row) => {
        const code = /\| `([^`]+)` +\|$/.exec(row)?.[1];
        if (code === undefined) throw new Error(`line ${line}: a row has no code in its last column: ${row}`);
        return code;
      }),
    };
  });
}

function noteAbove(lines: readonly string[], at: number): string | undefined {
  let end = at - 1;
  while (end >= 0 && lines[end]?.trim() === '') end -= 1;
  if (lines[end]?.trimEnd().endsWith('-->') !== true) return undefined;
  let start = end;
  while (start > 0 && lines[start]?.includes('<!--') !== true) start -= 1;
  const comment = lines
    .slice(start, end + 1)
    .join('\n')
    .trim();
  return /^<!--\s*snippet:\s*([^]*?)\s*-->$/.exec(comment)?.[1];
}
