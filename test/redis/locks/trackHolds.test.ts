import { expect } from 'chai';
import { Redis } from 'ioredis';
import { LockLostError, type LockHold, type PermitHold, Redisson, type RedissonOptions } from '../../../lib';
import { RedisServer, risen, sleep, sleepUntil, trackClient, uniqueName } from '../../support';
import { bareClient, newClient } from '../synchronizers/support';

/** What the tests wait for comes within a round trip; without tracking after 10 s at the earliest. */
const SOON = { timeout: 3_000 };

describe('trackHolds', () => {
  let server: RedisServer;
  let redis: Redis;
  let name: string;

  before(async () => {
    server = await RedisServer.start();
  });

  after(() => server.stop());

  beforeEach(async () => {
    redis = bareClient(server.url);
    await redis.flushall();
    name = uniqueName('tracked');
  });

  function open(options: RedissonOptions = {}): Redisson {
    return newClient({ url: server.url, trackHolds: true, ...options });
  }

  /** The connections for which Redis tracks keys. */
  async function tracking(): Promise<string[]> {
    return ((await redis.client('LIST')) as string).split('\n').filter((line) => / flags=\w*t/.test(line));
  }

  /** Resolves when the client hears of the keys that it has read. */
  async function untilTracked(client: Redisson, count = 1): Promise<void> {
    await client.ping();
    await sleepUntil(async () => (await tracking()).length === count);
    // What it has acquired is looked at behind that.
    await client.ping();
    await sleep(100);
  }

  /** Resolves when the watchdog has renewed the key: it lives longer than it did. */
  async function renewed(key: string): Promise<void> {
    await sleepUntil(risen(() => redis.pttl(key)));
  }

  async function expectLost(hold: LockHold | PermitHold): Promise<void> {
    await sleepUntil(() => hold.signal.aborted, SOON);
    expect(hold.signal.reason).to.be.instanceOf(LockLostError);
    await hold[Symbol.asyncDispose]();
  }

  const LOSSES: Record<string, () => Promise<unknown>> = {
    DEL: () => redis.del(name),
    'DEL and another owner': () => redis.multi().del(name).hset(name, 'other:1', 1).exec(),
    FLUSHALL: () => redis.flushall(),
    expiry: () => redis.pexpire(name, 20),
    eviction: () => redis.unlink(name),
  };
  for (const [how, lose] of Object.entries(LOSSES)) {
    it(`a hold that ends by ${how} is lost at once`, async () => {
      const client = open();
      const told: string[] = [];
      client.onLockLost((event) => told.push(event.name));
      const hold = await client.getLock(name).acquire();
      const kept = await client.getLock(`${name}:kept`).acquire();
      await untilTracked(client);
      await lose();
      await expectLost(hold);
      expect(told).to.include(name);
      if (how !== 'FLUSHALL') {
        expect(kept.isHeld).to.equal(true);
        await kept.unlock();
      }
    });
  }

  it('permits that are held, and a hold that was acquired later and renewed, are looked after, too', async () => {
    const client = open({ lockWatchdogTimeout: 9_000 });
    await untilTracked(client);
    const semaphore = client.getPermitExpirableSemaphore(name);
    await semaphore.trySetPermits(3);
    const permits = await semaphore.acquireHold({ permits: 2, leaseTime: 60_000 });
    const hold = await client.getLock(`${name}:lock`).acquire();
    await renewed(`${name}:lock`);
    expect([hold.isHeld, permits.isHeld]).to.deep.equal([true, true]);
    await newClient({ url: server.url }).getPermitExpirableSemaphore(name).release(permits.ids[0]!);
    await expectLost(permits);
    const before = performance.now();
    await redis.del(`${name}:lock`);
    await expectLost(hold);
    // The next renewal, which would find it gone, is due 3 s after the last one.
    expect(performance.now() - before).to.be.below(2_800);
  });

  it('waiters get a lock that was deleted, or has expired sooner, at once', async () => {
    const client = open();
    await untilTracked(client);
    for (const free of [() => redis.del(name), () => redis.pexpire(name, 50)]) {
      await redis.hset(name, 'other:1', 1);
      await redis.pexpire(name, 60_000);
      const waiting = client.getLock(name).acquire();
      await sleepUntil(async () => (await redis.pubsub('CHANNELS', `*${name}*`)) as string[], SOON);
      await sleep(200);
      const startedAt = performance.now();
      await free();
      const hold = await waiting;
      expect(performance.now() - startedAt).to.be.below(3_000);
      await hold.unlock();
    }
  });

  it('is enabled again after a connection of either sort was lost', async () => {
    const client = open();
    const hold = await client.getLock(name).acquire({ leaseTime: 60_000 });
    const other = await client.getLock(`${name}:other`).acquire({ leaseTime: 60_000 });
    await untilTracked(client);
    await redis.call('client', 'kill', 'type', 'pubsub');
    await sleep(500);
    await untilTracked(client);
    await redis.del(name);
    await expectLost(hold);
    const [line = ''] = await tracking();
    await redis.call('client', 'kill', 'id', /^id=(\d+)/.exec(line)![1]!);
    await sleep(500);
    await untilTracked(client);
    expect(other.isHeld).to.equal(true);
    await redis.del(`${name}:other`);
    await expectLost(other);
  });

  it('is closed by a shutdown while there is no server, too: no connection comes back with the server', async () => {
    const own = trackClient(await RedisServer.start());
    const client = newClient({ url: own.url, trackHolds: true });
    await client.getLock(name).withLock(() => client.ping());
    await own.kill();
    // Long enough for both sorts of connections to be between two attempts to connect.
    await sleep(500);
    await client.shutdown();
    await own.restart();
    const observer = bareClient(own.url);
    const since = performance.now();
    // ioredis tries again after half a second at most by then.
    await sleepUntil(() => performance.now() - since > 1_500);
    const lines = ((await observer.client('LIST')) as string).split('\n');
    expect(lines.filter((line) => line.includes(client.getId()))).to.deep.equal([]);
  });

  it('is off without the right to it: one warning, and all else as before', async () => {
    // Redis 6.2 cannot take a single subcommand away.
    const rights = ['+@all', '-client', '+client|setname', '+client|id', '+client|list'];
    await redis.call('ACL', 'SETUSER', 'some', 'on', '>pw', '~*', '&*', ...rights);
    const warnings: (Error & { code?: string })[] = [];
    const heard = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', heard);
    try {
      const client = open({ username: 'some', password: 'pw' });
      const hold = await client.getLock(name).acquire();
      await sleepUntil(() => warnings.length > 0, SOON);
      await sleep(200);
      expect(warnings.map(({ code }) => code)).to.deep.equal(['IOREDISSON_NO_TRACKING']);
      expect(await tracking()).to.deep.equal([]);
      expect(hold.isHeld).to.equal(true);
      await hold.unlock();
    } finally {
      process.off('warning', heard);
    }
  });

  it('is off by default: no connection more, and no command', async () => {
    const client = open({ trackHolds: false });
    await client.getLock(name).withLock(() => client.ping());
    expect(await tracking()).to.deep.equal([]);
    expect(await redis.pubsub('NUMSUB', '__redis__:invalidate')).to.deep.equal(['__redis__:invalidate', 0]);
  });

  it('works for a copy of a client of either protocol', async () => {
    for (const protocol of [2, 3]) {
      const given = trackClient(new Redis(server.url, { protocol } as object));
      const client = trackClient(Redisson.create({ client: given, trackHolds: true }));
      const hold = await client.getLock(`${name}:${protocol}`).acquire();
      await untilTracked(client, protocol - 1);
      await redis.del(hold.name);
      await expectLost(hold);
    }
  });
});
