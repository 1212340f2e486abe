import { expect } from 'chai';
import { inspect } from 'node:util';
import { clampTimer, leaseMillis, MAX_TIMER_MS, NO_LEASE, toMillis } from '../../../lib/util/duration';
import { TimeUnit } from '../../../lib/util/TimeUnit';

describe('duration', () => {
  describe('toMillis', () => {
    it('takes milliseconds without a unit, and any unit', () => {
      expect(toMillis(500, undefined, 'waitTime')).to.equal(500);
      expect(toMillis(2, TimeUnit.SECONDS, 'waitTime')).to.equal(2_000);
    });

    it('never makes nothing of something: below a millisecond is one', () => {
      expect(toMillis(1, TimeUnit.NANOSECONDS, 'leaseTime')).to.equal(1);
      expect(toMillis(0.2, undefined, 'leaseTime')).to.equal(1);
      expect(toMillis(Number.MIN_VALUE, TimeUnit.NANOSECONDS, 'leaseTime')).to.equal(1);
    });

    it('rounds to the nearest millisecond', () => {
      expect(toMillis(1.4, undefined, 'x')).to.equal(1);
      expect(toMillis(1.5, undefined, 'x')).to.equal(2);
      expect(toMillis(0.1 + 0.2, TimeUnit.SECONDS, 'x')).to.equal(300);
    });

    it('passes zero and negative values through', () => {
      expect(Object.is(toMillis(0, undefined, 'x'), 0)).to.equal(true);
      expect(Object.is(toMillis(-0, undefined, 'x'), 0)).to.equal(true);
      expect(toMillis(-1, undefined, 'x')).to.equal(-1);
      expect(toMillis(-1, TimeUnit.SECONDS, 'x')).to.equal(-1_000);
      expect(toMillis(-0.1, undefined, 'x')).to.equal(-1);
    });

    for (const bad of [NaN, Infinity, -Infinity, '5', null, undefined, [5], 5n]) {
      it(`refuses ${inspect(bad)} with a RangeError that names the argument and the value`, () => {
        expect(() => toMillis(bad as number, undefined, 'waitTime'))
          .to.throw(RangeError, /^waitTime must be a finite number, got/)
          .and.not.have.property('code');
      });
    }

    it('refuses what is too long, in either direction', () => {
      expect(() => toMillis(1e16, undefined, 'leaseTime')).to.throw(
        RangeError,
        /leaseTime is too long: 10000000000000000/,
      );
      expect(() => toMillis(2 ** 50, TimeUnit.DAYS, 'leaseTime')).to.throw(RangeError, /DAYS/);
      expect(() => toMillis(-1e300, undefined, 'leaseTime')).to.throw(RangeError);
      expect(toMillis(Number.MAX_SAFE_INTEGER, undefined, 'x')).to.equal(Number.MAX_SAFE_INTEGER);
    });

    it('refuses a unit that is none', () => {
      for (const unit of ['SECONDS', 1000, null, {}]) {
        expect(() => toMillis(1, unit as unknown as TimeUnit, 'waitTime')).to.throw(TypeError, /unit of waitTime/);
      }
    });
  });

  describe('leaseMillis', () => {
    it('knows no lease: absent, zero, negative', () => {
      expect(NO_LEASE).to.equal(-1);
      for (const none of [undefined, 0, -1, -5]) expect(leaseMillis(none)).to.equal(NO_LEASE);
      expect(leaseMillis(-1, TimeUnit.SECONDS)).to.equal(NO_LEASE);
    });

    it('converts a lease', () => {
      expect(leaseMillis(10, TimeUnit.SECONDS)).to.equal(10_000);
      expect(leaseMillis(1, TimeUnit.NANOSECONDS)).to.equal(1);
    });

    it('names the argument in its errors', () => {
      expect(() => leaseMillis(NaN)).to.throw(RangeError, /^leaseTime /);
      expect(() => leaseMillis(NaN, undefined, 'ttl')).to.throw(RangeError, /^ttl /);
    });
  });

  describe('clampTimer', () => {
    it('keeps what a timer can take, and cuts the rest', () => {
      expect(clampTimer(10)).to.equal(10);
      expect(clampTimer(-1)).to.equal(0);
      expect(clampTimer(2 ** 31)).to.equal(MAX_TIMER_MS);
      expect(clampTimer(Infinity)).to.equal(2 ** 31 - 1);
    });

    it('rounds up, so that no timer fires early', () => {
      expect(clampTimer(0.1)).to.equal(1);
      expect(clampTimer(9.01)).to.equal(10);
    });
  });
});
