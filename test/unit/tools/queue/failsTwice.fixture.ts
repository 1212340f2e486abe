import { isFirstTime } from './isFirstTime';

describe('a file that fails twice', () => {
  it('fails beside others, and the second time that it runs alone', () => {
    const fails = isFirstTime('beside others') || (!isFirstTime('alone') && isFirstTime('alone again'));
    if (fails) throw new Error('fails now and then');
  });
});
