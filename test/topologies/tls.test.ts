import { expect } from 'chai';
import { once } from 'node:events';
import * as net from 'node:net';
import { Config } from '../../lib/config/builder/Config';
import { Redisson } from '../../lib/Redisson';
import { RedisServer, skip, tlsFiles, trackClient, uniqueName } from '../support';
import { failure, SOON_MS, within } from './helpers';

/**
 * How long a client tries, and a second more: it finds out what the matter is also on a machine that stands still
 * meanwhile. Each test waits that long once, so it asks in every way at once.
 */
const WAIT_MS = 2_500;

describe('TLS', () => {
  const files = tlsFiles();
  let server: RedisServer;

  before(async function () {
    if (files === undefined) skip(this, 'no openssl to make certificates with');
    server = trackClient(await RedisServer.start({ tls: files }));
  });

  const kinds = {
    single: (config: Config) => config.useSingleServer().setAddress(server.url),
    masterSlave: (config: Config) => config.useMasterSlaveServers().setMasterAddress(server.url),
    replicated: (config: Config) => config.useReplicatedServers().addNodeAddress(server.url),
  };
  for (const [kind, use] of Object.entries(kinds)) {
    it(`${kind}: hands a lock over on encrypted connections`, async () => {
      const configs = [new Config(), new Config()].map((config) => config.setSslTruststore(files!.ca));
      configs.forEach(use);
      const [one, other] = configs.map((config) => trackClient(Redisson.create(config)));
      const held = one!.getLock(uniqueName());
      await held.lock();
      const waiting = other!.getLock(held.name).lock();
      await held.unlock();
      await within(SOON_MS, waiting);
      await other!.getLock(held.name).forceUnlock();
    });
  }

  it('sentinels and their master are logged in with credentials that change', async () => {
    const password = 'token-1';
    const master = trackClient(await RedisServer.start({ tls: files!, password }));
    const config = [
      'tls-replication yes',
      `sentinel monitor mymaster ${master.host} ${master.port} 1`,
      `sentinel auth-pass mymaster ${password}`,
    ];
    const sentinel = trackClient(await RedisServer.start({ tls: files!, args: ['--sentinel'], config, password }));
    const asked: string[] = [];
    const use = new Config().setSslTruststore(files!.ca).setCredentials(({ role }) => {
      asked.push(role);
      return { password };
    });
    use.useSentinelServers().setMasterName('mymaster').addSentinelAddress(sentinel.url);
    const client = trackClient(Redisson.create(use));
    const lock = client.getLock(uniqueName());
    await within(SOON_MS, lock.lock());
    await lock.unlock();
    expect(asked).to.include.members(['sentinel', 'master']);
  });

  it('a certificate nobody vouches for is told at once', async () => {
    const client = trackClient(Redisson.create(server.url));
    const startedAt = performance.now();
    const error = await failure(client.getLock(uniqueName()).lock());
    expect(error.code).to.equal('CONNECTION');
    expect(error.message).to.contain('refuses the connection').and.contain('certificate');
    // A call that waits for a server takes 7 s.
    expect(performance.now() - startedAt).to.be.lessThan(5_000);
  });

  describe('D13: what is no Redis is said to be none, and nothing of ioredis shows', () => {
    const strangers: readonly [string, (url: URL, config: Config) => unknown][] = [
      [
        'a single server',
        ({ href }, config) => config.useSingleServer().setAddress(href).setTimeout(WAIT_MS).setRetryAttempts(1),
      ],
      [
        'a cluster',
        ({ href }, config) => config.useClusterServers().addNodeAddress(href).setTimeout(WAIT_MS).setRetryAttempts(1),
      ],
      [
        'a sentinel',
        ({ href }, config) =>
          config
            .useSentinelServers()
            .setMasterName('m')
            .addSentinelAddress(href)
            .setTimeout(WAIT_MS)
            .setRetryAttempts(1),
      ],
      [
        'a master with slaves',
        ({ href }, config) =>
          config.useMasterSlaveServers().setMasterAddress(href).setTimeout(WAIT_MS).setRetryAttempts(1),
      ],
    ];
    for (const [what, choose] of strangers) {
      it(`${what} that is a web server, or speaks TLS`, async () => {
        const errors = [
          ['HTTP/1.1 400 Bad Request\r\n\r\n', /no Redis answers/] as const,
          ['\x15\x03\x01\x00\x02\x02\x0a', /rediss:|no Redis answers/] as const,
        ].map(async ([greeting, hint]) => {
          const stranger = net.createServer((socket) => {
            socket.on('error', () => undefined);
            socket.once('data', () => socket.end(greeting, 'latin1'));
          });
          stranger.listen(0, '127.0.0.1');
          await once(stranger, 'listening');
          trackClient({ stop: () => new Promise((resolve) => stranger.close(resolve)) });
          const config = new Config();
          const { port } = stranger.address() as net.AddressInfo;
          choose(new URL(`redis://127.0.0.1:${port}`), config);
          const client = trackClient(Redisson.create(config));
          const error = await failure(client.getLock(uniqueName()).lock());
          expect(error.code).to.equal('CONNECTION');
          expect(error.message).to.not.match(/RESP type|Protocol error/, error.message);
          expect(error.message).to.match(hint);
        });
        await Promise.all(errors);
      });
    }
  });

  describe('D13: TLS on one side only is told, in both directions', () => {
    let plain: RedisServer;
    before(async () => {
      plain = trackClient(await RedisServer.start());
    });
    const deployments: Record<string, (config: Config, url: string) => unknown> = {
      single: (config, url) => config.useSingleServer().setAddress(url).setTimeout(WAIT_MS).setRetryAttempts(1),
      masterSlave: (config, url) =>
        config.useMasterSlaveServers().setMasterAddress(url).setTimeout(WAIT_MS).setRetryAttempts(1),
      replicated: (config, url) =>
        config.useReplicatedServers().addNodeAddress(url).setTimeout(WAIT_MS).setRetryAttempts(1),
      cluster: (config, url) => config.useClusterServers().addNodeAddress(url).setTimeout(WAIT_MS).setRetryAttempts(1),
      sentinel: (config, url) =>
        config.useSentinelServers().setMasterName('m').addSentinelAddress(url).setTimeout(WAIT_MS).setRetryAttempts(1),
    };
    for (const [kind, use] of Object.entries(deployments)) {
      it(`${kind}, with credentials and without`, async () => {
        const errors = [
          [server.url.replace('rediss:', 'redis:'), 'use a rediss:// address'],
          [plain.url.replace('redis:', 'rediss:'), 'use a redis:// address'],
        ].flatMap(([url, hint]) =>
          [false, true].map(async (withCredentials) => {
            const config = new Config();
            if (withCredentials) config.setCredentials(() => ({ username: 'default', password: 'any' }));
            use(config, url!);
            const client = trackClient(Redisson.create(config));
            const error = await failure(client.getLock(uniqueName()).lock());
            expect(error.code).to.equal('CONNECTION');
            expect(error.message).to.contain(hint);
          }),
        );
        await Promise.all(errors);
      });
    }
  });
});
