import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Inspector } from '../../lib/operators/inspection';
import { RedisServer } from '../../tools/redisServer';
import { sleepUntil } from '../support/sleepUntil';
import { JavaRedisson } from './support/JavaRedisson';
import { at } from './support/paths';
import { describeWithJava } from './support/suites';

describeWithJava('interop: the Inspector, and a lock of a Java process', () => {
  it('tells Java apart, holding and waiting, and says when it is gone and when the lock ends', async () => {
    const server = await RedisServer.start();
    const jvm = await JavaRedisson.start();
    const inspector = Inspector.open(server.url);
    const outsider = new Redis(server.url);
    try {
      const java = await jvm.peer({ addresses: [server.url], lockWatchdogTimeout: 30_000 });
      await java.thread('holder').call(at.fair('order'), 'lock');
      const waiting = java.thread('waiter').call(at.fair('order'), 'lock');
      waiting.catch(() => undefined);
      await sleepUntil(async () => (await inspector.inspect('order')).queue?.[0]?.listening === true);
      const { holders, queue, verdict } = await inspector.inspect('order');
      const owners = [...holders, ...queue!];
      expect(owners.map(({ owner }) => owner.split(':')[0])).to.deep.equal([java.clientId, java.clientId]);
      for (const { client, process } of owners) {
        expect(client).to.equal('unknown');
        // Redisson tells nothing of its connections.
        expect(process).to.deep.equal({ connected: 'unknown', java: true, unknownBecause: 'java' });
      }
      expect(verdict.kind).to.equal('held');
      expect(verdict.sentence).to.contain('Redisson for Java');

      await jvm.kill();
      await sleepUntil(async () => (await inspector.inspect('order')).queue?.[0]?.listening === false);
      // A connection that may be Java's: nobody can say that Java is gone.
      expect((await inspector.inspect('order')).holders[0]!.process.connected).to.equal('unknown');
      // Little is left: one look cannot know whether it has a lease.
      await outsider.pexpire('order', 15_000);
      expect((await inspector.inspect('order')).verdict.kind).to.equal('held');
      await outsider.client('SETNAME', 'ioredisson:test');
      await sleepUntil(async () => (await inspector.inspect('order')).verdict.kind === 'holder-gone');
      const after = await inspector.inspect('order');
      expect(after.holders[0]!.process).to.deep.equal({ connected: false, java: true });
      expect(after.queue![0]!.process).to.deep.equal({ connected: false, java: true });
      expect(after.verdict.endsAt).to.be.within(Date.now(), Date.now() + 15_000);
    } finally {
      outsider.disconnect();
      await inspector.close();
      await jvm.close();
      await server.stop();
    }
  });
});
