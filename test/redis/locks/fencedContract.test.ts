import { lockContract } from '../../contracts/lockContract';
import { atNight } from '../../support/atNight';
import { underTest } from '../../support/kinds';

// Its scripts are those of the plain lock and a counter: by day reentrant.test.ts, scripts/fencedLock.test.ts and the
// contract in memory stand for it.
atNight(() => lockContract('RFencedLock', underTest('fenced')));
