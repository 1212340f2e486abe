// Ids in titles: test/README.md
import { lockContract } from '../../contracts/lockContract';
import { atNight } from '../../support/atNight';
import { underTest } from '../../support/kinds';

const settings = { localHandOver: true };

lockContract('RLock (plain, passed on before Redis knows)', { ...underTest('lock'), settings });
lockContract('RLock (group, passed on before Redis knows)', { ...underTest('group'), settings });
// By day the plain lock, which is passed on by the same command, and the tests of localHandOver.test.ts stand for it.
atNight(() =>
  lockContract('RLock (non-reentrant, passed on before Redis knows)', { ...underTest('nonReentrant'), settings }),
);
