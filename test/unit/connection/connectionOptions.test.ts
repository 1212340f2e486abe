// Ids in titles: test/README.md
import { expect } from 'chai';
import * as sinon from 'sinon';
import { Config } from '../../../lib/config/builder/Config';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import type { SentinelTopology } from '../../../lib/config/Topology';
import {
  connectionOptions,
  parseNodeKey,
  sentinelOptions,
  translator,
} from '../../../lib/connection/link/connectionOptions';

function sentinels(address: string, password = 'drinnen') {
  const config = new Config();
  config
    .useSentinelServers()
    .setMasterName('m')
    .addSentinelAddress(address, address.replace(':1', ':2'))
    .setUsername('wir')
    .setPassword(password)
    .setSentinelUsername('sie')
    .setSentinelPassword('draussen')
    .setDatabase(3)
    .setClientName('unser')
    .setTimeout(700);
  const settings = resolveConfig(config);
  return { settings, options: sentinelOptions(settings, settings.topology as SentinelTopology) };
}

describe('connectionOptions', () => {
  it('hold what it takes to log in, and nothing that ioredis would repeat, queue or time out', () => {
    const options = connectionOptions(sentinels('redis://h:1').settings);
    expect(options).to.include({
      username: 'wir',
      password: 'drinnen',
      db: 3,
      connectionName: 'unser',
      role: 'master',
    });
    expect(options).to.include({ autoResendUnfulfilledCommands: false, enableOfflineQueue: false, keyPrefix: '' });
    expect(options.commandTimeout).to.equal(undefined);
    expect(options.tls).to.equal(undefined);
    expect(options.reconnectOnError).to.equal(null);
  });

  it('reconnect soon, then at most once a second, for ever', () => {
    const { retryStrategy } = connectionOptions(sentinels('redis://h:1').settings);
    const limits = [50, 100, 200, 400, 800, 1_000, 1_000];
    [1, 2, 3, 4, 5, 6, 1_000].forEach((times, i) => {
      for (let n = 0; n < 50; n++) expect(retryStrategy?.(times)).to.be.within(limits[i]! * 0.4, limits[i]!);
    });
  });

  it('reconnect with pauses of at most a twelfth of the watchdog time-out, but not ten times a second', () => {
    for (const [lockWatchdogTimeout, longest] of [
      [30_000, 1_000],
      [2_400, 200],
      [300, 100],
    ] as const) {
      const settings = resolveConfig({ url: 'redis://h:1', lockWatchdogTimeout });
      const pauses = Array.from({ length: 50 }, () => connectionOptions(settings).retryStrategy!(10) as number);
      expect(Math.max(...pauses)).to.be.within(longest / 2, longest);
    }
  });

  it('B12: 150 clients that lose a server together do not come back together', () => {
    const { retryStrategy } = connectionOptions(sentinels('redis://h:1').settings);
    let seed = 1;
    sinon.stub(Math, 'random').callsFake(() => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647);
    const buckets = new Array<number>(300).fill(0);
    for (let client = 0; client < 150; client++) {
      let at = 0;
      for (let times = 1; at < 30_000; times++) {
        at += Number(retryStrategy?.(times));
        if (at < 30_000) buckets[Math.floor(at / 100)]! += 1;
      }
    }
    // Of those who try in one second, no more than a third do in any tenth of it.
    for (let second = 1; second < 30; second++) {
      const tenths = buckets.slice(second * 10, second * 10 + 10);
      const all = tenths.reduce((sum, one) => sum + one, 0);
      expect(Math.max(...tenths)).to.be.lessThan(all / 3);
    }
  });

  it('name the sentinels, with a login and encryption of their own', () => {
    const plain = sentinels('redis://h:1').options;
    expect(plain).to.include({
      name: 'm',
      sentinelUsername: 'sie',
      sentinelPassword: 'draussen',
      sentinelCommandTimeout: 700,
    });
    expect(plain.sentinels).to.deep.equal([
      { host: 'h', port: 1 },
      { host: 'h', port: 2 },
    ]);
    expect(plain.sentinelTLS).to.equal(undefined);
    const { settings, options } = sentinels('rediss://h:1');
    expect(options.enableTLSForSentinelMode).to.equal(true);
    expect(options.sentinelTLS).to.deep.equal({ rejectUnauthorized: true });
    expect(connectionOptions(settings).tls).to.deep.equal({ rejectUnauthorized: true });
  });

  it('translate addresses, IPv6 ones too', () => {
    const natMapper = {
      map: ({ host, port }: { host: string; port: number }) => ({ host: `${host}.nat`, port: port + 1 }),
    };
    const config = new Config();
    config.useSentinelServers().setMasterName('m').addSentinelAddress('redis://h:1').setNatMapper(natMapper);
    const settings = resolveConfig(config);
    const { natMap } = sentinelOptions(settings, settings.topology as SentinelTopology);
    expect((natMap as (key: string) => unknown)('fe80::1:6379')).to.deep.equal({ host: 'fe80::1.nat', port: 6380 });
    expect(parseNodeKey('::1:6379')).to.deep.equal({ host: '::1', port: 6379 });
    expect(translator(natMapper)({ host: 'a', port: 1 })).to.deep.equal({ host: 'a.nat', port: 2 });
    expect(translator(undefined)({ host: 'a', port: 1 })).to.deep.equal({ host: 'a', port: 1 });
  });
});
