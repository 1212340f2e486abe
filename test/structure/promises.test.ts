import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';

const docs = path.resolve(__dirname, '..', '..', 'docs');
const tables = path.resolve(__dirname, '..', 'promises');

/** A test that a table names: `[a part of its title](../…/x.ts)`. */
const QUOTED = /\[((?:[^\]\\]|\\.)+)\]\((\.\.\/[^)]+\.ts)\)/g;

/** What begins a promise: an item of a list, or a row of a table, by its first words or its first cell. */
const ITEM = /^(?:- |\d+\. )(.*)$/gm;
const ROW = /^\| +(\S[^|]*?) +\|/gm;

/** What is said there, but not promised by this package. */
const NOT_PROMISED: Readonly<Record<string, readonly string[]>> = {
  threads: ['you write'],
  differences: ['Not offered:'],
  configuration: [
    'argument',
    'nothing',
    '`{ url?, ...settings }`',
    '`{ client, ...settings }`',
    'a `Config`',
    'setting',
    // What one does with it, and what it costs.
    '`role` is',
    'When four fifths of',
    'What it rejects with',
    'Instead of a function',
    'With `username` or `password`',
    'It costs a second connection',
    'Redis 6 or later.',
    'Both connections must reach',
    'It makes no lock safer',
    '`unlock()` resolves when',
    'The process counts on the lease',
    'It is for plain, non-reentrant',
    'Turns are the same',
    'After a loss from outside',
    'Node options that preload',
  ],
};

for (const [page, others] of Object.entries(NOT_PROMISED)) {
  describe(`docs/${page}.md`, () => {
    const text = fs.readFileSync(path.join(docs, `${page}.md`), 'utf8');
    const table = fs.readFileSync(path.join(tables, `${page}.md`), 'utf8');
    const shown = [...table.matchAll(ROW)].map(([, cell]) => plain(cell!)).slice(2);

    it('links to the table of its promises', () => {
      expect(text).to.contain(`](../test/promises/${page}.md)`);
    });

    it('shows every promise by a test', () => {
      const promises = [...text.matchAll(ITEM), ...text.matchAll(ROW)].map(([, words]) => plain(words!));
      const missing = promises.filter(
        (words) =>
          !/^-+$/.test(words) &&
          !others.some((other) => words.startsWith(plain(other))) &&
          !shown.some((one) => words.includes(one) || one.includes(words)),
      );
      expect(missing).to.deep.equal([]);
    });

    it('has the words of each promise that its table names', () => {
      const all = plain(text);
      expect(shown).not.to.have.lengthOf(0);
      expect(shown.filter((words) => !all.includes(words))).to.deep.equal([]);
    });

    it('names tests that exist', () => {
      const quoted = [...table.matchAll(QUOTED)].map(([, title, file]) => ({ title: unescaped(title!), file: file! }));
      const missing = quoted.filter(({ title, file }) => {
        const place = path.join(tables, file);
        return !fs.existsSync(place) || !unescaped(fs.readFileSync(place, 'utf8')).includes(title);
      });
      expect(quoted).to.have.length.greaterThan(shown.length - 1);
      expect(missing).to.deep.equal([]);
    });
  });
}

/** Without what makes words bold, and in one line. */
function plain(text: string): string {
  return unescaped(text).replaceAll('**', '').replaceAll(/\s+/g, ' ').trim();
}

function unescaped(text: string): string {
  return text.replaceAll(/\\([^\\])/g, '$1');
}
