// Ids in titles: test/README.md
import { expect } from 'chai';
import { inspect } from 'node:util';
import { pathToFileURL } from 'node:url';
import type { Settings } from '../../../lib/config/Settings';
import { Config } from '../../../lib/config/builder/Config';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import { captureWarnings, expectConfigError, fixture, withEnvironment } from './support';

function fromYAML(text: string): Settings {
  return resolveConfig(Config.fromYAML(text));
}

const SINGLE = 'singleServerConfig: {address: "redis://h:1"}\n';

describe('Config from a file', () => {
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
      expectConfigError(nat('{class: x.HostPortNatMapper, hostsPortMap: {"a:1": b}}'), /must be host:port, got 'b'/);
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
      for (const text of [
        'password: "geheim\nfoo',
        'a: geheim: b',
        '{"password": "geheim"',
        '{"password":"geheim"',
        '{"a":1}geheim',
      ]) {
        const error = expectConfigError(
          () => Config.fromYAML(text),
          /not valid YAML or JSON: \w+ in line \d+, column \d+$/,
        );
        expect(error.message).to.not.contain('geheim');
        expect(error.cause).to.equal(undefined);
      }
    });

    it('what holds no settings', () => {
      for (const text of ['[1, 2]\n', '\n', '# nothing\n', '[{"password":"geheim"}]']) {
        expectConfigError(() => Config.fromYAML(text), /must hold settings/);
      }
    });

    it('B2: what is neither text nor path is not shown', () => {
      const lines = ['password:geheim', '- password:geheim', 'password=geheim', 'redisson.password = geheim'];
      for (const text of ['redis://:geheim@h:6379', 'redis://bob:geheim@h', ...lines]) {
        const error = expectConfigError(() => Config.fromYAML(text), /cannot be read: ENOENT$/);
        expect(inspect(error, { showHidden: true, depth: null })).to.not.contain('geheim');
      }
    });

    it('B2: a name that has swallowed its value, for want of a space or a quote, is not shown', () => {
      for (const text of ['{pass"word":"geheim"}', '{password:geheim}', 'password:geheim:\n', '"password=geheim": x']) {
        const error = expectConfigError(() => fromYAML(text), /Unknown setting: a text that may hold a secret/);
        expect(inspect(error, { showHidden: true, depth: null })).to.not.contain('geheim');
      }
    });

    it('B13: a path may hold braces, and a key that comes twice counts as for Java', () => {
      for (const path of ['./{stage}/redisson{1}.yaml', '{stage}/redisson.yaml', '[1]/redisson.yaml', 'C:\\a.yaml']) {
        expectConfigError(() => Config.fromYAML(path), /^The configuration '.*ENOENT/);
      }
      const { topology, timeout } = fromYAML(
        'singleServerConfig:\n  address: redis://a:1\n  timeout: 5\n  address: redis://b:2\n  timeout: 7\n',
      );
      expect([topology, timeout]).to.deep.equal([{ kind: 'single', address: { host: 'b', port: 2 } }, 7]);
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
});
