import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../../tools/buildOutput';

/** The rows of a table: the cells of each, without the head. */
function rows(page: string, heading: string): string[][] {
  const section = page.slice(page.indexOf(heading));
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** What docs/compatibility.md says was run, without patch versions: `Node 20`, `Redis 7.0`. */
function run(): Set<string> {
  const page = fs.readFileSync(path.join(projectRoot, 'docs', 'compatibility.md'), 'utf8');
  const [runtimes, clients, servers] = rows(page, '## What is needed').map(([, , tried]) => tried!.split(', '));
  const upTo = (parts: number) => (text: string) => text.split('.').slice(0, parts).join('.');
  const others = /^(?:Bun|Deno|iovalkey)/;
  return new Set([
    ...[...runtimes!, ...clients!].filter((one) => !others.test(one)).map(upTo(1)),
    ...servers!.map(upTo(2)),
  ]);
}

describe('the table of supported versions (SECURITY.md)', () => {
  const table = rows(fs.readFileSync(path.join(projectRoot, 'SECURITY.md'), 'utf8'), '## Supported versions');

  it('says of exactly those that they are run that docs/compatibility.md has', () => {
    const claimed = table.filter(([, tested]) => tested!.startsWith('yes')).map(([what]) => what);
    expect(claimed).to.have.members([...run()]);
  });

  it('has an end of life for each, and says of those before today that they are over', () => {
    // Of the last run, so that the test does not fail by itself one day.
    const [, today] = /^(\d{4}-\d{2}-\d{2}): /m.exec(
      fs.readFileSync(path.join(projectRoot, 'docs', 'compatibility.md'), 'utf8'),
    )!;
    for (const [what, , end] of table) {
      if (end === 'not announced') continue;
      const [date, over] = end!.split(' ');
      expect(date, what).to.match(/^\d{4}-\d{2}-\d{2}$/);
      expect(over === '(over)', what).to.equal(date! < today!);
    }
  });
});
