// Ids in titles: test/README.md
import { expect } from 'chai';
import { Config, ConfigError, Redisson } from '../../../lib';
import type { Kind } from '../../../lib/kinds/Kind';
import { clusterContract } from '../../contracts/clusterContract';
import { freePort, trackClient } from '../../support';
import { EVERY_LOCK, isComposed, makeLock } from '../../support/kinds';

/** Which scenarios of Redisson a kind has. */
const IDS: Partial<Record<Kind['name'], { readonly ids: string }>> = {
  lock: { ids: 'L-11' },
  spin: { ids: 'SP-06' },
  read: { ids: 'RW-06' },
  write: { ids: 'RW-06' },
  group: { ids: 'FM-14' },
};
const SINGLE = EVERY_LOCK.filter((kind) => !isComposed(kind));

clusterContract({
  ...Object.fromEntries(
    SINGLE.map((kind) => [
      `the ${kind.noun}`,
      { ...IDS[kind.name], make: (client: Redisson, name: string) => makeLock(kind, client, name) },
    ]),
  ),
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
      for (const kind of SINGLE.filter(({ keysOf }) => Object.keys(keysOf('', '')).length > 1)) {
        const make = (): unknown => makeLock(kind, client, name);
        expect(make, kind.name).to.throw(ConfigError, `'${name}' cannot be used on a cluster`);
      }
      client.getSpinLock(name);
    }
    for (const name of ['order', '{order}:a', 'a{b}c']) client.getReadWriteLock(name);
  });
});
