import { lockContract } from '../../contracts/lockContract';
import { underTest } from '../../support/kinds';

lockContract('RFencedLock', underTest('fenced'));
