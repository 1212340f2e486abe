import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import { asyncMethods, errorsOf, errorsPage } from '../../tools/errorTable';

/** The folders of the checkout whose pages are not ours, or are made by `npm run docs:build`. */
const FOREIGN = new Set(['node_modules', 'dist', 'coverage', 'api', '.vitepress']);

/** The Markdown files of the checkout. */
function pages(folder = projectRoot): string[] {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return FOREIGN.has(entry.name) ? [] : pages(path.join(folder, entry.name));
    return entry.name.endsWith('.md') ? [path.join(folder, entry.name)] : [];
  });
}

describe('the pages', () => {
  it('none is empty', () => {
    const empty = pages().filter((page) => fs.readFileSync(page, 'utf8').trim() === '');
    expect(empty.map((page) => path.relative(projectRoot, page))).to.deep.equal([]);
  });
});

describe('docs/errors.md', () => {
  it('is made from the doc comments (npm run docs:errors)', () => {
    const { is, shouldBe } = errorsPage();
    expect(is).to.equal(shouldBe);
    expect(is).to.contain('| `tryLock` ');
  });

  it('every public method that returns a promise says which errors it rejects with, in each of its forms', () => {
    const silent = asyncMethods().filter(({ never, throws, overloads }) => !never && throws.length < overloads);
    expect(silent.map(({ type, name }) => `${type}.${name}`)).to.deep.equal([]);
  });

  it('every method that asks Redis says whether it may be called again when there is no reply', () => {
    const unclear = asyncMethods().filter(({ throws }) =>
      throws.flat().some((text) => errorsOf(text).includes('ConnectionError') && !REPEAT.test(text)),
    );
    expect(unclear.map(({ type, name }) => `${type}.${name}`)).to.deep.equal([]);
  });
});

describe('docs/troubleshooting.md', () => {
  it('has a heading for every code of an error or a warning', () => {
    const page = fs.readFileSync(path.join(projectRoot, 'docs', 'troubleshooting.md'), 'utf8');
    const headings = [...page.matchAll(/^### `([A-Z_]+)`/gm)].map(([, code]) => code!);
    expect(headings.sort()).to.deep.equal(codes().sort());
  });
});

/** What a doc comment says of repeats. */
const REPEAT = /\. (Safe to repeat|Do not repeat|Repeat only if )/;

/** The codes in lib: of error classes, and of process warnings. */
function codes(): string[] {
  const lib = path.join(projectRoot, 'lib');
  const files = fs.readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const found = files.flatMap((file) => {
    const text = fs.readFileSync(path.join(lib, file), 'utf8');
    return [...text.matchAll(/readonly code = '([A-Z_]+)'|(?:code: |\bwarn\([^']*)'(IOREDISSON_[A-Z_]+)'/g)].map(
      (match) => match[1] ?? match[2]!,
    );
  });
  return [...new Set(found)];
}
