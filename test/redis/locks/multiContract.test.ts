import { lockContract } from '../../contracts/lockContract';
import { atNight } from '../../support/atNight';
import { underTest } from '../../support/kinds';

lockContract('MultiLock', underTest('multi'));
// A multi-lock that needs fewer of its members: by day the contract of that, redLock.test.ts and the contract in memory
// stand for it.
atNight(() => lockContract('RedLock', underTest('red')));
