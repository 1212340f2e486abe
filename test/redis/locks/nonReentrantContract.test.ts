import { lockContract } from '../../contracts/lockContract';
import { atNight } from '../../support/atNight';
import { underTest } from '../../support/kinds';

// Their scripts are those of the plain and of the fair lock but for the re-entry: by day the contracts of those,
// scripts/nonReentrantLock.test.ts and the contracts in memory stand for them.
atNight(() => {
  lockContract('RLock (non-reentrant)', underTest('nonReentrant'));
  lockContract('RLock (non-reentrant, fair)', underTest('nonReentrantFair'));
});
