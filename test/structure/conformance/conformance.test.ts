import * as fs from 'node:fs';
import { expect } from 'chai';
import { REPORT_FILE, report, scenarios } from './report';

describe('conformance', () => {
  const all = scenarios().flatMap((suite) => suite.scenarios);

  it('every upstream scenario has a test that quotes its id, or a reason why not', () => {
    expect(
      all.filter(({ files, leftOut }) => files.length === 0 && leftOut === undefined).map(({ id }) => id),
    ).to.deep.equal([]);
  });

  it('no scenario with a test is said to be left out', () => {
    expect(
      all.filter(({ files, leftOut }) => files.length > 0 && leftOut !== undefined).map(({ id }) => id),
    ).to.deep.equal([]);
  });

  it('docs/conformance.md is what the tests say now (npm run docs:conformance)', () => {
    expect(fs.readFileSync(REPORT_FILE, 'utf8')).to.equal(report());
  });
});
