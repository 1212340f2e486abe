import { Help } from 'commander';
import stringWidth from 'string-width';

/** How many columns of a terminal a text takes. */
export function widthOf(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text);
}

/** The columns of stdout. What a file or a pipe takes has no end. */
export function stdoutWidth(): number {
  return process.stdout.columns || Infinity;
}

/** The beginning of a text that fits. */
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

/** A text without its middle: the end of a name tells it from its neighbours. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const tail = fit([...text].reverse().join(''), Math.floor(width / 3));
  return `${fit(text, width - widthOf(tail) - 1)}…${[...tail].reverse().join('')}`;
}

/** How commander breaks lines, with other widths than its own. */
const layout = Object.assign(new Help(), { displayWidth: widthOf, minWidthToWrap: 0 });

/**
 * A text in as many lines as it needs. A word that is too long for a line, an address or a file, gets one of its own,
 * where a terminal breaks it and it can still be copied.
 *
 * @param indent - where the text begins, after its label, and of the lines that follow
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

/** A text in lines of exactly that width, broken anywhere. */
export function chop(text: string, width: number): string {
  const lines: string[] = [];
  for (let rest = text; rest !== '';) {
    // At least one character, or there is no end.
    const line = fit(rest, width) || [...rest][0]!;
    lines.push(line);
    rest = rest.slice(line.length).trimStart();
  }
  return lines.join('\n');
}
