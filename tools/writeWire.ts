import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from './buildOutput';
import { stateEntry, withStateEntry } from './changelog';
import { formatted } from './formatted';
import { readPrevious } from './previous';
import { currentWire, wireEntry, wireProblems } from './wire';
import { wirePage } from './wirePage';

const USAGE = `npm run docs:wire                          writes docs/wire.md
npm run docs:wire -- --upgrade "<text>"    and the entry in CHANGELOG.md that says what a rolling upgrade may do
npm run docs:wire -- --same                and that entry with the text that it has, for the wire as it is now`;

/** `npm run docs:wire`. */
async function main([flag, text, ...more]: readonly string[]): Promise<void> {
  const previous = readPrevious();
  const wire = currentWire(previous.wire);
  const page = path.join(projectRoot, 'docs', 'wire.md');
  const expected = await formatted(page, wirePage(previous.wire, previous.name, wire));
  const file = path.join(projectRoot, 'CHANGELOG.md');
  let changelog = fs.readFileSync(file, 'utf8');
  const said = flag === '--upgrade' ? text : flag === '--same' ? stateEntry(changelog, 'Wire')?.text : undefined;
  if (more.length > 0 || (flag !== undefined && said === undefined)) {
    process.stderr.write(`${USAGE}\n`);
    process.exitCode = 64;
    return;
  }
  fs.writeFileSync(page, expected);
  if (said !== undefined && wire.hash !== previous.wire.hash) {
    changelog = await formatted(file, withStateEntry(changelog, wireEntry(wire, said)));
    fs.writeFileSync(file, changelog);
  }
  for (const problem of wireProblems(previous.wire, wire, { page: expected, expected, changelog })) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}

void main(process.argv.slice(2));
