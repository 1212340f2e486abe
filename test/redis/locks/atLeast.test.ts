// Ids in titles: test/README.md
import { expect } from 'chai';
import { LockLostError } from '../../../lib';
import { client, connection, LONG_LEASE_MS } from '../../faults/scene';
import { RedisServer, sleep, TcpProxy, trackClient, uniqueName } from '../../support';
import { rejection } from '../synchronizers/support';

/** The time of an answer, in ms: longer than what is left of `atLeast` when the work ends. */
const ANSWER_MS = 150;

describe('atLeast, where the work ends just before, and Redis is far', () => {
  it('gives what the work gives: the lock has ended as it should, and is not lost; one that was deleted is', async () => {
    const server = trackClient(await RedisServer.start());
    const proxy = trackClient(await TcpProxy.start(server.url));
    const far = client(proxy.url);
    const name = uniqueName('least');
    const lost: string[] = [];
    far.onLockLost((event) => lost.push(event.name));
    await far.getLock(name).withLock(() => undefined);
    proxy.delay(ANSWER_MS, 'down');
    for (const kind of ['getLock', 'getFairLock', 'getFencedLock'] as const) {
      const lock = far[kind](`${name}:${kind}`);
      const work = (): Promise<string> => sleep(100).then(() => 'done');
      expect(await lock.withLock(work, { atLeast: 150 })).to.equal('done');
      await sleep(150);
      expect(await lock.isLocked()).to.equal(false);
      const gone = lock.withLock(
        () =>
          connection(server.url)
            .del(`${name}:${kind}`)
            .then(() => sleep(100)),
        { atLeast: LONG_LEASE_MS },
      );
      expect(await rejection(gone)).to.be.instanceOf(LockLostError);
    }
    expect(lost).to.deep.equal([]);
  });
});
