import { expect } from 'chai';
import { ascending, median, percentile, summarize, summarizeRounds } from '../../../bench/harness/statistics';

describe('bench: statistics', () => {
  it('sorts numbers as numbers and leaves the input alone', () => {
    const values = [10, 9, 100];
    expect(ascending(values)).to.deep.equal([9, 10, 100]);
    expect(values).to.deep.equal([10, 9, 100]);
  });

  it('takes the middle, or the mean of the two middle values', () => {
    expect(median([3, 1, 2])).to.equal(2);
    expect(median([4, 1, 2, 3])).to.equal(2.5);
    expect(median([7])).to.equal(7);
    expect(median([])).to.be.NaN;
  });

  it('interpolates percentiles between neighbours', () => {
    const values = [0, 10, 20, 30, 40];
    expect(percentile(values, 0)).to.equal(0);
    expect(percentile(values, 0.5)).to.equal(20);
    expect(percentile(values, 0.99)).to.be.closeTo(39.6, 1e-9);
    expect(percentile(values, 1)).to.equal(40);
    expect(() => percentile(values, 1.1)).to.throw(RangeError);
    expect(() => percentile(values, NaN)).to.throw(RangeError);
  });

  it('keeps a wake-up that never came out of arithmetic', () => {
    expect(percentile([Infinity, Infinity], 0.5)).to.equal(Infinity);
    expect(median([1, 2, Infinity])).to.equal(2);
  });

  it('summarizes a metric over its rounds', () => {
    expect(summarize([3, 1, 2])).to.deep.equal({ median: 2, min: 1, max: 3, rounds: 3 });
    expect(summarize([])).to.deep.include({ rounds: 0 });
  });

  it('summarizes every metric that any round has', () => {
    const summaries = summarizeRounds([{ ratio: 1 }, { ratio: 3, starved: 2 }]);
    expect(summaries['ratio']).to.deep.equal({ median: 2, min: 1, max: 3, rounds: 2 });
    expect(summaries['starved']).to.deep.equal({ median: 2, min: 2, max: 2, rounds: 1 });
  });
});
