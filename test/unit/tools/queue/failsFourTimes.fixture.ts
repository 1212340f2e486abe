import { isFirstTime } from './isFirstTime';

describe('a file with four tests that fail once', () => {
  for (const which of ['one', 'two', 'three', 'four']) {
    it(which, () => {
      if (isFirstTime(which)) throw new Error(`${which} failed`);
    });
  }
});
