// Ids in titles: test/README.md
import { expect } from 'chai';
import { Redisson } from '../../../lib';
import { askServer } from '../../support/clusterTools';
import { RedisServer, sleepUntil, trackClient, uniqueName } from '../../support';

describe('a master that becomes a replica', () => {
  it('C17: READONLY to many callers reconnects once, without a warning of a leak', async function () {
    this.timeout(30_000);
    const server = trackClient(await RedisServer.start());
    const client = trackClient(Redisson.create(server.url));
    await client.getLock(uniqueName()).isLocked();
    const warnings: Error[] = [];
    const heard = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', heard);
    let reconnects = 0;
    client.onConnectionChange(({ state }) => {
      if (state === 'reconnecting') reconnects++;
    });
    try {
      await askServer(server, (admin) => admin.call('REPLICAOF', '127.0.0.1', '1'));
      const attempts = Array.from({ length: 50 }, async () => client.getLock(uniqueName()).tryLock());
      await sleepUntil(() => reconnects > 2);
      await askServer(server, (admin) => admin.call('REPLICAOF', 'NO', 'ONE'));
      expect(await Promise.all(attempts)).to.deep.equal(Array(50).fill(true));
    } finally {
      process.off('warning', heard);
    }
    expect(warnings).to.deep.equal([]);
  });
});
