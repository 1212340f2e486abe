import { expect } from 'chai';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { Redisson } from '../../../lib';
import { Inspector } from '../../../lib/inspection';
import { clientChannel } from '../../../lib/introspection/wire';
import { RedisServer, sleepUntil, trackClient, uniqueName } from '../../support';

/** From so long on a client can be asked, in ms. */
const NOTEWORTHY_MS = 5_000;

describe('ask the holder', function () {
  this.timeout(40_000);
  const abort = new AbortController();
  const { signal } = abort;
  const waits: Promise<unknown>[] = [];
  let server: RedisServer;
  let admin: Redis;
  let inspector: Inspector;
  /** Holds `a`, and waits for `b` inside it. */
  let p: Redisson;
  /** Holds `b`, and waits for `a` inside it. */
  let q: Redisson;
  /** Waits for everything else. */
  let w: Redisson;
  let off: Redisson;

  // Everything that takes its five seconds, at once.
  before(async () => {
    server = await RedisServer.start();
    admin = new Redis(server.url);
    inspector = Inspector.open(server.url);
    p = Redisson.create({ url: server.url, introspection: { callSites: true } });
    q = Redisson.create({ url: server.url });
    w = Redisson.create({ url: server.url });
    off = Redisson.create({ url: server.url, introspection: false });
    await p.getSemaphore('permits').trySetPermits(0);
    await p.getCountDownLatch('latch').trySetCount(1);
    const inside = (client: Redisson, outer: string, inner: string): Promise<unknown> =>
      client.getLock(outer).withLock(async () => {
        await sleepUntil(async () => (await admin.exists('a', 'b')) === 2);
        await client.getFairLock(inner).withLock(() => undefined, { signal });
      });
    waits.push(inside(p, 'a', 'b'), inside(q, 'b', 'a'));
    await sleepUntil(async () => (await admin.exists('a', 'b')) === 2);
    await off.getLock('quiet').lock();
    waits.push(
      ...[0, 1, 2].map(() => w.getLock('a').withLock(() => undefined, { signal })),
      w.getSpinLock('a').lock(undefined, undefined, { signal }),
      w.getSemaphore('permits').acquire(1, { signal }),
      w.getCountDownLatch('latch').await(undefined, undefined, { signal }),
      w
        .getReadWriteLock('rw')
        .readLock()
        .withLock(async () => {
          await w.getReadWriteLock('rw').writeLock().lock(undefined, undefined, { signal });
        }),
    );
    for (const wait of waits) wait.catch(() => undefined);
    await sleepUntil(
      async () => {
        const listening = (await admin.call('PUBSUB', 'CHANNELS', 'ioredisson:client:*')) as string[];
        return listening.length === 3;
      },
      { timeout: 15_000 },
    );
  });

  after(async () => {
    abort.abort(new Error('the test is over'));
    await Promise.allSettled(waits);
    await Promise.all([p, q, w, off].map((client) => client.shutdown()));
    await inspector.close();
    admin.disconnect();
    await server.stop();
  });

  it('a client tells what it holds since when, how it is renewed, and by which line', async () => {
    const answer = await inspector.ask(p.getId());
    if (!answer.answered) throw new Error(answer.because);
    expect(answer).to.include({ clientId: p.getId(), pid: process.pid });
    expect(answer.uptimeMs).to.be.above(NOTEWORTHY_MS);
    const [hold] = answer.holds;
    expect(hold).to.include({ name: 'a', kind: 'lock', count: 1, leaseMs: -1 });
    expect(hold!.heldMs).to.be.at.least(NOTEWORTHY_MS);
    expect(hold!.callSite).to.match(/introspection\.test\.ts:\d+:\d+$/);
  });

  it('and who waits in it, for what kind of object, how many callers, and what they hold meanwhile', async () => {
    const [ofP, ofW] = await Promise.all([p, w].map((client) => inspector.ask(client.getId())));
    if (ofP?.answered !== true || ofW?.answered !== true) throw new Error('no answer');
    expect(ofP.waits.map(({ name, kind, callers, holding }) => [name, kind, callers, holding[0]!.name])).to.deep.equal([
      ['b', 'fair', 1, 'a'],
    ]);
    const kinds = new Map(ofW.waits.map(({ name, kind, callers }) => [`${kind} ${name}`, callers]));
    expect(kinds).to.deep.equal(
      new Map([
        ['lock a', 3],
        ['spin a', 1],
        ['semaphore permits', 1],
        ['latch latch', 1],
        ['write rw', 1],
      ]),
    );
  });

  it('inspect: a dead-lock over two clients, with its circle; who waits in which process', async () => {
    const report = await inspector.inspect('a');
    expect(report.verdict.kind).to.equal('dead-lock');
    const links = report.verdict.circle!.map(({ clientId, name, waitsFor }) => [clientId, name, waitsFor]);
    expect(links).to.deep.include.members([
      [p.getId(), 'a', 'b'],
      [q.getId(), 'b', 'a'],
    ]);
    expect(Date.now() - report.heldSince!).to.be.at.least(NOTEWORTHY_MS);
    const callers = report.waiting!.reduce((sum, one) => sum + one.callers, 0);
    expect(callers).to.equal(5);
  });

  it('inspect: a reader that waits for the write lock waits for itself', async () => {
    const { verdict } = await inspector.inspect('rw');
    expect([verdict.kind, verdict.circle?.length]).to.deep.equal(['dead-lock', 1]);
  });

  it('list and watch say the same', async () => {
    const verdicts = new Map((await inspector.list()).map(({ name, verdict }) => [name, verdict.kind]));
    expect([verdicts.get('a'), verdicts.get('b'), verdicts.get('quiet')]).to.deep.equal([
      'dead-lock',
      'dead-lock',
      'held',
    ]);
    const seen = await new Promise<string | undefined>((resolve) => {
      const stop = inspector.watch(
        (event) => {
          if (event.kind !== 'changes' || !event.complete) return;
          resolve(event.added.find(({ name }) => name === 'a')?.verdict.kind);
          stop();
        },
        { interval: 100 },
      );
    });
    expect(seen).to.equal('dead-lock');
  });

  it('a client with introspection: false, one that is not there, and one at rest do not listen', async () => {
    const young = trackClient(Redisson.create(server.url));
    await young.getLock(uniqueName()).lock(1_000);
    for (const id of [off.getId(), randomUUID(), young.getId()]) {
      expect(await inspector.ask(id)).to.deep.equal({ answered: false, because: 'unheard' });
    }
  });

  it('a client that does not answer within a second is called silent', async () => {
    const frozen = randomUUID();
    const listener = trackClient(new Redis(server.url));
    await listener.subscribe(clientChannel(frozen));
    expect(await inspector.ask(frozen)).to.deep.equal({ answered: false, because: 'silent' });
  });

  it('an answer of many pages is whole, up to the limit', async () => {
    const client = trackClient(Redisson.create(server.url));
    const names = Array.from({ length: 1_203 }, () => uniqueName());
    await Promise.all(names.map((name) => client.getLock(name).lock()));
    await sleepUntil(async () => (await inspector.ask(client.getId())).answered, { timeout: 15_000 });
    const all = await inspector.ask(client.getId(), { limit: 100_000 });
    if (!all.answered) throw new Error(all.because);
    expect(new Set(all.holds.map(({ name }) => name))).to.deep.equal(new Set(names));
    const some = await inspector.ask(client.getId(), { limit: 600 });
    expect(some.answered && [some.holds.length, some.total.holds]).to.deep.equal([600, 1_203]);
  });

  it('what is no question is not answered, nor one that names another channel for its answer', async () => {
    const monitor = trackClient(new Redis(server.url));
    const told: string[] = [];
    await monitor.psubscribe('*');
    monitor.on('pmessage', (_pattern, channel: string) => told.push(channel));
    const channel = clientChannel(p.getId());
    const victim = 'redisson_lock__channel:{a}';
    const texts = ['', '{', 'null', '[]', JSON.stringify({ id: 'x', to: victim }), JSON.stringify({ id: 1, to: 'y' })];
    for (const text of texts) await admin.publish(channel, text);
    await sleepUntil(() => told.length === texts.length);
    // Its answer would be there before that of a question that follows.
    await inspector.ask(p.getId());
    expect(told.filter((one) => one === victim)).to.deep.equal([]);
    expect(told.filter((one) => one.startsWith('ioredisson:answer:'))).to.have.length(1);
  });

  it('a holder that gives back, and holds nothing more, listens no more', async () => {
    const client = trackClient(Redisson.create(server.url));
    const hold = await client.getLock(uniqueName()).acquire();
    await sleepUntil(async () => (await inspector.ask(client.getId())).answered, { timeout: 15_000 });
    await hold.unlock();
    await sleepUntil(async () => !(await inspector.ask(client.getId())).answered, { timeout: 15_000 });
  });

  it('whose user may not listen there works as before, and is not asked', async () => {
    await admin.call('ACL', 'SETUSER', 'narrow', 'on', '>pw', '~*', 'resetchannels', '&redisson_*', '+@all');
    const client = trackClient(Redisson.create(server.url.replace('redis://', 'redis://narrow:pw@')));
    const name = uniqueName();
    const hold = await client.getLock(name).acquire();
    const before = Number(/total_error_replies:(\d+)/.exec(await admin.info('stats'))![1]);
    await sleepUntil(async () => Number(/total_error_replies:(\d+)/.exec(await admin.info('stats'))![1]) > before, {
      timeout: 15_000,
    });
    expect(await inspector.ask(client.getId())).to.deep.equal({ answered: false, because: 'unheard' });
    expect(hold.isHeld).to.equal(true);
    const other = trackClient(Redisson.create(server.url)).getLock(name).acquire();
    await sleepUntil(async () => (await inspector.inspect(name)).waiters > 0);
    await hold.unlock();
    await (await other).unlock();
  });

  it('bad input is refused at the call', async () => {
    for (const id of ['', undefined, 7] as never[]) {
      expect(await inspector.ask(id).catch((error: { code: string }) => error.code)).to.equal('CONFIG');
    }
    for (const limit of [0, -1, 1.5, Number.NaN]) {
      expect(await inspector.ask('a', { limit }).catch((error: Error) => error.name)).to.equal('RangeError');
    }
  });
});
