// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Settings } from '../../../lib/config/Settings';
import { Config } from '../../../lib/config/builder/Config';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import { captureWarnings, expectConfigError, withEnvironment } from './support';

function fromYAML(text: string): Settings {
  return resolveConfig(Config.fromYAML(text));
}

const SINGLE = 'singleServerConfig: {address: "redis://h:1"}\n';

describe('Config from a file', () => {
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

    it('B13: are filled in in keys, too', () => {
      withEnvironment({ TEST_KEY: 'singleServerConfig', TEST_SETTING: 'timeout' }, () => {
        const settings = fromYAML(
          '${TEST_KEY}: {address: "redis://h:1", "${TEST_SETTING}": 7, ${TEST_NO:-database}: 3}\n',
        );
        expect([settings.timeout, settings.database]).to.deep.equal([7, 3]);
      });
    });

    it('B2: are not shown, whatever the setting they stand in', () => {
      withEnvironment({ TEST_PASSWORD: 'geheim' }, () => {
        for (const line of ['timeout: ${TEST_PASSWORD}', 'strictThreads: x${TEST_PASSWORD}', '${TEST_PASSWORD}: 1']) {
          const { message } = expectConfigError(() => fromYAML(`${SINGLE}${line}\n`), /./);
          expect(message).to.not.contain('geheim');
        }
        expectConfigError(() => address('"redis://h:${TEST_PASSWORD}"'), /not a valid address/);
      });
    });

    describe('B2: are not shown, and the errors stay readable', () => {
      const cluster = 'clusterServersConfig:\n  nodeAddresses: ';
      for (const [line, value, message] of [
        [
          'timeout: ${TEST_V}',
          'a',
          /^timeout must be a whole number of milliseconds from 1 to \d+, got the value of \$\{TEST_V\}$/,
        ],
        ['timeout: ${TEST_V}', '-1', /, got the value of \$\{TEST_V\}$/],
        ['timeout: x${TEST_V}y', 'ge', /, got a value with \$\{TEST_V\} in it$/],
        ['strictThreads: ${TEST_V}', '1', /^strictThreads must be true or false, got the value of \$\{TEST_V\}$/],
        [
          'clientName: ${TEST_V}${TEST_W}',
          'a b',
          /^clientName a value with \$\{TEST_V\} and \$\{TEST_W\} in it cannot be used/,
        ],
        ['shardedSubscriptionMode: ${TEST_V}', 'O', /must be one of AUTO, ON, OFF, got the value of \$\{TEST_V\}$/],
        ['sslTruststore: ${TEST_V}', 'xy://z', /^sslTruststore must be a local file, got the value of/],
        ['nameMapper: !<${TEST_V}> {}', 'geheim', /^nameMapper .* is a Java class/],
        ['nameMapper: {class: "${TEST_V}"}', 'geheim', /^nameMapper the value of \$\{TEST_V\} is a Java class/],
        ['${TEST_V}: 1', 'a', /^Unknown setting '<the value of \$\{TEST_V\}>'$/],
        ['timeouts: ${TEST_V}', 't', /^Unknown setting 'timeouts'; did you mean 'timeout'\?$/],
      ] as const) {
        it(`${line} with '${value}'`, () => {
          withEnvironment({ TEST_V: value, TEST_W: 'w' }, () => {
            const error = expectConfigError(() => fromYAML(`${SINGLE}${line}\n`), message);
            expect(error.cause).to.equal(undefined);
            if (value.length > 1) expect(error.message).to.not.contain(value);
          });
        });
      }

      for (const [line, message] of [
        [
          'singleServerConfig: {address: "redis://h:${TEST_V}"}',
          'singleServerConfig.address a value with ${TEST_V} in it: not a valid',
        ],
        [
          `${cluster}["redis://h:1", "redis://\${TEST_V}@h?db=1"]`,
          'nodeAddresses a value with ${TEST_V} in it: parameters',
        ],
        [`${cluster}\${TEST_L}`, 'nodeAddresses the value of ${TEST_L}: an address starts with'],
        [`${cluster}\${TEST_V}`, 'nodeAddresses must be a list of at least 1, got the value of ${TEST_V}'],
        ['x: &x ${TEST_V}\nsingleServerConfig: {timeout: *x}', "Unknown setting 'x'"],
        [
          'singleServerConfig: {username: &x "${TEST_V}", timeout: *x}',
          'timeout must be a whole number of milliseconds from 1',
        ],
        [
          'masterSlaveServersConfig: {masterAddress: "redis://h:1/${TEST_DB}"}',
          'an address names another database; use setDatabase()',
        ],
        [`${cluster}["redis://h:1"]\ndatabase: \${TEST_DB}`, 'database the value of ${TEST_DB} cannot be used'],
        [
          'sentinelServersConfig: {natMapper: {class: HostPortNatMapper, hostsPortMap: {a: "${TEST_V}"}}}',
          'natMapper must be host:port, got the value of ${TEST_V}',
        ],
        ['singleServerConfig: {"${TEST_V}": 1}', "Unknown setting 'singleServerConfig.<the value of ${TEST_V}>'"],
      ] as const) {
        it(line.replace('\n', ' '), () => {
          withEnvironment({ TEST_V: 'geheim', TEST_L: '[geheim]', TEST_DB: '7' }, () => {
            const error = expectConfigError(() => fromYAML(line), /./);
            expect(error.message)
              .to.contain(message)
              .and.to.not.match(/geheim|\b7\b/);
          });
        });
      }

      it('a file that cannot be read, which is found out later', () => {
        withEnvironment({ TEST_V: '/geheim' }, () => {
          for (const key of ['sslTruststore', 'sslKeystore']) {
            const text = `singleServerConfig: {address: "rediss://h:1"}\n${key}: \${TEST_V}\n`;
            const error = expectConfigError(
              () => fromYAML(text),
              `${key}: the value of \${TEST_V} cannot be read: ENOENT`,
            );
            expect(error.cause).to.equal(undefined);
          }
        });
      });

      it('a default, and what the text itself says, is shown as ever', () => {
        withEnvironment({ TEST_V: 'a', TEST_NONE: undefined }, () => {
          const both = 'clientName: ${TEST_V}\n';
          expectConfigError(() => fromYAML(`${SINGLE}${both}timeout: b`), /got 'b'$/);
          expectConfigError(() => fromYAML(`${SINGLE}${both}timeout: \${TEST_NONE:-c}`), /got 'c'$/);
          expectConfigError(() => fromYAML(`${SINGLE}${both}clientName: d a`), /^clientName 'd a' cannot be used/);
        });
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
