// Ids in titles: test/README.md
import { lockContract } from '../../contracts/lockContract';
import { atNight } from '../../support/atNight';
import { underTest } from '../../support/kinds';

lockContract('RReadWriteLock.readLock()', {
  ...underTest('read'),
  ids: {
    'B-HOLDCOUNT': 'RW-20',
    'B-HELD-OTHER': 'RW-21',
    'B-HELD': 'RW-22',
    'B-ISLOCKED-OTHER': 'RW-23',
    'B-ISLOCKED': 'RW-24',
    'B-UNLOCKFAIL': 'RW-25',
    'B-LOCKUNLOCK': 'RW-26',
    'B-REENTRANT': 'RW-27',
    'B-CONC-1': 'RW-28',
    'B-CONC-LOOP': 'RW-29',
    'B-CONC-N': 'RW-30',
  },
});

// By day the contract of the read lock, whose rival it is, scripts/writeLock.test.ts and the contract in memory stand
// for it.
atNight(() =>
  lockContract('RReadWriteLock.writeLock()', {
    ...underTest('write'),
    ids: { 'B-HOLDCOUNT': 'RW-20', 'B-EXPIRE': 'RW-18', 'B-AUTOEXPIRE': 'RW-19' },
  }),
);
