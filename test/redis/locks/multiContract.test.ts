import { lockContract } from '../../contracts/lockContract';
import { underTest } from '../../support/kinds';

lockContract('MultiLock', underTest('multi'));
lockContract('RedLock', underTest('red'));
