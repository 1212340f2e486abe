/** Writes the table of edges and the picture of docs/architecture.md from the code. Read the difference before you commit. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { edgesOf, PICTURE, pictureOf } from './architecture';

const root = path.resolve(__dirname, '..', '..');
const edges = edgesOf(path.join(root, 'lib'));
const rows = Object.entries(edges).map(([place, to]) => `  '${place}': [${to.map((one) => `'${one}'`).join(', ')}],`);
const table = [
  "import type { Edges } from './architecture';",
  '',
  '/** Who may import whom; exactly these. Written by `npm run docs:architecture`, drawn in docs/architecture.md. */',
  'export const EDGES: Edges = {',
  ...rows,
  '};',
  '',
].join('\n');
fs.writeFileSync(path.join(__dirname, 'edges.ts'), table);
const page = path.join(root, 'docs', 'architecture.md');
const text = fs.readFileSync(page, 'utf8');
fs.writeFileSync(
  page,
  text.replace(PICTURE, (_, before: string, after: string) => `${before}${pictureOf(edges)}${after}`),
);
