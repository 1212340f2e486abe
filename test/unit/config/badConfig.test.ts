// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Cluster, Redis } from 'ioredis';
import { inspect } from 'node:util';
import type { RedissonOptions } from '../../../lib/config/RedissonOptions';
import { Config } from '../../../lib/config/builder/Config';
import { expectConfigError, fakeClient, resolve } from './support';

describe('resolveConfig', () => {
  describe('what is no configuration', () => {
    class Options {
      url = 'redis://h';
    }
    const others = [
      new Map([['url', 'redis://h']]),
      new Error('x'),
      new Options(),
      new Date(),
      /x/,
      new URLSearchParams(),
    ];
    for (const bad of [null, 5, true, [], () => 1, Symbol('x'), ...others]) {
      it(`B5: refuses ${inspect(bad)}`, () => {
        expectConfigError(() => resolve(bad), /^The configuration must be a URL, a Config, or an object/);
      });
    }

    it('B2: shows no password of what it refuses', () => {
      const { message } = expectConfigError(() => resolve(['redis://:geheim@h']), /got a list of 1$/);
      expect(message).to.not.contain('geheim');
      for (const bad of [
        { url: ['redis://:geheim@h'] },
        { client: 'redis://:geheim@h' },
        { timeout: 'redis://:geheim@h' },
      ]) {
        expect(expectConfigError(() => resolve(bad), /got /).message).to.not.contain('geheim');
      }
    });

    it('an empty URL', () => {
      expectConfigError(() => resolve(''), /^url must be an address/);
    });

    it('a bare client', () => {
      expectConfigError(() => resolve(fakeClient()), /Redisson\.create\(\{ client \}\)/);
    });

    it('a Config without servers', () => {
      expectConfigError(() => resolve(new Config()), /names no servers/);
    });

    it('client and url', () => {
      expectConfigError(() => resolve({ client: fakeClient(), url: 'redis://h' }), /exclude each other/);
    });

    for (const bad of [
      null,
      5,
      'redis://h',
      {},
      new Map(),
      { duplicate: () => 1 },
      { options: {} },
      { duplicate: 1, options: {} },
    ]) {
      it(`client ${inspect(bad)}`, () => {
        expectConfigError(() => resolve({ client: bad }), /^client must be an ioredis Redis or Cluster, got/);
      });
    }

    it('a client with keyPrefix, of a Redis and of a Cluster, with the way out', () => {
      for (const options of [{ keyPrefix: 'app:' }, { redisOptions: { keyPrefix: 'app:' } }]) {
        expectConfigError(
          () => resolve({ client: fakeClient(options) }),
          /^client has the keyPrefix 'app:'.*nameMapper: new PrefixNameMapper\('app:'\)/,
        );
      }
    });

    it('an empty keyPrefix is none', () => {
      expect(resolve({ client: fakeClient({ keyPrefix: '', redisOptions: {} }) }).topology.kind).to.equal('client');
    });

    it('what is the own business of a client', () => {
      for (const key of ['username', 'password', 'sslKeystorePassword', 'sslTruststore']) {
        expectConfigError(
          () => resolve({ client: fakeClient(), [key]: 'geheim' }),
          `${key} cannot be set together with client: they are the client's own`,
        );
      }
      expectConfigError(() => resolve({ client: fakeClient(), database: 1 }), /^database cannot be set together/);
    });
  });

  describe('the settings', () => {
    it('are frozen all the way down', () => {
      const config = new Config();
      config.useClusterServers().addNodeAddress('redis://a:1');
      const settings = resolve(config);
      expect(Object.isFrozen(settings)).to.equal(true);
      expect(Object.isFrozen(settings.topology)).to.equal(true);
      expect(settings.topology.kind === 'cluster' && Object.isFrozen(settings.topology.nodes)).to.equal(true);
    });

    it('show no secret, printed, copied or as JSON', () => {
      const config = new Config().setPassword('geheim');
      config.useSentinelServers().addSentinelAddress('redis://h').setMasterName('m').setSentinelPassword('geheim');
      const all = [resolve('redis://bob:geheim@h'), resolve({ password: 'geheim' }), resolve(config), config];
      for (const settings of [...all, resolve({ client: fakeClient() })]) {
        const shown = [
          inspect(settings, { depth: null, showHidden: true, getters: true }),
          JSON.stringify(settings),
          JSON.stringify({ ...settings }),
          inspect({ ...settings }, { depth: null }),
          `${String((settings as { password?: unknown }).password)}`,
        ].join('\n');
        expect(shown).to.not.contain('geheim');
      }
      expect(inspect(resolve({ password: 'geheim' }))).to.contain('password: [redacted]');
    });
  });

  it('takes the types of ioredis', () => {
    // Compile-time only: both must fit `client` without a cast.
    const options = (redis: Redis, cluster: Cluster): RedissonOptions[] => [{ client: redis }, { client: cluster }];
    expect(options).to.be.a('function');
  });
});
