import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';

const docs = path.resolve(__dirname, '..', '..', 'docs');

/** A test that a table of docs/reliability.md names: `[title](../test/…/x.test.ts)`. */
const QUOTED = /\[([^\]]+)\]\(([^)]+\.test\.ts)\)/g;

describe('docs/reliability.md', () => {
  const text = fs.readFileSync(path.join(docs, 'reliability.md'), 'utf8');
  const quoted = [...text.matchAll(QUOTED)].map(([, title, file]) => ({ title: title!, file: file! }));

  it('shows every fault by a test', () => {
    const rows = text.split('\n').filter((line) => /^\| /.test(line) && !/^\| (fault|limit|when|-+) /.test(line));
    expect(rows).not.to.have.lengthOf(0);
    expect(rows.filter((row) => !/\.test\.ts\)/.test(row))).to.deep.equal([]);
  });

  it('names tests that exist', () => {
    const missing = quoted.filter(({ title, file }) => {
      const place = path.join(docs, file);
      return !fs.existsSync(place) || !titles(fs.readFileSync(place, 'utf8')).some((one) => one.includes(title));
    });
    expect(missing).to.deep.equal([]);
  });
});

/** The titles of the tests of a file, as they are written: a title that is put together keeps its `${…}`. */
function titles(source: string): string[] {
  return [...source.matchAll(/\bit\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`([^`]*)`)/g)].map(
    ([, single, double, template]) => (single ?? double ?? template)!.replaceAll(/\\(.)/g, '$1'),
  );
}
