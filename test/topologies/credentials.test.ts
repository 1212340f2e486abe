import { expect } from 'chai';
import { Redis } from 'ioredis';
import { inspect } from 'node:util';
import { Config, ConnectionError, type CredentialsRequest, Redisson, type RLock } from '../../lib';
import { RedisCluster, RedisServer, ReplicatedRedis, sleep, sleepUntil, trackClient, uniqueName } from '../support';

const USER = 'app';

/** A password that changes on several servers at once; connections with an older one end. */
class Rotation {
  readonly #admins: readonly Redis[];
  readonly asked: CredentialsRequest[] = [];
  expiresIn: number | undefined;
  #password = '';
  #count = 0;

  constructor(servers: readonly RedisServer[]) {
    this.#admins = servers.map((server) => trackClient(new Redis(server.url)));
  }

  readonly give = (request: CredentialsRequest) => {
    this.asked.push(request);
    return { username: USER, password: this.#password, expiresIn: this.expiresIn };
  };

  roles(): string[] {
    return [...new Set(this.asked.map(({ role }) => role))].sort();
  }

  /**
   * @param kill - whether the connections end, too
   * @param lateMs - so long after the servers know the new password, the old one is still given out
   */
  async next(kill = false, lateMs = 0): Promise<void> {
    const password = `token-${++this.#count}`;
    // The user of the replication stays as it is.
    const set = (admin: Redis) =>
      admin.call('ACL', 'SETUSER', USER, 'on', 'resetpass', `>${password}`, '~*', '&*', '+@all');
    await Promise.all(this.#admins.map(set));
    if (lateMs === 0) this.#password = password;
    if (kill) await Promise.all(this.#admins.map((admin) => admin.client('KILL', 'USER', USER)));
    if (lateMs > 0) await sleep(lateMs);
    this.#password = password;
  }
}

/**
 * Two clients that take turns while passwords change; nothing is lost, and nobody sleeps on.
 * @param lateMs - as in {@link Rotation.next}, at each rotation that ends the connections
 */
async function underLoad(config: () => Config, rotation: Rotation, lateMs = 0): Promise<void> {
  const clients = [1, 2].map(() => trackClient(Redisson.create(config().setCredentials(rotation.give))));
  const lost: unknown[] = [];
  for (const client of clients) client.onLockLost((event) => lost.push(event));
  const names = [uniqueName(), uniqueName(), uniqueName()];
  let over = false;
  let done = 0;
  const work = clients.flatMap((client) =>
    names.map(async (name) => {
      while (!over) {
        await client.getLock(name).withLock(async () => {
          await sleep(3);
          done++;
        });
      }
    }),
  );
  await sleepUntil(() => done > 10);
  for (let i = 0; i < 6; i++) {
    const kill = i % 3 === 2;
    await rotation.next(kill, kill ? lateMs : 0);
    await sleep(250);
  }
  const before = done;
  await sleepUntil(() => done > before + 10);
  over = true;
  await Promise.all(work);
  expect(lost).to.deep.equal([]);
}

describe('credentials in deployments (D1)', function () {
  this.timeout(90_000);

  for (const password of [undefined, 'of-the-sentinels']) {
    it(`sentinels ${password === undefined ? 'without a password' : 'that ask for one'}, and the master they name`, async () => {
      const server = trackClient(await RedisServer.start({ password: 'admin' }));
      const sentinelPassword = password === undefined ? {} : { password };
      const monitor = [
        `sentinel monitor mymaster ${server.host} ${server.port} 1`,
        'sentinel auth-pass mymaster admin',
      ];
      const sentinel = trackClient(
        await RedisServer.start({ args: ['--sentinel'], config: monitor, ...sentinelPassword }),
      );
      const rotation = new Rotation(password === undefined ? [server] : [server, sentinel]);
      rotation.expiresIn = 400;
      await rotation.next();
      await underLoad(() => {
        const config = new Config();
        config
          .useSentinelServers()
          .setMasterName('mymaster')
          .addSentinelAddress(`redis://${sentinel.host}:${sentinel.port}`);
        return config;
      }, rotation);
      expect(rotation.roles()).to.deep.equal(['master', 'sentinel']);
      expect(rotation.asked).to.deep.include({ host: sentinel.host, port: sentinel.port, role: 'sentinel' });
    });
  }

  describe('sentinels and their master that refuse the login, since the token they know is not given out yet', () => {
    let rotation: Rotation;
    let sentinels: string[];
    let server: RedisServer;
    let started: RedisServer[];

    beforeEach(async () => {
      server = trackClient(await RedisServer.start({ password: 'admin' }));
      const config = [`sentinel monitor mymaster ${server.host} ${server.port} 1`, 'sentinel auth-pass mymaster admin'];
      const password = 'of-the-sentinels';
      const two = [1, 2].map(() => RedisServer.start({ args: ['--sentinel'], config, password }));
      started = (await Promise.all(two)).map((sentinel) => trackClient(sentinel));
      sentinels = started.map(({ host, port }) => `redis://${host}:${port}`);
      rotation = new Rotation([server, ...started]);
      await rotation.next();
    });

    function sentinelConfig(): Config {
      const config = new Config().setLockWatchdogTimeout(6_000);
      config
        .useSentinelServers()
        .setMasterName('mymaster')
        .addSentinelAddress(...sentinels);
      return config;
    }

    it('for a moment: calls wait, no lock is lost', async () => {
      const holder = trackClient(Redisson.create(sentinelConfig().setCredentials(rotation.give)));
      const hold = await holder.getLock(uniqueName()).acquire();
      await underLoad(sentinelConfig, rotation, 1_500);
      expect(hold.isHeld).to.equal(true);
      await hold.unlock();
    });

    it('first to those who listen at the sentinels: a call waits from when its own connection is gone', async () => {
      const client = trackClient(Redisson.create(sentinelConfig().setCredentials(rotation.give)));
      const lock = client.getLock(uniqueName());
      await lock.isLocked();
      const [master, ...listened] = [server, ...started].map(({ url }) => trackClient(new Redis(url)));
      const late = rotation.next(false, 5_000);
      await sleep(200);
      const { length } = rotation.asked;
      await Promise.all(listened.map((one) => one.client('KILL', 'USER', USER)));
      // Longer than the command time-out, which is how long calls wait for a login.
      await sleep(3_500);
      expect(rotation.asked.length).to.be.greaterThan(length);
      expect(await lock.isLocked()).to.equal(false);
      await master!.client('KILL', 'USER', USER);
      expect(await lock.isLocked()).to.equal(false);
      await late;
    });

    it('without end: a ConnectionError with their words, not before the command time-out, and never the token', async () => {
      const credentials = () => ({ username: USER, password: 'of-yesterday-geheim' });
      const config = sentinelConfig().setCredentials(credentials);
      config.useSentinelServers().setTimeout(1_000);
      const client = trackClient(Redisson.create(config));
      const startedAt = performance.now();
      const ended = (call: Promise<unknown>): Promise<[Error, number]> =>
        call.then(
          () => Promise.reject(new Error('It has succeeded')),
          (error: Error) => [error, performance.now() - startedAt],
        );
      const lock = (): RLock => client.getLock(uniqueName());
      // A ping ends with the command time-out, which is just before the logins have failed for as long.
      const calls = [
        [ended(client.ping()), /^Could not log in to|refuses the connection/],
        [ended(lock().lock()), /refuses the connection/],
        [ended(lock().tryLock(20_000)), /refuses the connection/],
      ] as const;
      for (const [call, words] of calls) {
        const [error, ms] = await call;
        expect(error).to.be.instanceOf(ConnectionError);
        expect(error).to.have.property('code', 'CONNECTION');
        expect(error.message).to.match(words).and.to.contain('WRONGPASS');
        expect(inspect(error, { depth: 10, showHidden: true })).not.to.contain('geheim');
        expect(ms).to.be.within(900, 6_000);
      }
    });
  });

  for (const mode of ['AUTO', 'OFF'] as const) {
    it(`the nodes of a cluster, shardedSubscriptionMode ${mode}`, async () => {
      const cluster = trackClient(await RedisCluster.start({ masters: 3 }));
      const rotation = new Rotation(cluster.masters);
      rotation.expiresIn = 400;
      await rotation.next();
      // Nobody gets in without.
      for (const { url } of cluster.masters) {
        const admin = trackClient(new Redis(url));
        await admin.call(
          'ACL',
          'SETUSER',
          'default',
          '-@all',
          '+@admin',
          '+client',
          '+acl',
          '+ping',
          '+shutdown',
          '+info',
        );
      }
      await underLoad(() => {
        const config = new Config();
        const servers = config.useClusterServers().setShardedSubscriptionMode(mode);
        for (const url of cluster.urls) servers.addNodeAddress(url);
        return config;
      }, rotation);
      expect(new Set(rotation.asked.map(({ port }) => port)).size).to.equal(3);
    });
  }

  it('a master and its slave', async () => {
    const { master, replicas } = trackClient(await ReplicatedRedis.start({ replicas: 1, password: 'admin' }));
    const slave = replicas[0]!;
    const rotation = new Rotation([master, slave]);
    await rotation.next();
    await underLoad(() => {
      const config = new Config().setCheckLockSyncedSlaves(false);
      config
        .useMasterSlaveServers()
        .setMasterAddress(`redis://${master.host}:${master.port}`)
        .addSlaveAddress(`redis://${slave.host}:${slave.port}`);
      return config;
    }, rotation);
    expect(rotation.roles()).to.deep.equal(['master', 'slave']);
  });
});
