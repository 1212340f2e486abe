import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Config, PrefixNameMapper, resolveConfig, type Settings } from '../../../lib/config';
import { captureWarnings, expectConfigError, fixture, withEnvironment } from './support';

function fromYAML(text: string): Settings {
  return resolveConfig(Config.fromYAML(text));
}

const SINGLE = 'singleServerConfig: {address: "redis://h:1"}\n';

describe('Config', () => {
  it('does not load the YAML library before a file is to be read', function () {
    // A process of its own, which has to load the compiler.
    this.timeout(60_000);
    const script = `
      const { resolveConfig } = require('./lib/config');
      resolveConfig('redis://h');
      process.stdout.write(String(Object.keys(require.cache).some((file) => /node_modules.yaml./.test(file))));
    `;
    const root = path.join(__dirname, '..', '..', '..');
    const output = execFileSync(process.execPath, ['-r', './test/support/register.cjs', '-e', script], { cwd: root });
    expect(String(output)).to.equal('false');
  });

  describe('builder', () => {
    it('one server, with every setter', () => {
      const config = new Config()
        .setLockWatchdogTimeout(1_000)
        .setLockWatchdogBatchSize(2)
        .setFairLockWaitTimeout(3_000)
        .setCheckLockSyncedSlaves(false)
        .setSlavesSyncTimeout(4_000)
        .setMaxRenewTimes(5)
        .setStrictThreads(true)
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

  describe('files of a Java service', () => {
    it('redisson.yaml: one server', () => {
      const warnings = captureWarnings();
      const settings = withEnvironment({ TEST_REDIS_PASSWORD: 'p#1: "x" {', TEST_REDIS_PORT: '7777' }, () =>
        resolveConfig(Config.fromYAML(fixture('redisson.yaml'))),
      );
      expect(settings).to.include({
        timeout: 2_500,
        connectTimeout: 5_000,
        retryAttempts: 3,
        subscriptionTimeout: 7_500,
        database: 2,
        clientName: 'orders',
        username: undefined,
        lockWatchdogTimeout: 45_000,
        tls: undefined,
      });
      expect(settings.topology).to.deep.equal({ kind: 'single', address: { host: '127.0.0.1', port: 7777 } });
      expect(settings.password?.reveal()).to.equal('p#1: "x" {');
      expect(warnings).to.have.length(1);
      expect(warnings[0])
        .to.match(/codec/)
        .and.match(/nettyThreads/)
        .and.match(/singleServerConfig\.retryDelay/);
      expect(warnings[0]).to.not.match(/address\b|timeout,/);
    });

    it('redisson.yaml: a cluster, Redisson 4', () => {
      captureWarnings();
      const settings = resolveConfig(Config.fromYAML(fixture('redisson-cluster.yaml')));
      expect(settings).to.include({ username: 'orders', shardedSubscriptionMode: 'OFF' });
      expect(settings.nameMapper.map('1')).to.equal('orders:1');
      expect(settings.tls?.verification).to.equal('CA_ONLY');
      const { topology } = settings;
      expect(topology).to.deep.include({ kind: 'cluster', scanInterval: 2_000 });
      if (topology.kind !== 'cluster') throw new Error('not a cluster');
      expect(topology.natMapper?.map({ host: '172.17.0.2', port: 7000 })).to.deep.equal({
        host: '127.0.0.1',
        port: 17000,
      });
      expect(topology.natMapper?.map({ host: '172.17.0.2', port: 1 })).to.deep.equal({ host: '172.17.0.2', port: 1 });
    });

    it('redisson.json: sentinels', () => {
      captureWarnings();
      const settings = resolveConfig(Config.fromJSON(fixture('redisson.json')));
      expect(settings).to.include({ timeout: 4_000, database: 1, lockWatchdogBatchSize: 50, password: undefined });
      expect(settings.topology).to.deep.include({
        kind: 'sentinel',
        masterName: 'mymaster',
        sentinels: [
          { host: '127.0.0.1', port: 26379 },
          { host: '127.0.0.1', port: 26379 },
        ],
      });
    });

    it('reads a path, a file URL as text and as URL, and a text', () => {
      captureWarnings();
      const url = pathToFileURL(fixture('redisson.json'));
      for (const source of [fixture('redisson.json'), url, url.href]) {
        expect(resolveConfig(Config.fromJSON(source)).topology.kind).to.equal('sentinel');
      }
      expect(fromYAML(SINGLE).topology.kind).to.equal('single');
      expect(fromYAML('{"singleServerConfig":{"address":"redis://h"}}').topology.kind).to.equal('single');
    });

    it('reads JSON that is indented by tabs', () => {
      const text = '{\n\t"singleServerConfig": {\n\t\t"address": "redis://h:1",\n\t\t"timeout": 5\n\t}\n}\n';
      expect(resolveConfig(Config.fromJSON(text)).timeout).to.equal(5);
    });

    it('null is "not given", also for a section', () => {
      expect(fromYAML(`${SINGLE}clusterServersConfig: null\npassword: null\nlockWatchdogTimeout: ~`)).to.include({
        password: undefined,
        lockWatchdogTimeout: 30_000,
      });
    });

    it('text stays text, numbers and flags may be quoted', () => {
      const settings = fromYAML(
        'singleServerConfig:\n  address: redis://h:1\n  password: 0123\n  clientName: true\n  timeout: "5_000"\n' +
          'strictThreads: "true"\nslavesSyncTimeout: 2_000\n',
      );
      expect(settings.password?.reveal()).to.equal('0123');
      expect(settings).to.include({
        clientName: 'true',
        timeout: 5_000,
        strictThreads: true,
        slavesSyncTimeout: 2_000,
      });
    });

    it('anchors and merge keys', () => {
      const settings = fromYAML(
        'singleServerConfig:\n  <<: {timeout: 7, database: 3}\n  address: redis://h\n  database: 4',
      );
      expect(settings).to.include({ timeout: 7, database: 4 });
    });
  });

  describe('name and NAT mappers of a file', () => {
    it('the classes that have a counterpart here', () => {
      expect(fromYAML(`${SINGLE}nameMapper: !<org.redisson.config.DefaultNameMapper> {}`).nameMapper.map('a')).to.equal(
        'a',
      );
      expect(
        fromYAML(`${SINGLE}nameMapper: {class: org.redisson.config.PrefixNameMapper, prefix: "x:"}`).nameMapper.map(
          'a',
        ),
      ).to.equal('x:a');
      expect(fromYAML(`${SINGLE}nameMapper: !<org.redisson.config.PrefixNameMapper> {}`).nameMapper.map('a')).to.equal(
        'a',
      );
    });

    for (const tag of [
      '!<com.acme.TenantMapper> {tenant: 1}',
      '!<com.acme.TenantMapper>',
      '{class: com.acme.TenantMapper}',
    ]) {
      it(`another class is refused, with the way out: ${tag}`, () => {
        expectConfigError(
          () => fromYAML(`${SINGLE}nameMapper: ${tag}`),
          /^nameMapper 'com\.acme\.TenantMapper' is a Java class.*set it in code: config\.setNameMapper/,
        );
      });
    }

    it('a host table', () => {
      const { topology } = fromYAML(
        'clusterServersConfig:\n  nodeAddresses: ["redis://a:1"]\n' +
          '  natMapper: !<org.redisson.api.HostNatMapper> {hostsMap: {10.0.0.1: 127.0.0.1}}',
      );
      if (topology.kind !== 'cluster') throw new Error('not a cluster');
      expect(topology.natMapper?.map({ host: '10.0.0.1', port: 5 })).to.deep.equal({ host: '127.0.0.1', port: 5 });
      expect(topology.natMapper?.map({ host: '10.0.0.2', port: 5 })).to.deep.equal({ host: '10.0.0.2', port: 5 });
    });

    it('another NAT class, a missing table, a bad entry', () => {
      const nat = (mapper: string) => () =>
        fromYAML(`clusterServersConfig: {nodeAddresses: ["redis://a:1"], natMapper: ${mapper}}`);
      expectConfigError(nat('{class: com.acme.Nat}'), /'com\.acme\.Nat' is a Java class.*setNatMapper/);
      expectConfigError(nat('{class: x.HostNatMapper}'), /natMapper\.hostsMap must be a table/);
      expectConfigError(nat('{class: x.HostPortNatMapper, hostsPortMap: {"a:1": b}}'), /'b' must be host:port/);
      expectConfigError(nat('5'), /natMapper must be an object with the function map, got 5/);
    });
  });

  describe('bad files', () => {
    it('an unknown setting, with the nearest known one', () => {
      expectConfigError(
        () => fromYAML('lockWatchdogTimout: 1'),
        "Unknown setting 'lockWatchdogTimout'; did you mean 'lockWatchdogTimeout'?",
      );
      expectConfigError(
        () => fromYAML('singleServerConfg:\n  address: x'),
        "Unknown setting 'singleServerConfg'; did you mean 'singleServerConfig'?",
      );
      expectConfigError(
        () => fromYAML('singleServerConfig:\n  adress: x'),
        "Unknown setting 'singleServerConfig.adress'; did you mean 'singleServerConfig.address'?",
      );
    });

    it('a setting of the wrong type or range', () => {
      expectConfigError(
        () => fromYAML('lockWatchdogTimeout: abc'),
        /^lockWatchdogTimeout must be a whole number.*got 'abc'/,
      );
      expectConfigError(() => fromYAML('lockWatchdogTimeout: 1.5'), /got 1\.5/);
      expectConfigError(
        () => fromYAML('clusterServersConfig: {nodeAddresses: "redis://a:1"}'),
        /must be a list of at least 1, got a string/,
      );
      expectConfigError(() => fromYAML('clusterServersConfig: {nodeAddresses: []}'), /got a list of 0/);
      expectConfigError(() => fromYAML('singleServerConfig: 5'), /^singleServerConfig must hold settings/);
    });

    it('two sections', () => {
      expectConfigError(() => fromYAML(`${SINGLE}clusterServersConfig: {}`), /clusterServersConfig cannot be used/);
    });

    it('a mode of Redisson PRO', () => {
      expectConfigError(() => fromYAML('proxyServersConfig: {}'), /^proxyServersConfig is a mode of Redisson PRO/);
    });

    it('what is no YAML says where, and shows nothing of the text', () => {
      for (const text of ['password: "geheim\nfoo', 'a: geheim: b', '{"password": "geheim"', 'a: 1\na: geheim']) {
        const error = expectConfigError(
          () => Config.fromYAML(text),
          /not valid YAML or JSON: \w+ in line \d+, column \d+$/,
        );
        expect(error.message).to.not.contain('geheim');
        expect(error.cause).to.equal(undefined);
      }
    });

    it('what holds no settings', () => {
      for (const text of ['[1, 2]\n', '\n', '# nothing\n']) {
        expectConfigError(() => Config.fromYAML(text), /must hold settings/);
      }
    });

    it('a file that cannot be read', () => {
      const { cause } = expectConfigError(
        () => Config.fromYAML('/no/such/redisson.yaml'),
        /^The configuration '\/no\/such\/redisson\.yaml' cannot be read: ENOENT/,
      );
      expect(cause).to.be.instanceOf(Error);
      expectConfigError(() => Config.fromYAML(''), /the text itself or the path/);
      expectConfigError(() => Config.fromYAML(5 as unknown as string), /the text itself or the path/);
    });
  });

  describe('variables of the environment', () => {
    const address = (text: string): unknown => {
      const { topology } = fromYAML(`singleServerConfig:\n  address: ${text}\n`);
      return topology.kind === 'single' && topology.address;
    };
    const env = { TEST_HOST: 'h', TEST_EMPTY: '', TEST_NONE: undefined };

    it('are filled in, with and without quotes, several in one value', () => {
      withEnvironment({ ...env, TEST_PORT: '7' }, () => {
        expect(address('redis://${TEST_HOST}:${TEST_PORT}')).to.deep.equal({ host: 'h', port: 7 });
        expect(address('"redis://${TEST_HOST}:7"')).to.deep.equal({ host: 'h', port: 7 });
      });
    });

    it('have defaults for unset and empty ones', () => {
      withEnvironment(env, () => {
        expect(address('redis://${TEST_NONE:-d}:1')).to.deep.equal({ host: 'd', port: 1 });
        expect(address('redis://${TEST_EMPTY:-d}:1')).to.deep.equal({ host: 'd', port: 1 });
        expect(address('redis://${TEST_HOST:-d}:1')).to.deep.equal({ host: 'h', port: 1 });
        expect(address('${TEST_NONE:-redis://x:1}')).to.deep.equal({ host: 'x', port: 1 });
      });
    });

    it('become numbers, flags and lists where those are wanted', () => {
      withEnvironment({ TEST_T: '1234', TEST_B: 'true', TEST_L: '["redis://a:1", "redis://b:2"]' }, () => {
        const settings = fromYAML(
          'clusterServersConfig:\n  nodeAddresses: ${TEST_L}\n  timeout: ${TEST_T}\nstrictThreads: ${TEST_B}',
        );
        expect(settings).to.include({ timeout: 1234, strictThreads: true });
        expect(settings.topology.kind === 'cluster' && settings.topology.nodes.length).to.equal(2);
      });
    });

    it('work in flow lists and in unquoted JSON', () => {
      withEnvironment({ ...env, TEST_T: '5' }, () => {
        expect(fromYAML('clusterServersConfig: {nodeAddresses: [redis://${TEST_HOST}:1]}').topology).to.deep.include({
          nodes: [{ host: 'h', port: 1 }],
        });
        expect(fromYAML('{"singleServerConfig": {"address": "redis://h", "timeout": ${TEST_T}}}').timeout).to.equal(5);
      });
    });

    it('are data, whatever they hold', () => {
      for (const password of [
        'a: b',
        '# x',
        '"',
        "'",
        '{',
        '[1]',
        '&a',
        '*a',
        '@x',
        '123',
        'null',
        '~',
        'a\nb: c',
        '${TEST_HOST}',
      ]) {
        withEnvironment({ TEST_PW: password }, () => {
          const settings = fromYAML('singleServerConfig:\n  address: redis://h\n  password: ${TEST_PW}\n');
          expect(settings.password?.reveal()).to.equal(password);
        });
      }
    });

    it('an empty one is a setting that is not given', () => {
      withEnvironment(env, () => {
        const settings = fromYAML(`${SINGLE}password: \${TEST_EMPTY}\nlockWatchdogTimeout: \${TEST_NONE:-}`);
        expect(settings).to.include({ password: undefined, lockWatchdogTimeout: 30_000 });
      });
    });

    it('an unset one without default is an error that names it', () => {
      withEnvironment(env, () => {
        expectConfigError(
          () => fromYAML('singleServerConfig:\n  password: ${TEST_NONE}'),
          'password: the environment variable TEST_NONE is not set; set it, or give a default: ${TEST_NONE:-default}',
        );
      });
    });

    it('of ignored settings do not matter', () => {
      captureWarnings();
      withEnvironment(env, () => expect(fromYAML(`${SINGLE}threads: \${TEST_NONE}`).timeout).to.equal(3_000));
    });

    it('a list that is none', () => {
      withEnvironment({ TEST_L: '[geheim' }, () => {
        const { message } = expectConfigError(
          () => fromYAML('clusterServersConfig:\n  nodeAddresses: ${TEST_L}'),
          /^nodeAddresses: the environment variable does not hold a list/,
        );
        expect(message).to.not.contain('geheim');
      });
    });
  });
});
