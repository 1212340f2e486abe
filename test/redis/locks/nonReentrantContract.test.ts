import { lockContract } from '../../contracts/lockContract';
import { underTest } from '../../support/kinds';

lockContract('RLock (non-reentrant)', underTest('nonReentrant'));
lockContract('RLock (non-reentrant, fair)', underTest('nonReentrantFair'));
