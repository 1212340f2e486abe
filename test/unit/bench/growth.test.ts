import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { curves } from '../../../bench/growth/curves';
import { projectRoot } from '../../../tools/buildOutput';
import { type CurveReport, exponent } from '../../../bench/growth/curve';
import { grownTooMuch, growthMarkdown } from '../../../bench/growth/growthReport';

function curve(points: readonly (readonly [number, number])[], growth: 'flat' | 'wire' = 'flat'): CurveReport {
  return {
    id: 'a',
    title: 'A curve',
    about: 'About it.',
    of: 'units',
    points: points.map(([point]) => point),
    columns: [{ id: 'cost', label: 'cost', growth, ...(growth === 'wire' ? { why: 'it must' } : {}) }],
    rows: points.map(([point, cost]) => ({ point, values: { cost } })),
  };
}

function tableOf(report: CurveReport): string {
  const machine = { node: 'v20', redis: '7', processors: 2, platform: 'linux' };
  return growthMarkdown({ startedAt: '2026-01-02T03:04:05Z', machine, curves: [report] });
}

describe('the growth of a cost', () => {
  it('is the exponent between the last point and the first that is not much smaller', () => {
    const cost = [
      [10, 900],
      [100, 2],
      [1_000, 5],
      [10_000, 20],
    ] as const;
    expect(exponent(curve(cost), 'cost')).to.be.closeTo(0.5, 1e-9);
    expect(exponent(curve([...cost].slice(0, 1)), 'cost')).to.equal(undefined);
    expect(exponent(curve(cost), 'other')).to.equal(undefined);
  });

  it('is called flat, demanded by the wire, or wrong', () => {
    const [flat, steep] = [
      [
        [1, 3],
        [100, 3.5],
      ],
      [
        [1, 3],
        [100, 300],
      ],
    ] as const;
    expect(tableOf(curve(flat))).to.contain('| growth | flat |');
    expect(tableOf(curve(steep))).to.contain('| growth | grows as n^1.00, which it should not |');
    expect(tableOf(curve(steep, 'wire')))
      .to.contain('| growth | grows as n^1.00: the wire demands it |')
      .and.to.contain('cost: it must.');
  });

  it('is wrong only where the wire does not demand it (bench -- --only growth --assert fails then)', () => {
    const steep = [
      [1, 3],
      [100, 300],
    ] as const;
    expect(grownTooMuch([curve(steep), curve(steep, 'wire')])).to.deep.equal([
      'A curve: cost grows as n^1.00, which it should not',
    ]);
  });
});

describe('bench/archive.md', () => {
  const text = fs.readFileSync(path.join(projectRoot, 'bench', 'archive.md'), 'utf8');

  for (const { title, about, of, points, columns } of curves) {
    it(`has the curve "${title}", as it is measured now`, () => {
      const section = text.split(`### ${title}\n`)[1]?.split('\n### ')[0] ?? '';
      const prose = section.replaceAll(/\s+/g, ' ');
      expect(prose).to.contain(about);
      const [head = [], , ...rows] = section
        .split('\n')
        .filter((line) => line.startsWith('|'))
        .map((line) => line.split('|').map((cell) => cell.trim()));
      expect(head.slice(1, -1)).to.deep.equal([of, ...columns.map(({ label }) => label)]);
      expect(rows.map((row) => row[1])).to.include.members(points.map(String));
      for (const { why } of columns) if (why !== undefined) expect(prose).to.contain(why);
    });
  }

  it('has nothing that grows and should not', () => {
    expect(text).to.not.contain('which it should not');
  });
});
