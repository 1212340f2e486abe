import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../buildOutput';
import { drawCharts } from './charts';

// `npm run docs:charts`: the charts of docs/benchmarks.md, from its tables.

const docs = path.join(projectRoot, 'docs');
for (const [name, svg] of drawCharts(fs.readFileSync(path.join(docs, 'benchmarks.md'), 'utf8'))) {
  fs.writeFileSync(path.join(docs, 'images', `bench-${name}.svg`), svg);
}
