import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Config, type RedissonOptions } from '../../../lib';
import { Redisson } from '../../../lib/Redisson';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import { packSettings, refuseRuntime, unpackSettings } from '../../../lib/connection/packSettings';
import { connectionOptions } from '../../../lib/connection/link/connectionOptions';
import { expectConfigError, resolve } from './support';

describe('watchdogThread', () => {
  it('is true, false, or has a maxStall', () => {
    const given = (watchdogThread: RedissonOptions['watchdogThread']): unknown =>
      resolveConfig({ watchdogThread }, {}).watchdogThread;
    expect(given(undefined)).to.equal(false);
    expect(given(false)).to.equal(false);
    expect(given(true)).to.deep.equal({ maxStall: 60_000 });
    expect(given({})).to.deep.equal({ maxStall: 60_000 });
    expect(given({ maxStall: 5_000 })).to.deep.equal({ maxStall: 5_000 });
  });

  it('is refused otherwise, by the name of the setting', () => {
    for (const wrong of [
      'yes',
      1,
      [],
      new Date(),
      new Map(),
      new Boolean(false),
      new Error('no'),
      { maxStall: 0 },
      { maxStall: 1.5 },
      { maxStal: 1 },
    ]) {
      expectConfigError(() => resolve({ watchdogThread: wrong as never }), /watchdogThread/);
    }
  });

  it('is refused on Bun and Deno, by their names (D13)', () => {
    expectConfigError(() => refuseRuntime({ node: '24.3.0', bun: '1.4.5' }), /watchdogThread does not work on Bun/);
    expectConfigError(() => refuseRuntime({ node: '24.2.0', deno: '2.9.6' }), /watchdogThread does not work on Deno/);
    refuseRuntime(process.versions);
  });

  it('is read from YAML, with variables', () => {
    process.env['THREAD_TEST_STALL'] = '7000';
    try {
      const yaml = 'watchdogThread:\n  maxStall: ${THREAD_TEST_STALL}\nsingleServerConfig:\n  address: redis://h:1\n';
      expect(resolve(Config.fromYAML(yaml)).watchdogThread).to.deep.equal({ maxStall: 7_000 });
      const flag = Config.fromYAML('watchdogThread: true\nsingleServerConfig:\n  address: redis://h:1\n');
      expect(resolve(flag).watchdogThread).to.deep.equal({ maxStall: 60_000 });
    } finally {
      delete process.env['THREAD_TEST_STALL'];
    }
  });
});

describe('settings for the watchdog thread', () => {
  const crossed = (input: RedissonOptions | Config): ReturnType<typeof unpackSettings> =>
    unpackSettings(structuredClone(packSettings(resolveConfig(input, {}))));

  it('arrive with passwords, TLS and all, and print none of them', () => {
    const config = new Config().setPassword('p4ss').setUsername('u').setLockWatchdogTimeout(900);
    config.useSentinelServers().setMasterName('m').addSentinelAddress('rediss://h:1').setSentinelPassword('s3nt');
    const settings = crossed(config);
    const [there, here] = [settings, resolveConfig(config, {})].map((one) => connectionOptions(one));
    // A function of the watchdog time-out, which follows.
    expect({ ...there, retryStrategy: undefined }).to.deep.equal({ ...here, retryStrategy: undefined });
    expect(settings.topology).to.have.property('masterName', 'm');
    expect(settings).to.have.property('lockWatchdogTimeout', 900);
    expect(JSON.stringify(settings)).not.to.match(/p4ss|s3nt/);
  });

  it('of a client of the user are those of a client like it', () => {
    const client = new Redis({
      host: 'h',
      port: 1,
      password: 'p4ss',
      tls: { servername: 'x' },
      db: 3,
      lazyConnect: true,
    });
    const { topology } = crossed({ client });
    if (topology.kind !== 'client') throw new Error('no client');
    const { options } = topology.client.reveal() as Redis;
    for (const key of ['host', 'port', 'password', 'tls', 'db'] as const) {
      expect(options[key], key).to.deep.equal(client.options[key]);
    }
  });

  it('with functions are refused, by their name, before anything is connected', () => {
    const tls = { checkServerIdentity: () => undefined };
    const client = new Redis({ host: 'h', tls, lazyConnect: true });
    const create = (): unknown => Redisson.create({ client, watchdogThread: true });
    expectConfigError(create, /client\.options\.tls\.checkServerIdentity/);
    const config = new Config().setWatchdogThread(true);
    config
      .useClusterServers()
      .addNodeAddress('redis://h:1')
      .setNatMapper({ map: (address) => address });
    expectConfigError(() => Redisson.create(config), /topology\.natMapper/);
  });
});
