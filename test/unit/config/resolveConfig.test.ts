// Ids in titles: test/README.md
import { expect } from 'chai';
import { inspect } from 'node:util';
import { PrefixNameMapper } from '../../../lib/config/NameMapper';
import { captureWarnings, expectConfigError, fakeClient, resolve } from './support';

describe('resolveConfig', () => {
  describe('defaults', () => {
    const DEFAULTS: Readonly<Record<string, unknown>> = {
      lockWatchdogTimeout: 30_000,
      lockWatchdogBatchSize: 100,
      fairLockWaitTimeout: 300_000,
      checkLockSyncedSlaves: true,
      slavesSyncTimeout: 1_000,
      maxRenewTimes: 0,
      maxHandOvers: 64,
      localHandOver: false,
      watchdogThread: false,
      introspection: { callSites: false },
      trackHolds: false,
      strictThreads: false,
      shardedSubscriptionMode: 'AUTO',
      timeout: 3_000,
      connectTimeout: 10_000,
      retryAttempts: 4,
      subscriptionTimeout: 7_500,
      username: undefined,
      password: undefined,
      credentials: undefined,
      clientName: undefined,
      logger: undefined,
      database: 0,
      tls: undefined,
    };
    for (const [key, value] of Object.entries(DEFAULTS)) {
      it(`${key} is ${JSON.stringify(value)}`, () => {
        expect(resolve()).to.have.deep.property(key, value);
      });
    }

    it('the name mapper changes nothing', () => {
      const { nameMapper } = resolve();
      expect(nameMapper.map('a')).to.equal('a');
      expect(nameMapper.unmap('a')).to.equal('a');
    });

    it('there is no setting without a test above', () => {
      expect(Object.keys(resolve()).toSorted()).to.deep.equal(
        [...Object.keys(DEFAULTS), 'nameMapper', 'topology'].toSorted(),
      );
    });
  });

  describe('where Redis is', () => {
    it('nothing said: here', () => {
      expect(resolve().topology).to.deep.equal({ kind: 'single', address: { host: '127.0.0.1', port: 6379 } });
    });

    it('REDIS_URL, also for options without url', () => {
      const env = { REDIS_URL: 'redis://bob:pw@h:7000/2' };
      expectConfigError(() => resolve({ url: null }, env), /url/);
      for (const settings of [resolve(undefined, env), resolve({}, env), resolve({ url: undefined }, env)]) {
        expect(settings.topology).to.deep.equal({ kind: 'single', address: { host: 'h', port: 7000 } });
        expect(settings.username).to.equal('bob');
        expect(settings.password?.reveal()).to.equal('pw');
        expect(settings.database).to.equal(2);
      }
    });

    it('D14: an empty REDIS_URL is refused, not taken for the default', () => {
      for (const REDIS_URL of ['', '  ']) {
        for (const input of [undefined, {}, { lockWatchdogTimeout: 10_000 }]) {
          expectConfigError(() => resolve(input, { REDIS_URL }), /REDIS_URL is empty.*unset it/);
        }
        expect(resolve('redis://h', { REDIS_URL }).topology).to.deep.include({ kind: 'single' });
      }
    });

    it('a bad REDIS_URL is named as such', () => {
      expectConfigError(
        () => resolve(undefined, { REDIS_URL: 'nonsense' }),
        /^The environment variable REDIS_URL '\*\*\*'/,
      );
    });

    it('a URL, alone or as option, before REDIS_URL', () => {
      const env = { REDIS_URL: 'nonsense' };
      for (const input of ['redis://h:7001', { url: 'redis://h:7001' }]) {
        expect(resolve(input, env).topology).to.deep.equal({ kind: 'single', address: { host: 'h', port: 7001 } });
      }
    });

    it('a client', () => {
      const client = fakeClient();
      const { topology } = resolve({ client });
      expect(topology.kind).to.equal('client');
      expect(topology.kind === 'client' && topology.client.reveal()).to.equal(client);
    });

    it('B5: a URL object, alone or as option', () => {
      const url = new URL('redis://bob:pw@h:7001/3');
      for (const input of [url, { url }]) {
        const settings = resolve(input, { REDIS_URL: 'nonsense' });
        expect(settings.topology).to.deep.equal({ kind: 'single', address: { host: 'h', port: 7001 } });
        expect([settings.username, settings.password?.reveal(), settings.database]).to.deep.equal(['bob', 'pw', 3]);
      }
    });

    it('the database of a URL, or the setting, but not two different ones', () => {
      expect(resolve({ url: 'redis://h', database: 5 }).database).to.equal(5);
      expect(resolve({ url: 'redis://h/5', database: 5 }).database).to.equal(5);
      expectConfigError(() => resolve({ url: 'redis://h/4', database: 5 }), /database 4, the settings 5/);
    });

    it('user and password of a URL count before the settings', () => {
      const settings = resolve({ url: 'redis://:pw@h', username: 'bob', password: 'other' });
      expect(settings.username).to.equal('bob');
      expect(settings.password?.reveal()).to.equal('pw');
    });
  });

  describe('settings', () => {
    const GIVEN = {
      lockWatchdogTimeout: 1_500,
      lockWatchdogBatchSize: 7,
      fairLockWaitTimeout: 100,
      checkLockSyncedSlaves: false,
      slavesSyncTimeout: 2_000,
      maxRenewTimes: 360,
      maxHandOvers: 0,
      strictThreads: true,
      shardedSubscriptionMode: 'OFF',
      timeout: 1_000,
      connectTimeout: 2_000,
      retryAttempts: 0,
      subscriptionTimeout: 3_000,
      clientName: 'me',
    } as const;

    it('are taken, with a URL and with a client', () => {
      expect(resolve({ url: 'redis://h', ...GIVEN })).to.include(GIVEN);
      expect(resolve({ client: fakeClient(), ...GIVEN })).to.include(GIVEN);
    });

    it('undefined and null mean "not given"', () => {
      expect(resolve({ timeout: undefined, lockWatchdogTimeout: null })).to.include({
        timeout: 3_000,
        lockWatchdogTimeout: 30_000,
      });
    });

    const times = ['timeout', 'connectTimeout', 'subscriptionTimeout', 'fairLockWaitTimeout', 'slavesSyncTimeout'];
    for (const key of [...times, 'lockWatchdogTimeout', 'lockWatchdogBatchSize']) {
      for (const bad of [0, -1, 1.5, NaN, Infinity, 2 ** 31, '3000', true, {}]) {
        it(`${key} ${inspect(bad)} is refused`, () => {
          expectConfigError(() => resolve({ [key]: bad }), new RegExp(`^${key} must be a whole number.*got `));
        });
      }
    }

    it('lockWatchdogTimeout must have a third', () => {
      expectConfigError(
        () => resolve({ lockWatchdogTimeout: 2 }),
        'lockWatchdogTimeout must be a whole number of milliseconds from 3 to 2147483647, got 2',
      );
      expect(resolve({ lockWatchdogTimeout: 3 }).lockWatchdogTimeout).to.equal(3);
    });

    for (const key of ['retryAttempts', 'maxRenewTimes', 'maxHandOvers', 'database']) {
      it(`${key} may be 0 but not less`, () => {
        expect(resolve({ [key]: 0 })).to.have.property(key, 0);
        expectConfigError(() => resolve({ [key]: -1 }), new RegExp(`^${key} must be a whole number from 0`));
      });
    }

    for (const key of ['checkLockSyncedSlaves', 'strictThreads', 'trackHolds']) {
      it(`${key} must be true or false`, () => {
        expectConfigError(() => resolve({ [key]: 'true' }), `${key} must be true or false, got 'true'`);
      });
    }

    it('shardedSubscriptionMode is one of three', () => {
      expectConfigError(
        () => resolve({ shardedSubscriptionMode: 'on' }),
        "shardedSubscriptionMode must be one of AUTO, ON, OFF, got 'on'",
      );
    });

    it('B13: a clientName that Redis would refuse is refused', () => {
      for (const clientName of ['my service', 'a\nb', 'dienst-\u00e4']) {
        expectConfigError(() => resolve({ clientName }), /^clientName .* cannot be used: Redis allows no spaces/);
      }
    });

    it('a password must be text, and is not shown when it is not', () => {
      const { message } = expectConfigError(
        () => resolve({ password: 4711 }),
        'password must be a string, got a number',
      );
      expect(message).to.not.contain('4711');
      expectConfigError(() => resolve({ password: { a: 4711 } }), 'password must be a string, got an object');
    });

    it('an empty password or user is none', () => {
      expect(resolve({ password: '', username: '', clientName: '' })).to.include({
        password: undefined,
        username: undefined,
        clientName: undefined,
      });
    });

    it('a name mapper has map and unmap', () => {
      const mapper = { map: (name: string) => `a:${name}`, unmap: (name: string) => name.slice(2) };
      expect(resolve({ nameMapper: mapper }).nameMapper).to.equal(mapper);
      expect(resolve({ nameMapper: new PrefixNameMapper('a:') }).nameMapper.map('x')).to.equal('a:x');
      for (const bad of ['a:', () => 'a', {}, { map: () => 'a' }, { map: 'a', unmap: 'b' }]) {
        expectConfigError(
          () => resolve({ nameMapper: bad }),
          /^nameMapper must be an object with the functions map and unmap/,
        );
      }
    });
  });

  describe('unknown settings', () => {
    it('names the nearest known one', () => {
      const pairs = { lockWatchDogTimeout: 'lockWatchdogTimeout', timout: 'timeout', passwort: 'password', uri: 'url' };
      for (const [wrong, right] of Object.entries(pairs)) {
        expectConfigError(() => resolve({ [wrong]: 1 }), `Unknown setting '${wrong}'; did you mean '${right}'?`);
      }
    });

    it('is not fooled by the prototype of objects', () => {
      for (const key of ['constructor', 'toString', 'hasOwnProperty']) {
        expectConfigError(() => resolve({ [key]: 1 }), new RegExp(`^Unknown setting '${key}'`));
      }
    });

    it('says where servers belong', () => {
      for (const key of ['singleServerConfig', 'host', 'redis']) {
        const where = 'give a url, a client, or a Config (setters, Config.fromJSON())';
        expectConfigError(() => resolve({ [key]: {} }), `No setting '${key}' here: ${where}`);
      }
    });

    it('ignores settings of the Java client with one warning that lists them', () => {
      const warnings = captureWarnings();
      resolve({ url: 'redis://h', codec: 'x', nettyThreads: 3, threads: undefined });
      expect(warnings).to.deep.equal(['Ignored settings, which only the Java client uses: codec, nettyThreads']);
    });
  });
});
