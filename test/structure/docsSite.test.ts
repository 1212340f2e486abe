import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import { guideSidebar, linksOf } from '../../tools/docs/pages';

const docs = path.join(projectRoot, 'docs');

describe('the documentation site', () => {
  it('has every page of docs/ in its sidebar, once (tools/docs/pages.ts)', () => {
    const pages = fs
      .readdirSync(docs, { recursive: true, encoding: 'utf8' })
      .map((file) => file.split(path.sep).join('/'))
      .filter(
        (file) => file.endsWith('.md') && !/^(?:node_modules|api|\.vitepress)\//.test(file) && file !== 'index.md',
      )
      .map((file) => `/${file.replace(/\.md$/, '').replace(/(?<=\/)(?:README|index)$/, '')}`);
    expect(linksOf(guideSidebar(docs))).to.have.members(pages);
  });
});
