import { expect } from 'chai';
import { Config } from '../../lib/config/builder/Config';
import { Redisson } from '../../lib/Redisson';
import { RedisServer, skip, tlsFiles, trackClient, uniqueName } from '../support';
import { failure, SOON_MS, within } from './helpers';

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

  it('a certificate nobody vouches for is told at once', async () => {
    const client = trackClient(Redisson.create(server.url));
    const startedAt = performance.now();
    const error = await failure(client.getLock(uniqueName()).lock());
    expect(error.code).to.equal('CONNECTION');
    expect(error.message).to.contain('does not let us in').and.contain('certificate');
    expect(performance.now() - startedAt).to.be.lessThan(2_000);
  });

  it('D13: TLS on one side only is told, in both directions', async () => {
    const plain = trackClient(await RedisServer.start());
    for (const [url, hint] of [
      [server.url.replace('rediss:', 'redis:'), 'use a rediss:// address'],
      [plain.url.replace('redis:', 'rediss:'), 'use a redis:// address'],
    ] as const) {
      const client = trackClient(Redisson.create({ url, timeout: 500, retryAttempts: 1 }));
      const error = await failure(client.getLock(uniqueName()).lock());
      expect(error.code).to.equal('CONNECTION');
      expect(error.message).to.contain(hint);
    }
  });
});
