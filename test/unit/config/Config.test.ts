import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { PrefixNameMapper } from '../../../lib/config/NameMapper';
import { Config } from '../../../lib/config/builder/Config';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import { SECTIONS, type SectionName } from '../../../lib/config/parse/sections';
import type { ServersConfig } from '../../../lib/config/builder/serverConfigs';
import { expectConfigError } from './support';

describe('Config', () => {
  it('does not load the YAML library before a file is to be read', function () {
    // A process of its own, which has to load the compiler.
    this.timeout(60_000);
    const script = `
      const { resolveConfig } = require('./lib/config/builder/resolveConfig');
      resolveConfig('redis://h');
      process.stdout.write(String(Object.keys(require.cache).some((file) => /node_modules.yaml./.test(file))));
    `;
    const root = path.join(__dirname, '..', '..', '..');
    const output = execFileSync(process.execPath, ['-r', './tools/register.cjs', '-e', script], { cwd: root });
    expect(String(output)).to.equal('false');
  });

  describe('builder', () => {
    it('has each setter that is declared, made of its setting, and takes the value', () => {
      const credentials = () => ({ password: 'pw' });
      const logger = console;
      // A setter that is declared and missing here does not compile.
      const given: {
        readonly [K in keyof Config as K extends `set${infer Key}` ? Uncapitalize<Key> : never]: unknown;
      } = {
        ...{ lockWatchdogTimeout: 3, lockWatchdogBatchSize: 1, fairLockWaitTimeout: 1, checkLockSyncedSlaves: true },
        ...{ slavesSyncTimeout: 1, nameMapper: new PrefixNameMapper('p:'), maxRenewTimes: 1, watchdogThread: false },
        ...{
          trackHolds: true,
          strictThreads: true,
          maxHandOvers: 1,
          localHandOver: true,
          introspection: false,
          logger,
        },
        ...{ shardedSubscriptionMode: 'ON', username: 'u', password: 'p', credentials, sslVerificationMode: 'NONE' },
        ...{ sslTruststore: 'a', sslTruststorePassword: 'b', sslKeystore: 'c', sslKeystorePassword: 'd' },
        ...{ sslProtocols: ['TLSv1.3'], sslCiphers: ['x'] },
      };
      const config = new Config();
      for (const [key, value] of Object.entries(given)) {
        const name = `set${key.charAt(0).toUpperCase()}${key.slice(1)}` as 'setLogger';
        expect(config[name](value as never), name).to.equal(config);
      }
      expect(config.commonValues).to.have.all.keys(Object.keys(given));
      // Settings of a connection are for the sections.
      for (const name of ['setTimeout', 'setClientName', 'setDatabase']) expect(name in config, name).to.equal(false);
    });

    it('has each setter of its sections that is declared', () => {
      type SettersOf<T> = { readonly [K in keyof T as K extends `${'set' | 'add'}${string}` ? K : never]: true };
      const each = <T>(section: T, setters: SettersOf<T>): void => {
        const { section: at } = section as { section: SectionName };
        for (const name of Object.keys(setters)) {
          expect(section[name as keyof T], name).to.be.a('function');
          // All sections have all setters: the schema of a section says which of them work there.
          const key = name
            .replace(/^add(.*)$/, 'set$1es')
            .replace(/^set(.)/, (_, first: string) => first.toLowerCase());
          expect(SECTIONS[at], `${at}.${name}`).to.have.property(key);
        }
      };
      // One that is declared and missing here does not compile.
      const shared: SettersOf<ServersConfig> = {
        ...({
          setTimeout: true,
          setConnectTimeout: true,
          setRetryAttempts: true,
          setSubscriptionTimeout: true,
        } as const),
        ...({ setUsername: true, setPassword: true, setCredentials: true, setClientName: true } as const),
        ...({ setDatabase: true, setNameMapper: true, setSslVerificationMode: true, setSslTruststore: true } as const),
        ...({
          setSslEnableEndpointIdentification: true,
          setSslTruststorePassword: true,
          setSslKeystore: true,
        } as const),
        ...({ setSslKeystorePassword: true, setSslProtocols: true, setSslCiphers: true } as const),
      };
      const [natMapper, scanInterval] = [{ setNatMapper: true }, { setScanInterval: true }] as const;
      each(new Config().useSingleServer(), { ...shared, setAddress: true });
      const sentinel = { setMasterName: true, setSentinelUsername: true, setSentinelPassword: true } as const;
      each(new Config().useSentinelServers(), { ...shared, ...natMapper, ...sentinel, addSentinelAddress: true });
      const cluster = { ...natMapper, ...scanInterval, setShardedSubscriptionMode: true } as const;
      each(new Config().useClusterServers(), { ...shared, ...cluster, addNodeAddress: true });
      each(new Config().useMasterSlaveServers(), { ...shared, setMasterAddress: true, addSlaveAddress: true });
      each(new Config().useReplicatedServers(), { ...shared, ...scanInterval, addNodeAddress: true });
    });

    it('one server, with every setter', () => {
      const config = new Config()
        .setLockWatchdogTimeout(1_000)
        .setLockWatchdogBatchSize(2)
        .setFairLockWaitTimeout(3_000)
        .setCheckLockSyncedSlaves(false)
        .setSlavesSyncTimeout(4_000)
        .setMaxRenewTimes(5)
        .setStrictThreads(true)
        .setMaxHandOvers(11)
        .setShardedSubscriptionMode('ON')
        .setNameMapper(new PrefixNameMapper('p:'))
        .setUsername('bob')
        .setPassword('pw');
      config
        .useSingleServer()
        .setAddress('redis://h:1')
        .setDatabase(6)
        .setClientName('me')
        .setTimeout(7)
        .setConnectTimeout(8)
        .setRetryAttempts(9)
        .setSubscriptionTimeout(10);
      const settings = resolveConfig(config);
      expect(settings).to.include({
        lockWatchdogTimeout: 1_000,
        lockWatchdogBatchSize: 2,
        fairLockWaitTimeout: 3_000,
        checkLockSyncedSlaves: false,
        slavesSyncTimeout: 4_000,
        maxRenewTimes: 5,
        strictThreads: true,
        maxHandOvers: 11,
        shardedSubscriptionMode: 'ON',
        username: 'bob',
        database: 6,
        clientName: 'me',
        timeout: 7,
        connectTimeout: 8,
        retryAttempts: 9,
        subscriptionTimeout: 10,
      });
      expect(settings.password?.reveal()).to.equal('pw');
      expect(settings.nameMapper.map('x')).to.equal('p:x');
      expect(settings.topology).to.deep.equal({ kind: 'single', address: { host: 'h', port: 1 } });
    });

    it('sentinels', () => {
      const config = new Config();
      const natMapper = { map: (address: { host: string; port: number }) => address };
      config
        .useSentinelServers()
        .setMasterName('mymaster')
        .addSentinelAddress('redis://a', 'redis://b:5')
        .addSentinelAddress('redis://c')
        .setSentinelUsername('watch')
        .setSentinelPassword('pw')
        .setNatMapper(natMapper)
        .setDatabase(3);
      const { topology, database } = resolveConfig(config);
      expect(topology).to.deep.include({
        kind: 'sentinel',
        masterName: 'mymaster',
        sentinels: [
          { host: 'a', port: 26379 },
          { host: 'b', port: 5 },
          { host: 'c', port: 26379 },
        ],
        sentinelUsername: 'watch',
        natMapper,
      });
      expect(topology.kind === 'sentinel' && topology.sentinelPassword?.reveal()).to.equal('pw');
      expect(database).to.equal(3);
    });

    it('a cluster', () => {
      const config = new Config();
      config.useClusterServers().addNodeAddress('redis://a:1', 'redis://b:2').setShardedSubscriptionMode('OFF');
      const { topology, shardedSubscriptionMode } = resolveConfig(config);
      expect(topology).to.deep.equal({
        kind: 'cluster',
        nodes: [
          { host: 'a', port: 1 },
          { host: 'b', port: 2 },
        ],
        scanInterval: 5_000,
        natMapper: undefined,
      });
      expect(shardedSubscriptionMode).to.equal('OFF');
    });

    it('a cluster has only database 0', () => {
      const config = new Config();
      config.useClusterServers().addNodeAddress('redis://a:1').setDatabase(1);
      expectConfigError(() => resolveConfig(config), /a cluster has only database 0/);
    });

    it('master and replicas', () => {
      const config = new Config();
      const builder = config.useMasterSlaveServers().setMasterAddress('redis://m:1');
      expect(resolveConfig(config).topology).to.deep.equal({
        kind: 'masterSlave',
        master: { host: 'm', port: 1 },
        slaves: [],
      });
      builder.addSlaveAddress('redis://s:2').addSlaveAddress('redis://s:3');
      expect(resolveConfig(config).topology).to.deep.include({
        slaves: [
          { host: 's', port: 2 },
          { host: 's', port: 3 },
        ],
      });
    });

    it('replicated servers', () => {
      const config = new Config();
      const builder = config.useReplicatedServers().addNodeAddress('redis://a:1');
      expect(resolveConfig(config).topology).to.deep.equal({
        kind: 'replicated',
        nodes: [{ host: 'a', port: 1 }],
        scanInterval: 1_000,
      });
      builder.setScanInterval(2_000);
      expect(resolveConfig(config).topology).to.include({ scanInterval: 2_000 });
    });

    it('gives the same builder again, and refuses a second way', () => {
      const config = new Config();
      expect(config.useSingleServer()).to.equal(config.useSingleServer());
      expectConfigError(() => config.useClusterServers(), /clusterServersConfig cannot be used: singleServerConfig is/);
    });

    it('checks each value where it is set', () => {
      expectConfigError(() => new Config().setLockWatchdogTimeout(0), /^lockWatchdogTimeout must be/);
      expectConfigError(() => new Config().useSingleServer().setAddress('h:1'), /^singleServerConfig.address 'h:1'/);
      expectConfigError(() => new Config().useSingleServer().setTimeout(-1), /^singleServerConfig.timeout must be/);
      expectConfigError(() => new Config().useClusterServers().addNodeAddress(), /must be a list of at least 1/);
    });

    it('refuses what belongs to another way, also from JavaScript', () => {
      const builder = new Config().useSingleServer() as unknown as { setMasterName(name: string): void };
      expectConfigError(() => builder.setMasterName('m'), /^Unknown setting 'singleServerConfig.masterName'/);
    });

    it('takes a value back', () => {
      const config = new Config().setPassword('x').setPassword(null);
      config.useSingleServer().setAddress('redis://h').setUsername('x').setUsername(undefined);
      expect(resolveConfig(config)).to.include({ password: undefined, username: undefined });
    });

    it('tells what is missing', () => {
      const missing = (use: (config: Config) => unknown, what: string): void => {
        const config = new Config();
        use(config);
        expectConfigError(() => resolveConfig(config), `${what} is missing`);
      };
      missing((config) => config.useSingleServer(), 'singleServerConfig.address');
      missing((config) => config.useSentinelServers(), 'sentinelServersConfig.sentinelAddresses');
      missing(
        (config) => config.useSentinelServers().addSentinelAddress('redis://a'),
        'sentinelServersConfig.masterName',
      );
      missing((config) => config.useClusterServers(), 'clusterServersConfig.nodeAddresses');
      missing((config) => config.useMasterSlaveServers(), 'masterSlaveServersConfig.masterAddress');
      missing((config) => config.useReplicatedServers(), 'replicatedServersConfig.nodeAddresses');
    });

    it('a setting of the Config counts before that of its section, as in Redisson 4', () => {
      const config = new Config().setPassword('config');
      config.useSingleServer().setAddress('redis://h').setPassword('section').setUsername('section');
      expect(resolveConfig(config).password?.reveal()).to.equal('config');
      expect(resolveConfig(config).username).to.equal('section');
    });

    it('an empty setting of the Config does not hide that of its section', () => {
      const config = new Config().setPassword('');
      config.useSingleServer().setAddress('redis://h').setPassword('section');
      expect(resolveConfig(config).password?.reveal()).to.equal('section');
    });

    it('refuses a database in an address, which the Java client ignores', () => {
      const config = new Config();
      const builder = config.useSingleServer().setAddress('redis://h/2');
      expectConfigError(() => resolveConfig(config), /names database 2; use setDatabase\(2\)/);
      builder.setDatabase(2);
      expect(resolveConfig(config).database).to.equal(2);
    });

    it('refuses a mixture of plain and TLS', () => {
      const config = new Config();
      config.useClusterServers().addNodeAddress('redis://a', 'rediss://b');
      expectConfigError(() => resolveConfig(config), /Either all addresses are rediss/);
    });
  });
});
