// Ids in titles: test/README.md
import { expect } from 'chai';
import { ConstantBackOff, ExponentialBackOff } from '../../../lib/util/backOff';

describe('back-off of the spin lock', () => {
  it('LO-01: exponential periods grow to the maximum, and by chance with the number of attempts', () => {
    const ranges = [
      [10, 10],
      [30, 31],
      [90, 92],
      [100, 103],
      [100, 104],
    ];
    const seen = ranges.map(() => new Set<number>());
    for (let run = 0; run < 300; run++) {
      const policy = new ExponentialBackOff().initialDelay(10).maxDelay(100).multiplier(3).create();
      for (const [i, [least, most]] of ranges.entries()) {
        const period = policy.getNextSleepPeriod();
        expect(period, `period ${i}`).to.be.within(least!, most!);
        seen[i]!.add(period);
      }
    }
    expect(seen.map((periods) => periods.size)).to.deep.equal([1, 2, 3, 4, 5]);
  });

  it('LO-01: the part by chance never exceeds the maximum', () => {
    const policy = new ExponentialBackOff().maxDelay(4).create();
    const periods = Array.from({ length: 1_000 }, () => policy.getNextSleepPeriod());
    expect(Math.max(...periods)).to.be.within(7, 8);
  });

  it('begins with 1 ms and ends with 128 ms by default, afresh for each acquisition', () => {
    const backOff = new ExponentialBackOff();
    for (let acquisition = 0; acquisition < 2; acquisition++) {
      const policy = backOff.create();
      expect(policy.getNextSleepPeriod()).to.equal(1);
      for (let i = 0; i < 20; i++) policy.getNextSleepPeriod();
      expect(policy.getNextSleepPeriod()).to.be.within(128, 128 + 21);
    }
  });

  it('LO-02: constant periods are all alike', () => {
    const policy = new ConstantBackOff().delay(30).create();
    expect(Array.from({ length: 10 }, () => policy.getNextSleepPeriod())).to.deep.equal(Array<number>(10).fill(30));
    expect(new ConstantBackOff().create().getNextSleepPeriod()).to.equal(64);
  });

  it('refuses delays that are none', () => {
    for (const ms of [0, -1, NaN, Infinity, '5' as never]) {
      expect(() => new ConstantBackOff().delay(ms)).to.throw(RangeError);
      expect(() => new ExponentialBackOff().initialDelay(ms)).to.throw(RangeError);
      expect(() => new ExponentialBackOff().maxDelay(ms)).to.throw(RangeError);
    }
    for (const factor of [0, 0.5, NaN]) expect(() => new ExponentialBackOff().multiplier(factor)).to.throw(RangeError);
  });
});
