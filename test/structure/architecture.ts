import * as path from 'node:path';
import { formatted } from '../../tools/formatted';
import { importsOf, sourceFiles } from './sourceGraph';

/** Who imports whom: a place -> the places it imports; `types:x` where only types of x are imported. */
export type Edges = Readonly<Record<string, readonly string[]>>;

/** The folder of a file under lib/, or the file itself where it lies directly in it. */
export function placeOf(lib: string, file: string): string {
  const name = path.relative(lib, file).split(path.sep).join('/');
  const folder = path.posix.dirname(name);
  return folder === '.' ? name : folder;
}

/** The edges that the code has. */
export function edgesOf(lib: string): Edges {
  const places = new Map<string, Map<string, boolean>>();
  for (const file of sourceFiles(lib)) {
    const from = placeOf(lib, file);
    const edges = places.get(from) ?? new Map<string, boolean>();
    places.set(from, edges);
    for (const { target, typeOnly } of importsOf(file)) {
      if (target === undefined) continue;
      const to = placeOf(lib, target);
      if (to !== from) edges.set(to, typeOnly && edges.get(to) !== false);
    }
  }
  const sorted = [...places].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    sorted.map(([from, edges]) => [from, [...edges].map(([to, typeOnly]) => (typeOnly ? `types:${to}` : to)).sort()]),
  );
}

/** The text of `edges.ts`, as prettier leaves it. */
export function tableOf(edges: Edges, file: string): Promise<string> {
  const rows = Object.entries(edges).map(([place, to]) => `  '${place}': [${to.map((one) => `'${one}'`).join(', ')}],`);
  const lines = [
    "import type { Edges } from './architecture';",
    '',
    '/** Who may import whom; exactly these. Written by `npm run docs:architecture`, drawn in docs/architecture.md. */',
    'export const EDGES: Edges = {',
    ...rows,
    '};',
  ];
  return formatted(file, lines.join('\n'));
}

/**
 * The places from the top to the bottom: each imports only such as come later. `api` comes last: it is erased by the
 * compiler, and names the classes it describes.
 * @returns without the places of a circle, if there is one
 */
export function layersOf(edges: Edges): string[] {
  const left = new Map(Object.entries(edges).filter(([place]) => place !== 'api'));
  const layers: string[] = [];
  for (;;) {
    const imported = new Set([...left.values()].flat().map((one) => one.replace(/^types:/, '')));
    const top = [...left.keys()].filter((place) => !imported.has(place));
    if (top.length === 0) return [...layers, 'api'];
    for (const place of top) left.delete(place);
    layers.push(...top);
  }
}

/** The picture: a line for each place, those above first. In brackets what is imported for its types only. */
export function pictureOf(edges: Edges): string {
  const order = layersOf(edges);
  const width = Math.max(...order.map((place) => place.length));
  const rank = (place: string): number => order.indexOf(place);
  const lines = order.flatMap((place) => {
    const all = edges[place] ?? [];
    const byRank = (names: readonly string[]): string[] => [...names].sort((a, b) => rank(a) - rank(b));
    const values = byRank(all.filter((one) => !one.startsWith('types:')));
    const types = byRank(all.filter((one) => one.startsWith('types:')).map((one) => one.slice('types:'.length)));
    const words = [...values, ...types.map((one) => `(${one})`)];
    return wrapped(`${place.padEnd(width)} -> `, words);
  });
  return lines.join('\n');
}

function wrapped(head: string, words: readonly string[]): string[] {
  const lines: string[] = [];
  let line = head;
  for (const word of words) {
    if (line.length + word.length > 118) {
      lines.push(line.trimEnd());
      line = ' '.repeat(head.length);
    }
    line += `${word} `;
  }
  return [...lines, words.length === 0 ? line.replace(' -> ', '') : line].map((one) => one.trimEnd());
}

/** A step of a journey: the file, and what it is looked into for. */
export interface Step {
  readonly file: string;
  readonly names: readonly string[];
}

/** The steps of a journey in the page: list items that begin with the path of a file. */
export function stepsOf(page: string, heading: string): Step[] {
  const [, section = ''] = page.split(`### ${heading}\n`);
  const [own = ''] = section.split(/^##/m);
  return [...own.matchAll(/^\d+\. `([\w/]+\.ts)`([^\n]*(?:\n {3}[^\n]*)*)/gm)].map(([, file, text]) => ({
    file: file!,
    names: [...text!.matchAll(/`(\w+)`/g)].map(([, name]) => name!),
  }));
}

/** The text between the two marks of a generated part. */
export const PICTURE = /(<!-- picture -->\n\n```text\n)[\s\S]*?(\n```\n\n<!-- \/picture -->)/;
