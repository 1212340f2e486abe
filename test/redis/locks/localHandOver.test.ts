// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { ConnectionError, LockLostError, type Redisson, type RLock } from '../../../lib';
import { handOverValues } from '../../../lib/kinds/group';
import { lockChannel, handOverLock } from '../../../lib/kinds/reentrant';
import { redisUrl, sleepUntil, TcpProxy, trackClient, uniqueName } from '../../support';
import { LockProcess } from '../processes/LockProcess';
import { bareClient, newClient } from '../synchronizers/support';

const settings = { localHandOver: true };

const KINDS = [
  { what: 'a lock', sha: handOverLock.sha, values: undefined },
  { what: 'values of a group', sha: handOverValues.sha, values: ['a', 'b'] },
];

for (const { what, sha, values } of KINDS) {
  describe(`passing ${what} on before Redis knows, on a server that is far`, () => {
    let proxy: TcpProxy;
    let redis: Redis;
    let name: string;

    beforeEach(async () => {
      proxy = trackClient(await TcpProxy.start(redisUrl()));
      redis = bareClient();
      name = uniqueName();
    });

    function lockOf(client: Redisson): RLock {
      return values === undefined ? client.getLock(name) : client.getMultiLock(name, values);
    }

    function farClient(): Redisson {
      return newClient({ url: proxy.url, ...settings });
    }

    /** Read, thought about, written back: two inside lose an update. */
    async function count(): Promise<void> {
      const before = Number(await redis.get(`${name}:count`));
      await new Promise((resolve) => setTimeout(resolve, 1));
      await redis.set(`${name}:count`, before + 1);
    }

    /** Callers of one client, so many times each. @returns how often they were inside, and what they were told */
    async function turns(
      client: Redisson,
      callers: number,
      times: number,
    ): Promise<{ inside: number; errors: unknown[] }> {
      const errors: unknown[] = [];
      let inside = 0;
      const loop = async (): Promise<void> => {
        for (let i = 0; i < times; i++) {
          const hold = await lockOf(client).acquire();
          await count();
          inside++;
          await hold.unlock().catch((error: unknown) => errors.push(error));
        }
      };
      await Promise.all(Array.from({ length: callers }, loop));
      return { inside, errors };
    }

    it('one is inside at a time, and there are fewer commands than acquisitions', async () => {
      const client = farClient();
      await client.ping();
      proxy.delay(3);
      await redis.config('RESETSTAT');
      const { inside, errors } = await turns(client, 10, 8);
      expect(errors).to.deep.equal([]);
      expect([inside, Number(await redis.get(`${name}:count`))]).to.deep.equal([80, 80]);
      expect(await redis.exists(name)).to.equal(0);
      const [, calls = '0'] = /cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats')) ?? [];
      expect(Number(calls)).to.be.lessThan(80);
      await redis.del(`${name}:count`);
    });

    it('two processes: one is inside at a time, and each gets its share', async function () {
      this.timeout(60_000);
      proxy.delay(1);
      const processes = await Promise.all([0, 1].map(() => LockProcess.start(proxy.url, 30_000, true)));
      processes.forEach(trackClient);
      const until = 150;
      const done = await Promise.all(
        processes.map((one) => one.do<number[]>({ kind: 'contend', name, values, waiters: 8, insideMs: 1, until })),
      );
      const shares = done.map(({ value }) => value.reduce((sum, one) => sum + one, 0));
      expect(shares[0]! + shares[1]!).to.equal(until);
      expect(Math.min(...shares)).to.be.greaterThan(until / 10);
      expect(Number(await redis.get(`${name}:count`))).to.equal(until);
      await redis.del(`${name}:count`);
    });

    for (let after = 0; after < 4; after++) {
      it(`the connection breaks when hand-over ${after + 1} has run: nobody else gets in, nothing is left`, async () => {
        const client = farClient();
        // The script is known from now on, so that its hash is what travels.
        await turns(client, 3, 1);
        proxy.delay(2);
        const swallowed = proxy.swallowNextReply({ command: sha, then: 'cut', after });
        const { inside, errors } = await turns(client, 6, 4);
        await swallowed;
        for (const error of errors) expect(error).to.be.instanceOf(ConnectionError);
        expect(Number(await redis.get(`${name}:count`))).to.equal(inside + 3);
        expect(await redis.exists(name)).to.equal(0);
        await redis.del(`${name}:count`);
      });
    }

    it('a lock that is deleted is lost for the holder of the moment, whose unlock says so', async () => {
      const client = farClient();
      const first = await lockOf(client).acquire();
      const waiting = [lockOf(client).acquire(), lockOf(client).acquire()];
      const channel = lockChannel(name);
      await sleepUntil(async () => (await redis.pubsub('NUMSUB', channel))[1] === 1);
      // The attempt that follows the subscription is answered before.
      await lockOf(client).isLocked();
      await lockOf(client).isLocked();
      await first.unlock();
      const second = await waiting[0]!;
      proxy.delay(60_000, 'up');
      const unlocked = second.unlock().catch((error: unknown) => error);
      const third = await waiting[1]!;
      await redis.del(name);
      expect(third.isHeld).to.equal(true);
      proxy.deliver();
      expect(await unlocked).to.be.instanceOf(LockLostError);
      expect(third.signal.aborted).to.equal(true);
      expect(await third.unlock().catch((error: unknown) => error)).to.be.instanceOf(LockLostError);
    });
  });
}
