import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { apiPage, apiProblems, apiReport } from '../../tools/apiReport';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { formatted } from '../../tools/formatted';
import { readPrevious } from '../../tools/previous';
import { currentWire, wireProblems } from '../../tools/wire';
import { wirePage } from '../../tools/wirePage';

const read = (file: string): string => fs.readFileSync(path.join(projectRoot, file), 'utf8');

/** The judges themselves are tested in test/unit/tools. */
describe('what a release promises', function () {
  this.timeout(120_000);

  it('the wire is that of docs/wire.md, and the changelog says what a rolling upgrade may do', async () => {
    const { wire: released, name } = readPrevious();
    const wire = currentWire(released);
    const expected = await formatted(path.join(projectRoot, 'docs/wire.md'), wirePage(released, name, wire));
    const texts = { page: read('docs/wire.md'), expected, changelog: read('CHANGELOG.md') };
    expect(wireProblems(released, wire, texts)).to.deep.equal([]);
  });

  it('the public declarations are those of docs/api-report.md, and the changelog names those that changed', async () => {
    ensureBuilt();
    const entries = apiReport();
    const expected = await formatted(path.join(projectRoot, 'docs/api-report.md'), apiPage(entries));
    const texts = { page: read('docs/api-report.md'), expected, changelog: read('CHANGELOG.md') };
    expect(apiProblems(readPrevious().api, entries, texts)).to.deep.equal([]);
  });
});
