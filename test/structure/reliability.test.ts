import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';

const root = path.resolve(__dirname, '..', '..');
const promises = path.join(root, 'test', 'promises');

/** A test that a table of test/promises/reliability.md names: `[title](../…/x.test.ts)`. */
const QUOTED = /\[([^\]]+)\]\(([^)]+\.test\.ts)\)/g;

describe('docs/reliability.md', () => {
  const page = fs.readFileSync(path.join(root, 'docs', 'reliability.md'), 'utf8');
  const shown = fs.readFileSync(path.join(promises, 'reliability.md'), 'utf8');
  const rows = rowsOf(shown);
  const quoted = [...shown.matchAll(QUOTED)].map(([, title, file]) => ({ title: title!, file: file! }));

  it('links to the tables of what is shown, which have each row of its own', () => {
    expect(page).to.contain('](../test/promises/reliability.md)');
    const cases = rowsOf(page).map(firstCell);
    expect(cases).not.to.have.lengthOf(0);
    expect(rows.map(firstCell)).to.include.members(cases);
  });

  it('shows every fault by a test', () => {
    expect(rows).not.to.have.lengthOf(0);
    expect(rows.filter((row) => !/\.test\.ts\)/.test(row))).to.deep.equal([]);
  });

  it('names tests that exist', () => {
    const missing = quoted.filter(({ title, file }) => {
      const place = path.join(promises, file);
      return !fs.existsSync(place) || !titles(fs.readFileSync(place, 'utf8')).some((one) => one.includes(title));
    });
    expect(missing).to.deep.equal([]);
  });
});

/** The rows of the tables of a page, without their heads. */
function rowsOf(text: string): string[] {
  return text.split('\n').filter((line) => /^\| /.test(line) && !/^\| (fault|limit|when|-+) /.test(line));
}

function firstCell(row: string): string {
  return row.split('|')[1]!.trim();
}

/** The titles of the tests of a file, as they are written: a title that is put together keeps its `${…}`. */
function titles(source: string): string[] {
  return [...source.matchAll(/\bit\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`([^`]*)`)/g)].map(
    ([, single, double, template]) => (single ?? double ?? template)!.replaceAll(/\\(.)/g, '$1'),
  );
}
