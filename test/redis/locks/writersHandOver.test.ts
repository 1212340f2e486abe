// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { ConnectionError, type LockHold, type Redisson } from '../../../lib';
import { handOverLock } from '../../../lib/kinds/reentrant';
import { lockContract } from '../../contracts/lockContract';
import { redisUrl, sleep, sleepUntil, TcpProxy, trackClient, uniqueName } from '../../support';
import { atNight } from '../../support/atNight';
import { underTest } from '../../support/kinds';
import { bareClient, newClient } from '../synchronizers/support';

const settings = { localHandOver: true };

atNight(() =>
  lockContract('RReadWriteLock.writeLock() (passed on before Redis knows)', { ...underTest('write'), settings }),
);

describe('a write lock that is handed over', () => {
  let proxy: TcpProxy;
  let redis: Redis;
  let name: string;

  beforeEach(async () => {
    proxy = trackClient(await TcpProxy.start(redisUrl()));
    redis = bareClient();
    name = uniqueName('rw');
  });

  afterEach(async () => {
    const keys = await redis.keys(`*${name}*`);
    if (keys.length > 0) await redis.del(...keys);
  });

  const farClient = (): Redisson => newClient({ url: proxy.url, ...settings });

  /** Of all callers of the test: who is inside, and what they were told. */
  class Callers {
    readonly errors: unknown[] = [];
    writes = 0;
    #written = 0;
    readonly #inside = new Map<string, number>();

    /** Writes, and reads then as the same thread. */
    async write(client: Redisson, threadId: number, times: number, reads = false): Promise<void> {
      const lock = client.getReadWriteLock(name);
      for (let i = 0; i < times; i++) {
        await lock.writeLock().lock(-1, undefined, threadId);
        await this.#while(`${client.getId()}:${threadId}`, true);
        this.writes++;
        await lock
          .writeLock()
          .unlock(threadId)
          .catch((error: unknown) => this.errors.push(error));
        if (reads) await this.read(client, threadId, 1);
      }
    }

    async read(client: Redisson, threadId: number, times: number): Promise<void> {
      const lock = client.getReadWriteLock(name).readLock();
      for (let i = 0; i < times; i++) {
        await lock.lock(-1, undefined, threadId);
        await this.#while(`${client.getId()}:${threadId}`, false);
        await lock.unlock(threadId);
      }
    }

    async #while(who: string, writes: boolean): Promise<void> {
      const others = [...this.#inside.keys()].filter((other) => other !== who);
      const clash = writes ? others.length > 0 : this.#written > 0;
      if (clash) this.errors.push(new Error(`${who} beside ${others.join()}`));
      this.#inside.set(who, 1);
      if (writes) this.#written++;
      await sleep(1);
      if (writes) this.#written--;
      this.#inside.delete(who);
    }
  }

  it('one writes at a time, nobody reads beside it, each gets in, and there are fewer commands than acquisitions', async () => {
    const clients = [farClient(), farClient()];
    await Promise.all(clients.map((client) => client.ping()));
    proxy.delay(3);
    await redis.config('RESETSTAT');
    const callers = new Callers();
    await Promise.all(
      clients.flatMap((client) => [1, 2, 3, 4, 5, 6, 7, 8].map((threadId) => callers.write(client, threadId, 6))),
    );
    const [, calls = '0'] = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats')) ?? [];
    expect(Number(calls)).to.be.lessThan(96);
    await Promise.all(
      clients.flatMap((client) => [
        callers.read(client, 9, 5),
        ...[1, 2, 3, 4].map((threadId) => callers.write(client, threadId, 6, threadId < 3)),
      ]),
    );
    expect([callers.errors, callers.writes]).to.deep.equal([[], 144]);
    expect(await redis.exists(name)).to.equal(0);
  });

  for (let after = 0; after < 4; after++) {
    it(`the connection breaks when hand-over ${after + 1} has run: the former writer does not read beside the next one`, async () => {
      const client = farClient();
      const callers = new Callers();
      // The script is known from now on, so that its hash is what travels.
      await Promise.all([1, 2, 3].map((threadId) => callers.write(client, threadId, 1)));
      proxy.delay(2);
      const swallowed = proxy.swallowNextReply({ command: handOverLock.sha, then: 'cut', after });
      await Promise.all([1, 2, 3, 4, 5, 6].map((threadId) => callers.write(client, threadId, 4, threadId < 3)));
      await swallowed;
      for (const error of callers.errors) expect(error).to.be.instanceOf(ConnectionError);
      expect(callers.writes).to.equal(27);
      expect(await redis.exists(name)).to.equal(0);
    });
  }

  it('a read that nobody believes in moves with nobody: it lets no writer in, harms none, and its undo frees the lock', async () => {
    const client = newClient(settings);
    const other = newClient();
    const reader = `${client.getId()}:1`;
    let heir: LockHold | undefined;
    // The second one joins a turn, which is over after 20 ms: where the machine is too slow for that, the lock is
    // released to all instead, and another name gets the next turn.
    for (let turn = 0; heir === undefined; turn++) {
      name = uniqueName('rw');
      const lock = client.getReadWriteLock(name).writeLock();
      await lock.lock(-1, undefined, 1);
      const waiting = lock.acquire({ threadId: 2 });
      waiting.catch(() => undefined);
      await sleepUntil(async () => (await redis.pubsub('NUMSUB', `redisson_rwlock:{${name}}`))[1] === 1);
      // An attempt that got no reply: its undo is due. The attempt that follows the subscription is answered before.
      await redis.hset(name, reader, 1);
      await redis.set(`{${name}}:${reader}:rwlock_timeout:1`, 1, 'PX', 30_000);
      await lock.isLocked();
      await lock.unlock(1);
      const fields = Object.keys(await redis.hgetall(name)).sort();
      if (fields.includes(`${client.getId()}:2:write`)) {
        expect(fields).to.deep.equal([reader, `${client.getId()}:2:write`, 'mode'].sort());
        heir = await waiting;
      } else {
        await redis.del(name);
        expect(turn, 'turns without a hand-over').to.be.below(50);
      }
    }
    const lock = client.getReadWriteLock(name);
    expect(await lock.readLock().tryLock({ threadId: 1 })).to.equal(false);
    await heir.unlock();
    expect(await redis.hgetall(name)).to.deep.equal({ mode: 'read', [reader]: '1' });
    expect(await other.getReadWriteLock(name).writeLock().tryLock()).to.equal(false);
    await lock.readLock().unlock(1);
    expect(await redis.exists(name)).to.equal(0);
  });
});
