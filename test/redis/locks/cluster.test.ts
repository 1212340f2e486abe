import { clusterContract } from '../../contracts/clusterContract';

clusterContract({
  'the plain lock': { ids: 'L-11', make: (client, name) => client.getLock(name) },
  'the fair lock': { make: (client, name) => client.getFairLock(name) },
  'the fenced lock': { make: (client, name) => client.getFencedLock(name) },
  'the spin lock': { ids: 'SP-06', make: (client, name) => client.getSpinLock(name) },
  'the non-reentrant lock': { make: (client, name) => client.getNonReentrantLock(name) },
  'the write lock': { ids: 'RW-06', make: (client, name) => client.getReadWriteLock(name).writeLock() },
});
