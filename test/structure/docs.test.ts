import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';

/** The folders of the checkout whose pages are not ours. */
const FOREIGN = new Set(['node_modules', 'dist', 'coverage']);

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
