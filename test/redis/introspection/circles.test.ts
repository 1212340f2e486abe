import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Redisson, type RLock } from '../../../lib';
import { Inspector, type ObjectReport } from '../../../lib/operators/inspection';
import { RedisServer, sleepUntil } from '../../support';

type Section = <T>(work: () => Promise<T>) => Promise<T>;

describe('dead-locks through locks that are not all alike', function () {
  this.timeout(60_000);
  const abort = new AbortController();
  const { signal } = abort;
  const waits: Promise<unknown>[] = [];
  const clients: Redisson[] = [];
  let server: RedisServer;
  let admin: Redis;
  let inspector: Inspector;

  // Everything that takes its seconds, at once.
  before(async () => {
    server = await RedisServer.start();
    admin = new Redis(server.url);
    inspector = Inspector.open(server.url);
    const client = (): Redisson => {
      const one = Redisson.create(server.url);
      clients.push(one);
      return one;
    };
    const values = (one: Redisson, group: string, ...some: string[]): Section => {
      const lock = one.getMultiLock(group, some);
      return (work) => lock.withLock(work, { signal });
    };
    const plain = (one: Redisson, name: string): Section => {
      const lock = one.getLock(name);
      return (work) => lock.withLock(work, { signal });
    };
    const open: (() => void)[] = [];
    const gate = new Promise<void>((resolve) => open.push(resolve));
    const inside: Promise<void>[] = [];
    /** Takes the outer one, and when all have theirs, the inner one. */
    const nest = (outer: Section, inner?: Section): void => {
      inside.push(
        new Promise((resolve) => {
          waits.push(
            outer(async () => {
              resolve();
              await gate;
              if (inner !== undefined) return inner(() => Promise.resolve());
              return new Promise<void>((done) => signal.addEventListener('abort', () => done()));
            }),
          );
        }),
      );
    };
    {
      const [p, q] = [client(), client()];
      nest(values(p, 'circle', 'a'), values(p, 'circle', 'b'));
      nest(values(q, 'circle', 'b'), values(q, 'circle', 'a', 'c'));
    }
    {
      const [p, q] = [client(), client()];
      nest(values(p, 'chain', 'a'), values(p, 'chain', 'b'));
      nest(values(q, 'chain', 'b'));
    }
    {
      const [p, q, r] = [client(), client(), client()];
      nest(values(p, 'other', 'a'), plain(p, 'other:lock'));
      nest(plain(q, 'other:lock'), values(q, 'other', 'b'));
      nest(values(r, 'other', 'b'));
    }
    {
      const [p, q] = [client(), client()];
      nest(values(p, 'mixed', 'a', 'b'), plain(p, 'mixed:lock'));
      nest(plain(q, 'mixed:lock'), values(q, 'mixed', 'b', 'c'));
    }
    {
      const p = client();
      /** As a thread that others chose, which nothing lets in. */
      const asOther = (lock: RLock): Section => {
        return async (work) => {
          await lock.lock(undefined, undefined, { threadId: 7, signal });
          return work();
        };
      };
      nest(values(p, 'itself', 'a'), asOther(p.getMultiLock('itself', ['a', 'b'])));
      for (const lock of [p.getNonReentrantLock('once'), p.getNonReentrantFairLock('once:fair')]) {
        nest((work) => lock.withLock(work, { signal }), asOther(lock));
      }
    }
    for (const wait of waits) wait.catch(() => undefined);
    await Promise.all(inside);
    open[0]!();
    await sleepUntil(
      async () => {
        const listening = (await admin.call('PUBSUB', 'CHANNELS', 'ioredisson:client:*')) as string[];
        return listening.length === clients.length;
      },
      { timeout: 20_000 },
    );
  });

  after(async () => {
    abort.abort(new Error('the test is over'));
    await Promise.allSettled(waits);
    await Promise.all(clients.map((one) => one.shutdown()));
    await inspector.close();
    admin.disconnect();
    await server.stop();
  });

  const circleOf = ({ verdict }: ObjectReport): readonly string[] =>
    (verdict.circle ?? []).map(({ name, waitsFor }) => `${name} -> ${waitsFor}`).sort();

  it('two callers that have values of one group, and wait for those of the other', async () => {
    const report = await inspector.inspect('circle');
    expect(report.verdict.kind).to.equal('dead-lock');
    expect(circleOf(report)).to.deep.equal(['circle -> circle', 'circle -> circle']);
    expect(new Set(report.verdict.circle!.map(({ clientId }) => clientId)).size).to.equal(2);
  });

  it('one who has a value, and waits for another one that somebody works under, is in none', async () => {
    const { verdict, waiting } = await inspector.inspect('chain');
    expect(verdict.kind).to.equal('held');
    expect(waiting).to.have.length(1);
  });

  it('nor does a lock close a circle through values that its holder does not wait for', async () => {
    for (const name of ['other', 'other:lock']) {
      expect((await inspector.inspect(name)).verdict.kind, name).to.equal('held');
    }
  });

  it('a circle of a group and a lock', async () => {
    for (const name of ['mixed', 'mixed:lock']) {
      expect(circleOf(await inspector.inspect(name)), name).to.deep.equal([
        'mixed -> mixed:lock',
        'mixed:lock -> mixed',
      ]);
    }
  });

  for (const name of ['itself', 'once', 'once:fair']) {
    it(`a section that waits for what it has itself: ${name}`, async () => {
      const report = await inspector.inspect(name);
      expect(report.verdict.kind).to.equal('dead-lock');
      expect(circleOf(report)).to.deep.equal([`${name} -> ${name}`]);
      expect(report.verdict.sentence).to.match(
        /^A dead-lock of one: its holder waits for this lock, which it has itself\./,
      );
    });
  }

  it('list says the same of each', async () => {
    const all = new Map((await inspector.list()).map(({ name, verdict }) => [name, verdict.kind]));
    expect(Object.fromEntries(all)).to.deep.equal({
      ...{ chain: 'held', circle: 'dead-lock', itself: 'dead-lock', mixed: 'dead-lock', 'mixed:lock': 'dead-lock' },
      ...{ once: 'dead-lock', 'once:fair': 'dead-lock', other: 'held', 'other:lock': 'held' },
    });
  });
});
