import { expect } from 'chai';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { Redisson } from '../../../lib';
import { clientChannel } from '../../../lib/introspection/wire';
import { Inspector, type ObjectReport } from '../../../lib/operators/inspection';
import { RedisServer, sleepUntil, trackClient } from '../../support';

describe('one frozen client', function () {
  this.timeout(30_000);

  it('delays no row: what others do is seen at once, and its own verdict comes when it is known', async () => {
    const server = trackClient(await RedisServer.start());
    const admin = trackClient(new Redis(server.url));
    const [frozen, ear] = [randomUUID(), trackClient(new Redis(server.url))];
    await ear.subscribe(clientChannel(frozen));
    await ear.client('SETNAME', `ioredisson:${frozen}:host:1`);
    await admin.hset('its', `${frozen}:4294967296`, 1);
    await admin.pexpire('its', 60_000);
    // Somebody waits for it, so that its holder is asked.
    const waiter = trackClient(Redisson.create(server.url));
    const waiting = new AbortController();
    const waited = waiter.getLock('its').lock(-1, undefined, { signal: waiting.signal });
    waited.catch(() => undefined);
    const inspector = trackClient(new Inspector(waiter));
    const seen = new Map<string, ObjectReport>();
    const seenAt = new Map<string, number>();
    inspector.watch(
      (event) => {
        if (event.kind !== 'changes') return;
        for (const one of [...event.added, ...event.changed]) {
          seen.set(one.name, one);
          if (!seenAt.has(one.name)) seenAt.set(one.name, performance.now());
        }
      },
      { interval: 100 },
    );
    await sleepUntil(() => seen.has('its'));
    const takenAt = new Map<string, number>();
    const other = trackClient(Redisson.create(server.url));
    // One after the other, while the frozen one is asked several times.
    for (let i = 0; seen.get('its')!.verdict.kind !== 'not-renewed' || i < 20; i++) {
      const name = `other:${i}`;
      await other.getLock(name).lock();
      takenAt.set(name, performance.now());
      await sleepUntil(() => seenAt.has(name), { timeout: 10_000 });
      await sleepUntil(() => performance.now() - takenAt.get(name)! > 150);
    }
    const delays = [...takenAt].map(([name, at]) => seenAt.get(name)! - at).sort((a, b) => a - b);
    // Before, each question to the frozen client held up two seconds, and the pause after it as long again.
    expect(delays.at(-1)).to.be.lessThan(1_500);
    expect(seen.get('its')!.holders[0]).to.include({ silent: true });
    waiting.abort(new Error('the test is over'));
    await admin.flushall();
  });
});
