import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import { docPages } from '../readme/docSnippets';
import { CHARTS, drawCharts } from '../../tools/docs/charts';
import { guideSidebar, linksOf, REPORTS } from '../../tools/docs/pages';

const docs = path.join(projectRoot, 'docs');

describe('the documentation site', () => {
  it('has every page of docs/ in its sidebar, once, but for the reports (tools/docs/pages.ts)', () => {
    const pages = docPages()
      .map((page) => page.slice('docs/'.length))
      .filter((file) => file !== 'index.md')
      .map((file) => `/${file.replace(/\.md$/, '').replace(/(?<=\/)(?:README|index)$/, '')}`);
    expect([...linksOf(guideSidebar(docs)), ...REPORTS]).to.have.members(pages);
  });

  it('leads to each report that is not in the sidebar, by a link of a page that is', () => {
    const listed = linksOf(guideSidebar(docs)).map((link) => path.join(docs, `${link}.md`));
    const text = listed.filter((file) => fs.existsSync(file)).map((file) => fs.readFileSync(file, 'utf8'));
    const unreachable = REPORTS.filter((link) => !text.some((page) => page.includes(`${link.slice(1)}.md)`)));
    expect(unreachable).to.deep.equal([]);
  });

  const runs = fs.readFileSync(path.join(projectRoot, 'bench', 'archive.md'), 'utf8');
  for (const [name, svg] of drawCharts(runs)) {
    it(`draws the chart "${name}" from the table in bench/archive.md (npm run docs:charts), and shows it`, () => {
      const { page = 'benchmarks.md' } = CHARTS.find((chart) => chart.name === name)!;
      expect(fs.readFileSync(path.join(docs, 'images', `bench-${name}.svg`), 'utf8')).to.equal(svg);
      expect(fs.readFileSync(path.join(docs, page), 'utf8')).to.contain(`(images/bench-${name}.svg)`);
    });
  }
});
