// Ids in titles: test/README.md
import { lockContract } from '../../contracts/lockContract';
import { underTest } from '../../support/kinds';

lockContract('RLock (fair)', {
  ...underTest('fair'),
  ids: {
    'B-TRYWAIT': 'FL-11',
    'B-FORCE': 'FL-12',
    'B-AUTOEXPIRE': 'FL-14',
    'B-HOLDCOUNT': 'FL-15',
    'B-HELD-OTHER': 'FL-16',
    'B-HELD': 'FL-17',
    'B-ISLOCKED-OTHER': 'FL-18',
    'B-ISLOCKED': 'FL-19',
    'B-UNLOCKFAIL': 'FL-20',
    'B-LOCKUNLOCK': 'FL-21',
    'B-REENTRANT': 'FL-22',
    'B-CONC-1': 'FL-23',
    'B-CONC-LOOP': 'FL-24',
    'B-CONC-N': 'FL-25',
  },
});
