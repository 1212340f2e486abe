import * as fs from 'node:fs';
import * as path from 'node:path';
import { apiEntry, apiPage, apiReport } from './apiReport';
import { ensureBuilt, projectRoot } from './buildOutput';
import { withStateEntry } from './changelog';
import { formatted } from './formatted';
import { readPrevious } from './previous';

/** `npm run docs:api-report`: docs/api-report.md, and the entry in CHANGELOG.md that names what has changed. */
async function main(): Promise<void> {
  ensureBuilt();
  const entries = apiReport();
  const page = path.join(projectRoot, 'docs', 'api-report.md');
  fs.writeFileSync(page, await formatted(page, apiPage(entries)));
  const entry = apiEntry(readPrevious().api, entries);
  if (entry === undefined) return;
  const file = path.join(projectRoot, 'CHANGELOG.md');
  fs.writeFileSync(file, await formatted(file, withStateEntry(fs.readFileSync(file, 'utf8'), entry)));
}

void main();
