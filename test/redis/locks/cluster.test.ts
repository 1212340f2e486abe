// Ids in titles: test/README.md
import { expect } from 'chai';
import { Config, ConfigError, Redisson } from '../../../lib';
import { clusterContract } from '../../contracts/clusterContract';
import { freePort, trackClient } from '../../support';

clusterContract({
  'the plain lock': { ids: 'L-11', make: (client, name) => client.getLock(name) },
  'the fair lock': { make: (client, name) => client.getFairLock(name) },
  'the fenced lock': { make: (client, name) => client.getFencedLock(name) },
  'the spin lock': { ids: 'SP-06', make: (client, name) => client.getSpinLock(name) },
  'the non-reentrant lock': { make: (client, name) => client.getNonReentrantLock(name) },
  'the non-reentrant fair lock': { make: (client, name) => client.getNonReentrantFairLock(name) },
  'the read lock': { ids: 'RW-06', make: (client, name) => client.getReadWriteLock(name).readLock() },
  'the write lock': { ids: 'RW-06', make: (client, name) => client.getReadWriteLock(name).writeLock() },
  'the group lock': { ids: 'FM-14', make: (client, name) => client.getMultiLock(name, ['a', 'b']) },
  'a multi-lock of names in several slots': {
    make: (client, name) => client.getMultiLock(...['a', 'b', 'c'].map((one) => client.getLock(`${name}-${one}`))),
  },
});

describe('names on a cluster', () => {
  it('that cannot work there are refused at once, for each kind that has several keys', async () => {
    const config = new Config();
    // Nobody is there: nothing has to be sent to find out.
    config.useClusterServers().addNodeAddress(`redis://127.0.0.1:${await freePort()}`);
    const client = trackClient(Redisson.create(config));
    for (const name of ['x{y', 'x{}y', 'x}y']) {
      const makers = [
        () => client.getLock(name),
        () => client.getFairLock(name),
        () => client.getFencedLock(name),
        () => client.getNonReentrantLock(name),
        () => client.getNonReentrantFairLock(name),
        () => client.getReadWriteLock(name),
      ];
      for (const make of makers) expect(make).to.throw(ConfigError, `'${name}' cannot be used on a cluster`);
      client.getSpinLock(name);
    }
    for (const name of ['order', '{order}:a', 'a{b}c']) client.getReadWriteLock(name);
  });
});
