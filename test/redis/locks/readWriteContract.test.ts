// Ids in titles: test/README.md
import { lockContract } from '../../contracts/lockContract';

lockContract('RReadWriteLock.readLock()', {
  make: (client, name) => client.getReadWriteLock(name).readLock(),
  blocker: (client, name) => client.getReadWriteLock(name).writeLock(),
  contender: (client, name, i) => {
    const both = client.getReadWriteLock(name);
    return i % 3 === 0 ? { lock: both.writeLock(), exclusive: true } : { lock: both.readLock(), exclusive: false };
  },
  traits: { reentrant: true, pubsub: true, shared: true },
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

lockContract('RReadWriteLock.writeLock()', {
  make: (client, name) => client.getReadWriteLock(name).writeLock(),
  traits: { reentrant: true, pubsub: true },
  ids: { 'B-HOLDCOUNT': 'RW-20', 'B-EXPIRE': 'RW-18', 'B-AUTOEXPIRE': 'RW-19' },
});
