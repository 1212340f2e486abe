import { expect } from 'chai';
import * as net from 'node:net';
import { Redisson } from '../../lib';
import { createDashboard } from '../../lib/operators/dashboard';
import { EventStream } from '../../lib/operators/dashboard/Streams';
import type { LockDetail } from '../../lib/operators/dashboard/wire';
import type { ObjectReport } from '../../lib/operators/inspection';
import { monitor, RedisServer, sleepUntil, TcpProxy, trackClient, uniqueName } from '../support';
import { FakeSource, report } from './support/FakeSource';
import { ask, client, dashboardOf, Reader, serve } from './support/world';

interface Rows {
  readonly rows: readonly { readonly name: string; readonly waiters: number }[];
  readonly order?: readonly string[];
  readonly matched: number;
}

describe('the dashboard: open pages', function () {
  this.timeout(30_000);

  it('are told of changes only', async () => {
    const source = new FakeSource(...Array.from({ length: 40 }, (_, i) => report(`lock:${i + 10}`)));
    const base = await serve(dashboardOf(source));
    await ask(`${base}/api/locks`);
    const reader = new Reader(`${base}/api/stream?sort=name`);
    expect(((await reader.next('window')).data as unknown as Rows).rows).to.have.lengthOf(40);
    source.see(report('lock:11', { waiters: 3 }));
    const first = (await reader.next('change')).data as unknown as Rows;
    expect(first.rows.map(({ name, waiters }) => [name, waiters])).to.deep.equal([['lock:11', 3]]);
    expect(first).not.to.have.property('order');
    source.remove('lock:12');
    const second = (await reader.next('change', ({ matched }: Rows) => matched === 39)).data as unknown as Rows;
    expect(second.rows).to.deep.equal([]);
    expect(second.order).to.have.lengthOf(39).and.not.to.include('lock:12');
    // What is on another page of the list is no change of this one, but for the counts.
    const other = new Reader(`${base}/api/stream?sort=name&limit=5`);
    await other.next('window');
    source.see(report('lock:45', { waiters: 1 }));
    const third = await other.next('change', ({ counts }: { counts: { waited: number } }) => counts.waited === 2);
    expect((third.data as unknown as Rows).rows).to.deep.equal([]);
    expect(third.bytes).to.be.below(400);
  });

  it('survive owners of other programs, whatever their names: an answer may be of other holders than the watch has seen', async () => {
    const [holder] = report('a').holders;
    const hold = { since: 2_000, leaseMs: -1, renewals: 3, delayMs: 0, utilization: 0 };
    const foreign = (...owners: string[]): ObjectReport['holders'] => owners.map((owner) => ({ ...holder!, owner }));
    const source = new FakeSource(report('a', { holders: [holder!, ...foreign('y', 'z')] }));
    source.asked.set('a', report('a', { holders: [{ ...holder!, hold }, ...foreign('y', 'z')] }));
    const reader = new Reader(`${await serve(dashboardOf(source))}/api/stream?name=a`);
    await reader.next('lock', ({ lock }: { lock: LockDetail }) => lock.holders[0]?.hold !== undefined);
    source.see(report('a', { holders: [holder!, ...foreign('y,z')] }));
    const { data } = await reader.next('lock', ({ lock }: { lock: LockDetail }) => lock.holderCount === 2);
    expect((data as unknown as { lock: LockDetail }).lock.holders.map(({ owner }) => owner)).to.include('y,z');
  });

  it('a thousand are one watch and one PING, and end with the last', async () => {
    const source = new FakeSource(report('a'));
    const redisson = client();
    let pings = 0;
    const ping = redisson.ping.bind(redisson);
    redisson.ping = () => {
      pings++;
      return ping();
    };
    const dashboard = dashboardOf(source, { redisson });
    const base = await serve(dashboard);
    const startedAt = performance.now();
    const readers = Array.from({ length: 1_000 }, () => new Reader(`${base}/api/stream?name=a`));
    await sleepUntil(() => readers.every(({ messages }) => messages.some(({ event }) => event === 'lock')), {
      timeout: 25_000,
    });
    source.see(report('a', { waiters: 7 }));
    const hasSeven = (one: Reader): boolean =>
      one.messages.some(({ event, data }) => event === 'change' && (data as unknown as Rows).rows[0]?.waiters === 7);
    await sleepUntil(() => readers.every(hasSeven), { timeout: 25_000 });
    expect([source.watches, source.watching]).to.deep.equal([1, 1]);
    // So often as a single page would, however long this machine has taken for a thousand.
    const tookMs = performance.now() - startedAt;
    expect(pings).to.be.within(1, tookMs / 500 + 2);
    // Its holder is asked, once more before all had been seen.
    expect(source.inspections).to.be.within(1, tookMs / 5_000 + 2);
    for (const { request } of readers) request.destroy();
    await dashboard.close();
    expect(source.watching).to.equal(0);
  });

  it('a hundred ask a real Redis no more than one does', async () => {
    const server = trackClient(await RedisServer.start());
    const redisson = trackClient(Redisson.create(server.url));
    await redisson.getLock('a').lock();
    const base = await serve(trackClient(createDashboard({ redisson })));
    const seen = trackClient(await monitor(server.url));
    const scans = async (): Promise<number> => (await seen.sentNames()).filter((name) => name === 'scan').length;
    const readers = [new Reader(`${base}/api/stream?name=a`)];
    await readers[0]!.next('lock');
    while (readers.length < 100) readers.push(new Reader(`${base}/api/stream?name=a`));
    const before = await scans();
    const startedAt = performance.now();
    for (const reader of readers) await reader.next('lock');
    const waiting = redisson.runInThread(() => redisson.getLock('a').tryLock(60_000, -1)).catch(() => false);
    for (const reader of readers) {
      await sleepUntil(() => reader.messages.some(({ data }) => (data as unknown as Rows).rows?.[0]?.waiters === 1));
    }
    // One look a second, however many pages there are: by two orders less than a look for each.
    const looks = (performance.now() - startedAt) / 1_000 + 2;
    expect((await scans()) - before).to.be.at.most(Math.ceil(looks) * 2);
    await redisson.shutdown();
    await waiting;
  });

  it('10 000 locks: a page of them is small and quick', async () => {
    const source = new FakeSource(...Array.from({ length: 10_000 }, (_, i) => report(`lock:${i}`)));
    const base = await serve(dashboardOf(source));
    await ask(`${base}/api/locks`);
    const reader = new Reader(`${base}/api/stream`);
    const { data, bytes } = await reader.next('window');
    expect((data as unknown as Rows).matched).to.equal(10_000);
    expect(bytes).to.be.below(40_000);
    // All locks are renewed: what is not on the page is not sent.
    source.see(...Array.from({ length: 10_000 }, (_, i) => report(`lock:${i}`, { ttlMs: 20_000 })));
    const change = await reader.next('change');
    expect(change.bytes).to.be.below(40_000);
  });

  it('a reader that does not read is dropped, and what waits for it is bounded', async () => {
    let most = 0;
    const dropped = new Promise<void>((resolve) => {
      void serve((_, response) => {
        const stream = new EventStream(response, resolve);
        const message = `data: ${'x'.repeat(100_000)}\n\n`;
        // More than the system takes for a connection that nobody reads from.
        for (let sent = 0; sent < 1_000 && !response.destroyed; sent++) {
          stream.send(message);
          most = Math.max(most, response.writableLength);
        }
        stream.send(message);
        stream.end();
      }).then((base) => {
        const slow = net.connect(Number(new URL(base).port), '127.0.0.1');
        trackClient({ stop: () => slow.destroy() });
        slow.on('error', () => undefined);
        slow.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
      });
    });
    await dropped;
    expect(most).to.be.within(4_000_000, 5_000_000);
  });

  it('there are at most as many as maxStreams', async () => {
    const base = await serve(dashboardOf(new FakeSource(), { maxStreams: 2 }));
    const [one, two] = [new Reader(`${base}/api/stream`), new Reader(`${base}/api/stream`)];
    await Promise.all([one.next('window'), two.next('window')]);
    const third = await ask(`${base}/api/stream`);
    expect([third.status, third.headers['retry-after']]).to.deep.equal([503, '10']);
    one.request.destroy();
    await sleepUntil(async () => {
      const again = new Reader(`${base}/api/stream`);
      await sleepUntil(() => again.status > 0);
      return again.status === 200;
    });
  });

  it('end when the client is shut down, and say so to who comes later', async () => {
    const source = new FakeSource(report('a'));
    const redisson = client();
    const base = await serve(dashboardOf(source, { redisson }));
    const reader = new Reader(`${base}/api/stream`);
    await reader.next('window');
    await redisson.shutdown();
    await sleepUntil(() => reader.ended);
    await sleepUntil(() => source.closed);
    expect((await ask(`${base}/api/stream`)).status).to.equal(503);
  });

  it('Redis that goes away and comes back: told, and the list is right again', async () => {
    const server = trackClient(await RedisServer.start());
    const proxy = trackClient(await TcpProxy.start(server.url));
    const redisson = trackClient(Redisson.create({ url: proxy.url, timeout: 500, retryAttempts: 1 }));
    const name = uniqueName();
    const base = await serve(trackClient(createDashboard({ redisson })));
    const reader = new Reader(`${base}/api/stream`);
    await reader.next('health', ({ state }: { state: string }) => state === 'ok');
    proxy.refuse();
    proxy.cut();
    await reader.next('health', ({ state }: { state: string }) => state === 'down');
    const holder = trackClient(Redisson.create(server.url));
    await holder.getLock(name).lock();
    await proxy.pass();
    await sleepUntil(() => reader.messages.findLast(({ event }) => event === 'health')?.data['state'] === 'ok', {
      timeout: 20_000,
    });
    await sleepUntil(
      () => reader.messages.some(({ data }) => (data as unknown as Rows).rows?.some((one) => one.name === name)),
      {
        timeout: 20_000,
      },
    );
  });
});
