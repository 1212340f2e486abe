import { expect } from 'chai';
import { TimeUnit } from '../../../lib/util/TimeUnit';

const NAMES = ['NANOSECONDS', 'MICROSECONDS', 'MILLISECONDS', 'SECONDS', 'MINUTES', 'HOURS', 'DAYS'] as const;

describe('TimeUnit', () => {
  it('has the names of java.util.concurrent', () => {
    for (const name of NAMES) {
      expect(TimeUnit[name].name).to.equal(name);
      expect(String(TimeUnit[name])).to.equal(name);
      expect(TimeUnit[name]).to.be.instanceOf(TimeUnit);
    }
  });

  it('is frozen, and so are its units', () => {
    expect(Object.isFrozen(TimeUnit)).to.equal(true);
    for (const name of NAMES) expect(Object.isFrozen(TimeUnit[name])).to.equal(true);
  });

  it('converts to milliseconds', () => {
    expect(TimeUnit.NANOSECONDS.toMillis(1_500_000)).to.equal(1.5);
    expect(TimeUnit.MICROSECONDS.toMillis(1_500)).to.equal(1.5);
    expect(TimeUnit.MILLISECONDS.toMillis(7)).to.equal(7);
    expect(TimeUnit.SECONDS.toMillis(30)).to.equal(30_000);
    expect(TimeUnit.MINUTES.toMillis(2)).to.equal(120_000);
    expect(TimeUnit.HOURS.toMillis(1)).to.equal(3_600_000);
    expect(TimeUnit.DAYS.toMillis(1)).to.equal(86_400_000);
  });

  it('converts a second to every unit', () => {
    expect(TimeUnit.SECONDS.toNanos(1)).to.equal(1e9);
    expect(TimeUnit.SECONDS.toMicros(1)).to.equal(1e6);
    expect(TimeUnit.SECONDS.toSeconds(1)).to.equal(1);
    expect(TimeUnit.SECONDS.toMinutes(90)).to.equal(1.5);
    expect(TimeUnit.SECONDS.toHours(5400)).to.equal(1.5);
    expect(TimeUnit.SECONDS.toDays(43_200)).to.equal(0.5);
  });

  it('keeps decimal fractions exact', () => {
    expect(TimeUnit.SECONDS.toMillis(0.3)).to.equal(300);
    expect(TimeUnit.MINUTES.toMillis(0.1)).to.equal(6_000);
  });

  it('convert() reads in the other direction', () => {
    expect(TimeUnit.SECONDS.convert(1_500, TimeUnit.MILLISECONDS)).to.equal(1.5);
    expect(TimeUnit.MILLISECONDS.convert(2, TimeUnit.SECONDS)).to.equal(2_000);
  });
});
