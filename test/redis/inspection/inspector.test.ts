import { expect } from 'chai';
import { Redis } from 'ioredis';
import { hostname } from 'node:os';
import { Redisson } from '../../../lib';
import { Inspector, type ObjectReport, type WatchEvent } from '../../../lib/inspection';
import { RedisServer, sleepUntil, trackClient } from '../../support';

const GONE = 'cccccccc-bbbb-4ccc-8ddd-eeeeeeeeeeee';
/** A thread id that only this package gives. */
const THREAD = 2 ** 32 + 7;

describe('the Inspector', function () {
  this.timeout(30_000);

  let server: RedisServer;
  let redis: Redis;
  let client: Redisson;
  let inspector: Inspector;

  before(async () => {
    server = await RedisServer.start();
  });
  after(() => server.stop());

  beforeEach(async () => {
    redis = trackClient(new Redis(server.url));
    await redis.flushall();
    client = trackClient(Redisson.create(server.url));
    const opened = new Inspector(client);
    inspector = opened;
    trackClient({ stop: () => opened.close() });
  });

  /** A lock in Redis, as another client leaves it. */
  async function heldBy(name: string, owner: string, ttl = 30_000): Promise<void> {
    await redis.hset(name, owner, 1);
    if (ttl > 0) await redis.pexpire(name, ttl);
  }

  describe('an owner', () => {
    it('is traced to its process: host, process id, address, for how long', async () => {
      await client.getLock('a').lock();
      const { holders, verdict } = await inspector.inspect('a');
      const [holder] = holders;
      expect(holder).to.include({ clientId: client.getId(), client: 'node', holdCount: 1 });
      expect(holder!.process).to.include({ connected: true, java: false, host: hostname(), pid: process.pid });
      expect(holder!.process.address).to.match(/^127\.0\.0\.1:\d+$/);
      expect(holder!.process.connectedForMs).to.be.within(0, 30_000);
      expect(verdict).to.include({ kind: 'held' });
    });

    it('of a client that has left is not connected: the verdict says so, and when it ends', async () => {
      await heldBy('a', `${GONE}:${THREAD}`);
      const { holders, verdict } = await inspector.inspect('a');
      expect(holders[0]!.process).to.deep.equal({ connected: false, java: false });
      expect(verdict.kind).to.equal('holder-gone');
      expect(verdict.endsAt).to.be.within(Date.now() + 25_000, Date.now() + 30_000);
    });
  });

  it('list: all, by name, with verdicts', async () => {
    await client.getLock('b').lock();
    await client.getFairLock('a').lock();
    const reports = await inspector.list();
    expect(reports.map(({ name, verdict }) => [name, verdict.kind])).to.deep.equal([
      ['a', 'held'],
      ['b', 'held'],
    ]);
  });

  it('watch: what there is, then what changes', async () => {
    const lock = client.getLock('a');
    await lock.lock();
    const events: WatchEvent[] = [];
    trackClient({ stop: inspector.watch((event) => events.push(event), { interval: 50 }) });
    const seen = (): ObjectReport[] => events.flatMap((event) => (event.kind === 'changes' ? event.added : []));
    await sleepUntil(() => seen().length === 1);
    await client.getLock('b').lock();
    await sleepUntil(() => seen().length === 2);
    await lock.unlock();
    await sleepUntil(() => events.some((event) => event.kind === 'changes' && event.removed[0]?.name === 'a'));
    expect(seen().map(({ name }) => name)).to.deep.equal(['a', 'b']);
    expect(seen()[0]!.heldSince).to.be.closeTo(Date.now(), 10_000);
  });
});
