// Ids in titles: test/README.md
import { lockContract } from '../../contracts/lockContract';
import { underTest } from '../../support/kinds';

lockContract('RLock (group)', {
  ...underTest('group'),
  ids: {
    'B-SUBS': 'FM-08',
    'B-ONESUB': 'FM-09',
    'B-INTTRY': 'FM-10',
    'B-REDISFAIL': 'FM-11',
    'B-UNINT': 'FM-12',
    'B-EXPIRE': 'FM-13',
    'B-AUTOEXPIRE': 'FM-15',
    'B-HELD-OTHER': 'FM-16',
    'B-HELD': 'FM-17',
    'B-ISLOCKED-OTHER': 'FM-18',
    'B-ISLOCKED': 'FM-19',
    'B-UNLOCKFAIL': 'FM-20',
    'B-REENTRANT': 'FM-21',
    'B-CONC-1': 'FM-22',
    'B-CONC-LOOP': 'FM-23',
    'B-CONC-N': 'FM-24',
  },
});
