// Ids in titles: test/README.md
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { CommandError, Redisson } from '../../../lib';
import { RedisServer, sleepUntil, trackClient, uniqueName } from '../../support';
import { EVERY_LOCK, isComposed, makeLock } from '../../support/kinds';
import { rejection } from '../synchronizers/support';

describe('an acquisition that Redis refuses in the middle of its script', () => {
  let server: RedisServer;
  let admin: Redis;

  before(async () => {
    server = await RedisServer.start();
    admin = new Redis(server.url);
    await admin.call('ACL', 'SETUSER', 'u', 'reset', 'on', '>pw', '~*', '&*', '+@all', '-pexpire');
  });

  after(async () => {
    admin.disconnect();
    await server.stop();
  });

  for (const kind of EVERY_LOCK.filter((one) => !isComposed(one))) {
    it(`${kind.noun}: leaves no lock without expiry (a right is missing that only its end needs)`, async () => {
      const client = trackClient(Redisson.create(server.url.replace('redis://', 'redis://u:pw@')));
      const name = uniqueName();
      const error = await rejection(makeLock(kind, client, name).lock());
      expect(error).to.be.instanceOf(CommandError).with.property('mayHaveRun', true);
      // The counter of fencing tokens stays, as ever.
      await sleepUntil(async () => (await admin.keys(`*${name}*`)).every((key) => key.includes('token')));
    });
  }
});
