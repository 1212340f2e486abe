// Ids in titles: test/README.md
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import { serverIdentity } from '../../../lib/config/serverIdentity';
import { Redisson } from '../../../lib/Redisson';
import { client, within } from '../../faults/scene';
import { redisUrl, RedisServer, sleep, trackClient, uniqueName } from '../../support';

describe('a multi-lock over the same name on two servers (A11)', () => {
  let servers: RedisServer[];

  before(async () => {
    servers = await Promise.all([RedisServer.start(), RedisServer.start()]);
  });

  after(() => Promise.all(servers.map((server) => server.stop())));

  it('is taken in one order by everybody, whatever the order in which its locks were given', async () => {
    const name = uniqueName();
    let inside = 0;
    const process = async (reversed: boolean): Promise<void> => {
      const locks = servers.map(({ url }) => client(url).getLock(name));
      if (reversed) locks.reverse();
      const lock = client(servers[0]!.url).getMultiLock(...locks);
      for (let i = 0; i < 15; i++) {
        await lock.withLock(async () => {
          expect((inside += 1)).to.equal(1);
          await sleep(2);
          inside -= 1;
        });
      }
    };
    // With each other's lock in hand they would wait for one another, and get 9 sections in 10 s.
    await within(8_000, '60 sections', Promise.all([process(false), process(true), process(false), process(true)]));
  });
});

describe('serverIdentity', () => {
  const of = (url: string): string => serverIdentity(resolveConfig(url, {}));

  it('is that of the server, its database included', () => {
    expect(of('redis://a:6379')).to.equal(of('redis://user:pw@A'));
    expect(of('redis://a:6379')).not.to.equal(of('redis://a:6380'));
    expect(of('redis://a:6379/1')).not.to.equal(of('redis://a:6379/2'));
  });

  it('is that of the servers of a given client', () => {
    const given = (port: number, db = 0): string =>
      serverIdentity(resolveConfig({ client: new Redis({ host: 'a', port, db, lazyConnect: true }) }, {}));
    expect(given(6379)).to.equal(of('redis://a:6379'));
    expect(given(6379)).not.to.equal(given(6380));
    expect(given(6379, 1)).not.to.equal(given(6379, 2));
  });
});

describe('a red lock over the same name through given clients (A11)', () => {
  it('takes them for the different servers that they are', async () => {
    const name = uniqueName();
    const locks = [0, 1, 2].map((db) => {
      const given = trackClient(new Redis(redisUrl(), { db, lazyConnect: true }));
      return trackClient(Redisson.create({ client: given })).getLock(name);
    });
    const lock = trackClient(Redisson.create(redisUrl())).getRedLock(...locks);
    await lock.withLock(async () => {
      expect(await Promise.all(locks.map((member) => member.isLocked()))).to.deep.equal([true, true, true]);
    });
  });
});
