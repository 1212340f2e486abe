// Ids in titles: test/README.md
import { lockContract } from '../../contracts/lockContract';
import { underTest } from '../../support/kinds';

lockContract('RLock (plain)', {
  ...underTest('lock'),
  ids: {
    'B-SUBS': 'L-01',
    'B-ONESUB': 'L-02',
    'B-REDISFAIL': 'L-04',
    'B-TRYWAIT': 'L-06',
    'B-UNINT': 'L-07',
    'B-FORCE': 'L-08',
    'B-EXPIRE': 'L-09',
    'B-AUTOEXPIRE': 'L-12',
    'B-HOLDCOUNT': 'L-13',
    'B-HELD-OTHER': 'L-14',
    'B-HELD': 'L-15',
    'B-ISLOCKED-OTHER': 'L-16',
    'B-ISLOCKED': 'L-18',
    'B-UNLOCKFAIL': 'L-19',
    'B-LOCKUNLOCK': 'L-20',
    'B-REENTRANT': 'L-21',
    'B-CONC-1': 'L-23',
    'B-CONC-LOOP': 'L-24',
    'B-CONC-N': 'L-25',
  },
});
