import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import { REPORTS } from '../../tools/docs/pages';

const MOST = 120;
const FOLDERS = ['lib', 'test', 'tools', 'docs'];
/** Pages that tools write. */
const GENERATED = new Set([...REPORTS, '/cli'].map((link) => `docs${link}.md`));
/** What is installed, built, or another package. */
const FOREIGN = /(?:^|\/)(?:node_modules|versions|previous|dist|target|api|\.vitepress|\.cache)(?:\/|$)/;

describe(`comments and the text of pages have at most ${MOST} columns`, () => {
  for (const folder of FOLDERS) {
    it(`in ${folder}/`, () => {
      const files = fs
        .readdirSync(path.join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
        .map((file) => path.posix.join(folder, file.split(path.sep).join('/')));
      expect(problemsOf(files.filter((file) => !FOREIGN.test(file) && !GENERATED.has(file)))).to.deep.equal([]);
    });
  }

  it('in the pages of the root', () => {
    const files = fs.readdirSync(projectRoot).filter((file) => file.endsWith('.md') && file !== 'CHANGELOG.md');
    expect(problemsOf(files)).to.deep.equal([]);
  });
});

/** Lines that are too long, as `file:line`. Code is as prettier writes it; a title or a text may be longer there. */
function problemsOf(files: readonly string[]): string[] {
  return files
    .filter((file) => /\.(?:md|[cm]?ts|tsx|cjs)$/.test(file))
    .flatMap((file) => {
      const text = fs.readFileSync(path.join(projectRoot, file), 'utf8');
      const isProse = file.endsWith('.md') ? proseLines(text) : commentLines(text);
      return text.split('\n').flatMap((line, i) => (line.length > MOST && isProse[i] ? [`${file}:${i + 1}`] : []));
    });
}

/** Not a table, a picture or code, and not a line that cannot be broken. */
function proseLines(text: string): boolean[] {
  let isCode = false;
  return text.split('\n').map((line) => {
    if (/^\s*(?:```|---$)/.test(line)) isCode = !isCode;
    return !isCode && !/^\s*(?:\||<|!\[)/.test(line) && /\S\s+\S/.test(line.replace(/^\s*(?:-|\d+\.)\s+/, ''));
  });
}

function commentLines(text: string): boolean[] {
  return text.split('\n').map((line) => /^\s*(?:\/\/|\/?\*)/.test(line) && !/^\s*\* +\||https?:/.test(line));
}
