// Ids in titles: test/README.md
import { lockContract } from '../../contracts/lockContract';
import { underTest } from '../../support/kinds';

lockContract('RLock (spin)', {
  ...underTest('spin'),
  ids: {
    'B-REDISFAIL': 'SP-01',
    'B-TRYWAIT': 'SP-02',
    'B-UNINT': 'SP-03',
    'B-FORCE': 'SP-04',
    'B-EXPIRE': 'SP-05',
    'B-AUTOEXPIRE': 'SP-07',
    'B-HOLDCOUNT': 'SP-08',
    'B-HELD-OTHER': 'SP-09',
    'B-HELD': 'SP-10',
    'B-ISLOCKED-OTHER': 'SP-11',
    'B-ISLOCKED': 'SP-12',
    'B-UNLOCKFAIL': 'SP-13',
    'B-LOCKUNLOCK': 'SP-14',
    'B-REENTRANT': 'SP-15',
    'B-CONC-1': 'SP-16',
    'B-CONC-LOOP': 'SP-17',
    'B-CONC-N': 'SP-18',
  },
});
