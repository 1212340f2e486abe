import { isFirstTime } from './isFirstTime';

describe('a file that fails once', () => {
  it('fails the first time', () => {
    if (isFirstTime('test')) throw new Error('disturbed | by something');
  });
});

describe('a suite whose before hook fails once', () => {
  before(() => {
    if (isFirstTime('before')) throw new Error('no server yet');
  });
  it('passes', () => undefined);
});
