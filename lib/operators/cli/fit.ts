import { Help } from 'commander';
import stringWidth from 'string-width';

/** The width of a text, in terminal columns. */
export function widthOf(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text);
}

/** The width of stdout, in columns. A file or a pipe has no limit. */
export function stdoutWidth(): number {
  return process.stdout.columns || Infinity;
}

/** The start of a text, as much as fits into the width. */
export function fit(text: string, width: number): string {
  if (text.length <= width && widthOf(text) <= width) return text;
  let taken = 0;
  let end = 0;
  for (const char of text) {
    taken += widthOf(char);
    if (taken > width) break;
    end += char.length;
  }
  return text.slice(0, end).trimEnd();
}

/** Cuts out the middle of a text: names often differ only at the end. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const tail = fit([...text].reverse().join(''), Math.floor(width / 3));
  return `${fit(text, width - widthOf(tail) - 1)}…${[...tail].reverse().join('')}`;
}

/** Commander's line wrapping, with our own measure of width. */
const layout = Object.assign(new Help(), { displayWidth: widthOf, minWidthToWrap: 0 });

/**
 * Wraps a text. A word that is too long for a line, such as an address or a file name, gets a line of its own without
 * an indent: the terminal breaks it, and the user can still copy it.
 *
 * @param indent - the column in which the text begins, after its label, and in which further lines begin
 */
export function wrap(text: string, width: number, indent: number): string {
  if (widthOf(text) <= width) return text;
  const margin = ' '.repeat(indent);
  const lines = layout.boxWrap(text.slice(indent), Math.max(0, width - indent)).split('\n');
  const placed = lines.map((line) => (indent + widthOf(line) <= width ? margin + line : line));
  const label = text.slice(0, indent);
  if (placed[0] !== lines[0]) placed[0] = label + lines[0];
  else placed.unshift(label.trimEnd());
  return placed.join('\n');
}

/** Splits a text into lines that fit the width, at any character. */
export function chop(text: string, width: number): string {
  const lines: string[] = [];
  for (let rest = text; rest !== '';) {
    // At least one character per line, or the loop never ends.
    const line = fit(rest, width) || [...rest][0]!;
    lines.push(line);
    rest = rest.slice(line.length).trimStart();
  }
  return lines.join('\n');
}
