import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../buildOutput';
import { drawCharts } from './charts';

// `npm run docs:charts`: the charts of docs/benchmarks.md, from the tables of bench/archive.md.

for (const [name, svg] of drawCharts(fs.readFileSync(path.join(projectRoot, 'bench', 'archive.md'), 'utf8'))) {
  fs.writeFileSync(path.join(projectRoot, 'docs', 'images', `bench-${name}.svg`), svg);
}
