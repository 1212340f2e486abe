// Ids in titles: test/README.md
import { expect } from 'chai';
import { RedisServer, trackClient, uniqueName } from '../../support';
import { LockProcess } from './LockProcess';
import { OneTurnPeer } from './oneTurnPeer';

const SECONDS = 4;

// Processes of ours hand a lock on among their own waiters. A process that does not is to get in all the same.
describe('A14: a mixed fleet on one hot plain lock with nothing inside', function () {
  this.timeout(60_000);
  let server: RedisServer;

  before(async () => {
    server = trackClient(await RedisServer.start());
  });

  for (const { processes, waiters, threads } of [
    { processes: 1, waiters: 1, threads: 1 },
    { processes: 1, waiters: 25, threads: 1 },
    { processes: 1, waiters: 25, threads: 8 },
    { processes: 3, waiters: 25, threads: 8 },
  ]) {
    const fleet = `${processes} process(es) of ours with ${waiters} waiter(s), one that takes one turn at a time with ${threads} thread(s)`;
    it(`it has at least a tenth of its fair share: ${fleet}`, async () => {
      const name = uniqueName();
      const ours = (await Promise.all(Array.from({ length: processes }, () => LockProcess.start(server.url)))).map(
        trackClient,
      );
      const peer = new OneTurnPeer(server.url, name);
      const running = peer.run(threads);
      const done = await Promise.all(
        ours.map((one) => one.do<number>({ kind: 'loop', name, waiters, ms: SECONDS * 1000 })),
      );
      const { turns } = peer;
      peer.stop();
      await running;
      await peer.close();
      const counts = done.map(({ value }) => value);
      const total = turns + counts.reduce((sum, one) => sum + one);
      expect((turns / total) * (processes + 1), 'share of its fair share').to.be.at.least(0.1);
      expect(Math.min(...counts)).to.be.above(0);
    });
  }
});
