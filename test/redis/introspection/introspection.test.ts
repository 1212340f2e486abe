import { expect } from 'chai';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { Redisson } from '../../../lib';
import { Inspector } from '../../../lib/operators/inspection';
import { clientChannel } from '../../../lib/introspection/wire';
import { allowLeftovers, RedisServer, sleepUntil, trackClient, uniqueName } from '../../support';

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
  /** Waits; its name mapper cannot say the name of a key. */
  let odd: Redisson;

  // Everything that takes its five seconds, at once.
  before(async () => {
    server = await RedisServer.start();
    admin = new Redis(server.url);
    inspector = Inspector.open(server.url);
    p = Redisson.create({ url: server.url, introspection: { callSites: true } });
    q = Redisson.create({ url: server.url });
    w = Redisson.create({ url: server.url });
    off = Redisson.create({ url: server.url, introspection: false });
    const unmap = (): string => {
      throw new Error('no name for that');
    };
    odd = Redisson.create({ url: server.url, nameMapper: { map: (name) => name, unmap } });
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
    // Held by Java, behind whose waiter ours listens to a channel that is not its own.
    await admin.hset('java', 'java:1', 1);
    await admin.pexpire('java', 60_000);
    await admin.rpush('redisson_lock_queue:{java}', 'java:2');
    await admin.zadd('redisson_lock_timeout:{java}', Date.now() + 360_000, 'java:2');
    waits.push(
      ...[0, 1, 2].map(() => w.getLock('a').withLock(() => undefined, { signal })),
      w.getFairLock('java').lock(undefined, undefined, { signal }),
      w.getSpinLock('a').lock(undefined, undefined, { signal }),
      w.getSemaphore('permits').acquire(1, { signal }),
      odd.getSemaphore('odd').acquire(1, { signal }),
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
        return listening.length === 4;
      },
      { timeout: 15_000 },
    );
  });

  // Those that wait all the time attempt now and then, the spin lock most of all, and then have one alarm less.
  beforeEach(() => allowLeftovers({ timers: true }));

  after(async () => {
    abort.abort(new Error('the test is over'));
    await Promise.allSettled(waits);
    await Promise.all([p, q, w, off, odd].map((client) => client.shutdown()));
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

  it('a name mapper that throws ends no process: the key is the name, for the one who asks as well', async () => {
    const warnings: (Error & { code?: string })[] = [];
    const heard = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', heard);
    const answer = await inspector.ask(odd.getId());
    if (!answer.answered) throw new Error(answer.because);
    expect(answer.waits.map(({ name, key, callers }) => [name, key, callers])).to.deep.equal([['odd', 'odd', 1]]);
    await using own = new Inspector(odd);
    expect((await own.inspect('permits')).name).to.equal('permits');
    const names = (await own.list()).map(({ name }) => name);
    expect(names).to.include('permits');
    process.off('warning', heard);
    const told = warnings.filter(({ code }) => code === 'IOREDISSON_LISTENER').map(({ message }) => message);
    expect(told, 'once').to.deep.equal(['nameMapper.unmap threw: Error: no name for that']);
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
        ['fair java', 1],
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

  it('inspect: who waits for a latch, as for every other kind', async () => {
    const { kind, waiting, waiters } = await inspector.inspect('latch');
    expect([kind, waiters]).to.deep.equal(['countDownLatch', 1]);
    expect(waiting!.map(({ clientId, callers }) => [clientId, callers])).to.deep.equal([[w.getId(), 1]]);
  });

  it('inspect: a reader that waits for the write lock waits for itself', async () => {
    const { verdict } = await inspector.inspect('rw');
    expect([verdict.kind, verdict.circle?.length]).to.deep.equal(['dead-lock', 1]);
  });

  it('a dead-lock of callers that hold by one client, and wait in another, of the same process', async () => {
    const outer = trackClient(Redisson.create(server.url));
    const inner = trackClient(Redisson.create(server.url));
    const ended = new AbortController();
    const [one, two] = [uniqueName('two-clients'), uniqueName('two-clients')];
    const inside = (has: string, wants: string): Promise<unknown> =>
      outer
        .getLock(has)
        .withLock(async () => {
          await sleepUntil(async () => (await admin.exists(one, two)) === 2);
          await inner.getLock(wants).withLock(() => undefined, { signal: ended.signal });
        })
        .catch(() => undefined);
    const both = [inside(one, two), inside(two, one)];
    await sleepUntil(async () => (await inspector.ask(inner.getId())).answered, { timeout: 15_000 });
    const { verdict } = await inspector.inspect(one);
    expect([verdict.kind, verdict.circle?.length]).to.deep.equal(['dead-lock', 2]);
    ended.abort(new Error('the test is over'));
    await Promise.all(both);
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

  it('a question about one lock takes nothing from what watch says of the others', async () => {
    const without: string[] = [];
    let looks = 0;
    const stop = inspector.watch(
      (event) => {
        if (event.kind !== 'changes') return;
        looks++;
        for (const { name, holders } of [...event.added, ...event.changed]) {
          if (['a', 'b'].includes(name) && holders[0]?.hold === undefined) without.push(name);
        }
      },
      { interval: 50 },
    );
    await sleepUntil(() => looks > 0);
    for (let i = 0; i < 3; i++) {
      expect((await inspector.inspect('rw')).holders[0]).to.have.property('hold');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    stop();
    expect(without).to.deep.equal([]);
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

  /** Somebody who listens as a client with the id would, and answers in its own way. */
  async function impostor(id: string, answer: (question: { id: string; from?: number }) => unknown): Promise<Redis> {
    const listener = trackClient(new Redis(server.url));
    const mouth = trackClient(new Redis(server.url));
    await listener.subscribe(clientChannel(id));
    listener.on('message', (_channel, text: string) => {
      const question = JSON.parse(text) as { id: string; to: string; from?: number };
      const said = answer(question);
      void mouth.publish(question.to, typeof said === 'string' ? said : JSON.stringify(said));
    });
    return listener;
  }

  const whole = (id: string, clientId: string): Record<string, unknown> => ({
    ...{ id, clientId, host: 'h', pid: 1, uptimeMs: 1, versions: { node: '20', ioredisson: '1' } },
    ...{ eventLoop: { delayMs: 0, utilization: 0 }, holds: [], waits: [], total: { holds: 0, waits: 0 } },
  });

  it('a holder that answers nonsense counts as silent, and what it holds is shown as Redis has it', async () => {
    const nonsense: ((id: string, clientId: string) => unknown)[] = [
      () => '{',
      (id) => ({ id, holds: [], waits: [] }),
      (id, clientId) => ({ ...whole(id, clientId), holds: [null] }),
      (id, clientId) => ({ ...whole(id, clientId), holds: [{ name: 7 }] }),
      (id, clientId) => ({ ...whole(id, clientId), waits: [{ key: 'a', name: 'a', holding: [3] }] }),
      (id, clientId) => ({ ...whole(id, clientId), eventLoop: undefined }),
      (id, clientId) => ({ ...whole(id, clientId), host: { toString: 1 } }),
      // The name of another client.
      (id) => whole(id, p.getId()),
    ];
    const seen = await Promise.all(
      nonsense.map(async (answer, i) => {
        const clientId = randomUUID();
        const name = uniqueName(`nonsense:${i}`);
        await admin.hset(name, `${clientId}:1`, 1);
        await admin.pexpire(name, 60_000);
        const listener = await impostor(clientId, ({ id }) => answer(id, clientId));
        const [asked, { verdict, holders }] = await Promise.all([inspector.ask(clientId), inspector.inspect(name)]);
        await listener.quit();
        expect(holders[0]).to.include({ owner: `${clientId}:1` });
        return [asked.answered ? 'answered' : asked.because, verdict.kind];
      }),
    );
    expect(seen).to.deep.equal(nonsense.map(() => ['silent', 'not-renewed']));
  });

  it('one that promises more holds than it tells is not asked for ever', async () => {
    const clientId = randomUUID();
    let questions = 0;
    const one = { name: 'x', key: 'x', owner: `${clientId}:1`, kind: 'lock', threadId: 1, count: 1 };
    const hold = { ...one, heldMs: 1, leaseMs: -1, renewals: 0 };
    await impostor(clientId, ({ id }) => {
      questions++;
      return { ...whole(id, clientId), holds: [hold], total: { holds: 1e9, waits: 0 } };
    });
    const answer = await inspector.ask(clientId, { limit: 1e9 });
    expect([answer.answered && answer.holds.length, questions]).to.deep.equal([1, 1]);
  });

  it('nobody is dead-locked by who only says so: the holder is the one that Redis names', async () => {
    const [victim, liar] = [uniqueName('victim'), randomUUID()];
    const client = trackClient(Redisson.create(server.url));
    const hold = await client.getLock(victim).acquire();
    const held = { name: victim, key: victim, owner: `${liar}:1` };
    const wait = { name: victim, key: victim, kind: 'lock', callers: 1, waitedMs: 60_000, holding: [held] };
    const listener = await impostor(liar, ({ id }) => ({ ...whole(id, liar), waits: [wait] }));
    expect((await inspector.inspect(victim)).verdict.kind).to.equal('held');
    await listener.quit();
    await hold.unlock();
  });

  it('more waited-for locks than fit into a question: each holder is asked about its own', async () => {
    const client = trackClient(Redisson.create(server.url));
    const names = Array.from({ length: 700 }, () => uniqueName('many'));
    await Promise.all(names.map((name) => client.getLock(name).lock()));
    const listener = trackClient(new Redis(server.url));
    await listener.subscribe(...names.map((name) => `redisson_lock__channel:{${name}}`));
    await sleepUntil(async () => (await inspector.ask(client.getId(), { limit: 1 })).answered, { timeout: 15_000 });
    const reports = (await inspector.list('*many*')).filter(({ name }) => names.includes(name));
    expect(reports.filter(({ holders }) => holders[0]!.hold !== undefined)).to.have.length(700);
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
