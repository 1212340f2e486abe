import { expect } from 'chai';
import { Redisson } from '../../../lib';
import { Inspector } from '../../../lib/operators/inspection';
import { redisUrl, sleepUntil, trackClient, uniqueName } from '../../support';
import { allowPersistentKeys, EVERY_LOCK, isComposed, makeLock } from '../../support/kinds';

describe('the inspector knows what is held:', () => {
  for (const kind of EVERY_LOCK.filter((one) => !isComposed(one))) {
    it(`${kind.noun}: ${kind.report}, as its descriptor says`, async () => {
      const client = trackClient(Redisson.create(redisUrl()));
      const inspector = Inspector.open(redisUrl());
      trackClient({ stop: () => inspector.close() });
      const name = uniqueName();
      allowPersistentKeys(kind, name);
      const hold = await makeLock(kind, client, name).acquire();
      const abort = new AbortController();
      let waiting: Promise<unknown> | undefined;
      if ('queue' in kind.keysOf('', '')) {
        // The queue in Redis is there while somebody waits in it.
        waiting = makeLock(kind, client, name)
          .acquire({ signal: abort.signal })
          .catch(() => undefined);
        await sleepUntil(async () => (await inspector.inspect(name)).waiters > 0, { message: 'somebody waits' });
      }
      const advice = `mend ObjectReader, or the report of '${kind.name}'`;
      const listed = await inspector.list(name);
      expect(
        listed.map((report) => report.kind),
        advice,
      ).to.deep.equal([kind.report]);
      expect((await inspector.inspect(name)).holders.map((one) => one.clientId)).to.deep.equal([client.getId()]);
      abort.abort();
      await waiting;
      await hold.unlock();
    });
  }
});
