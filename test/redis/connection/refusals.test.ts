// Ids in titles: test/README.md
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { inspect } from 'node:util';
import { Config, ConfigError, ConnectionError, Redisson, type RedissonOptions } from '../../../lib';
import {
  loadSlowly,
  monitor,
  RedisServer,
  type RedisServerOptions,
  skip,
  sleepUntil,
  trackClient,
  uniqueName,
} from '../../support';

/** Long enough for a client that would wait for a server: a refusal is told at once. */
const AT_ONCE_MS = 2_500;

describe('a connection that is refused a part of its handshake (B1)', function () {
  this.timeout(30_000);

  async function start(options: RedisServerOptions, ...rules: string[]): Promise<RedisServer> {
    const server = trackClient(await RedisServer.start(options));
    await tell(server, ...rules);
    return server;
  }

  /** Changes the rights of `ann`, whose password is `geheim`. */
  async function tell(server: RedisServer, ...rules: string[]): Promise<void> {
    if (rules.length === 0) return;
    const admin = trackClient(new Redis(server.url));
    await admin.call('ACL', 'SETUSER', 'ann', 'on', '>geheim', '~*', '&*', '+@all', ...rules);
    admin.disconnect();
  }

  function urlOf(server: RedisServer, user = 'ann:geheim@', database = '/2'): string {
    return `redis://${user}${server.host}:${server.port}${database}`;
  }

  async function errorOf(work: Promise<unknown>): Promise<ConnectionError> {
    const startedAt = performance.now();
    const error: unknown = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(ConnectionError);
    expect(performance.now() - startedAt).to.be.lessThan(AT_ONCE_MS);
    expect(inspect(error, { depth: null, showHidden: true })).not.to.contain('geheim');
    return error as ConnectionError;
  }

  /** Nothing but what makes a connection has been sent to the server by us. */
  async function nothingIsSent(server: RedisServer, work: () => Promise<void>): Promise<void> {
    const seen = trackClient(await monitor(server.url));
    await work();
    const names = new Set(await seen.sentNames());
    const harmless = ['hello', 'auth', 'select', 'client', 'info', 'setinfo', 'setname', 'ping'];
    expect([...names].filter((name) => !harmless.includes(name.toLowerCase()))).to.deep.equal([]);
  }

  it('SELECT forbidden by an ACL: nothing is sent, callers get a ConnectionError, and not a lock of database 0', async () => {
    const server = await start({}, '-select');
    const client = trackClient(Redisson.create(urlOf(server)));
    const name = uniqueName();
    await nothingIsSent(server, async () => {
      for (let i = 0; i < 3; i++) {
        const error = await errorOf(client.getLock(name).lock());
        expect(error.message).to.match(/refuses the connection.*NOPERM.*select/);
        expect(error.mayHaveRun).to.equal(false);
      }
      await errorOf(client.getLock(name).tryLock(5_000));
      await errorOf(client.getSemaphore(uniqueName()).trySetPermits(1));
    });
    const admin = trackClient(new Redis(server.url));
    expect(await admin.exists(name)).to.equal(0);
  });

  it('SELECT renamed away: the same, and no argument of the command is shown', async () => {
    const server = await start({ args: ['--rename-command', 'SELECT', ''] });
    const client = trackClient(Redisson.create(urlOf(server, '', '/13')));
    const error = await errorOf(client.getLock(uniqueName()).lock());
    expect(error.message)
      .to.match(/unknown command .SELECT./i)
      .and.not.contain('args beginning');
    expect((error.cause as Error).message).to.not.contain('13');
  });

  it('SELECT refused at the second connection: the holder of database 2 stays alone', async () => {
    const server = await start({}, '+select');
    const client = trackClient(Redisson.create(urlOf(server)));
    const lock = client.getLock(uniqueName());
    await lock.lock();
    await tell(server, '-select');
    const admin = trackClient(new Redis(server.url));
    await nothingIsSent(server, async () => {
      await admin.call('CLIENT', 'KILL', 'USER', 'ann');
      await sleepUntil(async () => {
        const error: unknown = await client
          .getLock(uniqueName())
          .tryLock()
          .catch((reason: unknown) => reason);
        return error instanceof ConnectionError && /NOPERM/.test(error.message);
      });
    });
    expect(await admin.dbsize()).to.equal(0);
    // The right comes back, and so does the client.
    await tell(server, '+select');
    await sleepUntil(async () => lock.isHeldByCurrentThread().catch(() => false));
    await lock.unlock();
  });

  it('a waiter whose connections come back refused is told so', async () => {
    const server = await start({}, '+select');
    const holder = trackClient(Redisson.create(`${server.url}/2`));
    const client = trackClient(Redisson.create(urlOf(server)));
    const name = uniqueName();
    const held = holder.getLock(name);
    await held.lock();
    const waiting = client.getLock(name).lock();
    waiting.catch(() => undefined);
    const admin = trackClient(new Redis(server.url));
    await sleepUntil(async () => ((await admin.pubsub('CHANNELS', '*')) as string[]).length === 1);
    await tell(server, '-select');
    await admin.call('CLIENT', 'KILL', 'USER', 'ann');
    await sleepUntil(async () => !String(await admin.client('LIST')).includes('cmd=subscribe'));
    const error: unknown = await waiting.catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(ConnectionError);
    expect((error as Error).message).to.contain('NOPERM');
    expect(await admin.dbsize()).to.equal(0);
    await held.unlock();
  });

  it('SELECT refused to a copy of a client', async () => {
    const server = await start({}, '-select');
    const options = { host: server.host, port: server.port, username: 'ann', password: 'geheim', db: 2 };
    const client = trackClient(new Redis({ ...options, lazyConnect: true }));
    const error = await errorOf(trackClient(Redisson.create({ client })).getLock(uniqueName()).lock());
    expect(error.message).to.contain('NOPERM');
  });

  it('HELLO or CLIENT forbidden: the first is a refusal where it is used, the second nobody needs', async () => {
    const server = await start({}, '-hello', '-client');
    const client = trackClient(Redisson.create(urlOf(server)));
    const outcome: unknown = await client
      .getLock(uniqueName())
      .tryLock()
      .catch((error: unknown) => error);
    if (outcome !== true) expect((outcome as Error).message).to.match(/refuses the connection.*NOPERM.*hello/);
    await tell(server, '+hello');
    await sleepUntil(async () =>
      client
        .getLock(uniqueName())
        .tryLock()
        .catch(() => false),
    );
  });

  it('HELLO unknown: RESP2 will do', async function () {
    const server = await start({ args: ['--rename-command', 'HELLO', ''], password: 'geheim' });
    const stranger = trackClient(new Redis({ host: server.host, port: server.port, enableReadyCheck: false }));
    stranger.on('error', () => undefined);
    const reply = await stranger.call('NOSUCHCOMMAND').catch((error: unknown) => String(error));
    if (/NOAUTH/.test(String(reply))) skip(this, 'Valkey 9 tells strangers of no command whether it is there');
    const client = trackClient(Redisson.create(`${server.url}/2`));
    const lock = client.getLock(uniqueName());
    await lock.lock();
    await lock.unlock();
  });

  it('no room for another client: told as that, and waited for', async () => {
    const server = await start({ args: ['--maxclients', '4'] });
    const hogs = Array.from({ length: 4 }, () => trackClient(new Redis(server.url, { retryStrategy: () => 10 })));
    // Until the server has noticed that the connection by which we saw it start is closed, there is one too many.
    const isIn = (hog: Redis): Promise<boolean> =>
      hog.ping().then(
        () => true,
        () => false,
      );
    await sleepUntil(async () => (await Promise.all(hogs.map(isIn))).every(Boolean));
    const client = trackClient(Redisson.create({ url: server.url, timeout: 500, retryAttempts: 0 }));
    // The server closes with our greeting unread: the kernel often resets the connection before its words can be read.
    for (let i = 0; i < 5; i++) {
      const error: unknown = await client
        .getLock(uniqueName())
        .lock()
        .catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(ConnectionError);
      const { message } = error as Error;
      expect(message).to.contain('max number of clients').and.not.contain('running');
    }
    for (const hog of hogs) hog.disconnect();
    const lock = client.getLock(uniqueName());
    await sleepUntil(async () => lock.tryLock().catch(() => false));
  });

  it('a server that loads its data is told as that', async function () {
    const server = await start({ debug: true });
    const admin = trackClient(new Redis(server.url));
    await loadSlowly(this, admin);
    await admin.call('DEBUG', 'POPULATE', '30000', 'filler', '100');
    const reloading = admin.call('DEBUG', 'RELOAD').catch(() => undefined);
    const client = trackClient(Redisson.create({ url: server.url, timeout: 300, retryAttempts: 0 }));
    let message = '';
    await sleepUntil(async () => {
      const error: unknown = await client
        .getLock(uniqueName())
        .tryLock()
        .catch((reason: unknown) => reason);
      message = error instanceof Error ? error.message : '';
      return message.includes('LOADING');
    });
    expect(message).to.not.contain('Is it running');
    await reloading;
  });

  it('a server that is frozen before the first connection has neither refused nor answered', async () => {
    const server = await start({});
    server.pause();
    try {
      const short = { timeout: 200, connectTimeout: 500, retryAttempts: 0 };
      const client = trackClient(Redisson.create({ url: server.url, ...short }));
      for (const call of [client.ping(), client.getLock(uniqueName()).tryLock()]) {
        const error: unknown = await call.catch((reason: unknown) => reason);
        expect(error).to.be.instanceOf(ConnectionError);
        expect((error as Error).message).to.contain('it has neither refused nor answered');
      }
    } finally {
      server.resume();
    }
  });

  it('errors say what to do: a password, a cluster that is none, sentinels that are none, TLS on one side', async () => {
    const [plain, locked] = [await start({}), await start({ password: 'geheim' })];
    const cluster = new Config().setShardedSubscriptionMode('OFF');
    cluster.useClusterServers().addNodeAddress(plain.url).setTimeout(500);
    const sentinel = new Config();
    sentinel.useSentinelServers().setMasterName('m').addSentinelAddress(plain.url).setTimeout(500);
    const advice: readonly (readonly [config: Config | RedissonOptions, advice: RegExp])[] = [
      [cluster, /single server.*useSingleServer\(\)/],
      [sentinel, /no sentinel.*26379/],
      [{ url: `redis://127.0.0.1:${locked.port}` }, /NOAUTH.*`password`/],
      [{ url: `redis://:x@127.0.0.1:${locked.port}` }, /WRONGPASS.*Check `username` and `password`/],
      [{ url: plain.url.replace('redis:', 'rediss:'), timeout: 500 }, /use a redis:\/\/ address/],
    ];
    for (const [config, expected] of advice) {
      const client = trackClient(Redisson.create(config));
      const error: unknown = await client.ping().catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(ConnectionError);
      expect((error as Error).message).to.match(expected);
    }
  });

  it('a given client that select() has sent to another database than its options say is refused', async () => {
    const server = trackClient(await RedisServer.start());
    const client = trackClient(new Redis(server.url));
    const other = trackClient(new Redis(server.url, { db: 2 }));
    await client.select(2);
    expect(() => Redisson.create({ client })).to.throw(
      ConfigError,
      /database 2 by select\(\).*options say 0.*\{ db: 2 \}/,
    );
    await client.select(0);
    for (const one of [client, other]) await trackClient(Redisson.create({ client: one })).ping();
    await other.select(3);
    expect(() => Redisson.create({ client: other })).to.throw(ConfigError, /database 3 .* say 2/);
    // Not connected yet: nothing is known, and the options count.
    await trackClient(
      Redisson.create({ client: trackClient(new Redis(server.url, { lazyConnect: true, db: 1 })) }),
    ).ping();
  });
});
