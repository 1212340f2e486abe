import { expect } from 'chai';
import { editDistance, nearest } from '../../../lib/util/describe';

describe('nearest', () => {
  it('counts edits', () => {
    expect(editDistance('', '')).to.equal(0);
    expect(editDistance('', 'abc')).to.equal(3);
    expect(editDistance('abc', '')).to.equal(3);
    expect(editDistance('kitten', 'sitting')).to.equal(3);
    expect(editDistance('flaw', 'lawn')).to.equal(2);
    expect(editDistance('same', 'same')).to.equal(0);
  });

  it('finds what was meant', () => {
    const known = ['timeout', 'connectTimeout', 'lockWatchdogTimeout', 'password'];
    expect(nearest('timout', known)).to.equal('timeout');
    expect(nearest('lockWatchDogTimeout', known)).to.equal('lockWatchdogTimeout');
    expect(nearest('pasword', new Set(known))).to.equal('password');
  });

  it('takes the first of equally near ones, and none of none', () => {
    expect(nearest('b', ['a', 'c'])).to.equal('a');
    expect(nearest('a', [])).to.equal(undefined);
  });
});
