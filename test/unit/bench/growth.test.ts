import { expect } from 'chai';
import { type CurveReport, exponent } from '../../../bench/growth/curve';
import { growthMarkdown } from '../../../bench/growth/growthReport';

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
});
