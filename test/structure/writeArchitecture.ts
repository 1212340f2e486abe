/**
 * Writes the table of edges and the picture of docs/architecture.md from the code. Read the difference before you
 * commit.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import { edgesOf, PICTURE, pictureOf, tableOf } from './architecture';

const root = path.resolve(__dirname, '..', '..');

async function main(): Promise<void> {
  const edges = edgesOf(path.join(root, 'lib'));
  const file = path.join(__dirname, 'edges.ts');
  fs.writeFileSync(file, await tableOf(edges, file));
  const page = path.join(root, 'docs', 'architecture.md');
  const text = fs.readFileSync(page, 'utf8');
  fs.writeFileSync(
    page,
    text.replace(PICTURE, (_, before: string, after: string) => `${before}${pictureOf(edges)}${after}`),
  );
}

void main();
