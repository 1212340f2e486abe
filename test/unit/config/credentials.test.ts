import { expect } from 'chai';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { Config, ConfigError, type RedissonOptions, type StreamingCredentialsProvider } from '../../../lib';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';

const give = () => ({ username: 'ann', password: 'geheim' });
const provider: StreamingCredentialsProvider & { readonly token: string } = {
  token: 'geheim',
  subscribe: () => Promise.resolve([{ password: 'geheim' }, { dispose: () => undefined }]),
};
const resolve = (options: RedissonOptions) => resolveConfig(options, {});

describe('the setting credentials (D1)', () => {
  for (const [what, credentials] of [
    ['a function', give],
    ['a streaming provider', provider],
  ] as const) {
    it(`is ${what}, in options, in Config and in each section; and is not shown`, () => {
      const config = new Config().setCredentials(credentials);
      config.useSingleServer().setAddress('redis://h:1');
      const section = new Config();
      section.useClusterServers().addNodeAddress('redis://h:1').setCredentials(credentials);
      for (const settings of [resolve({ credentials }), resolveConfig(config), resolveConfig(section)]) {
        expect(settings.credentials?.reveal()).to.equal(credentials);
        expect(inspect(settings, { depth: null, showHidden: true })).to.not.contain('geheim');
      }
    });
  }

  for (const [what, options] of [
    ['a username', { username: 'ann' }],
    ['a password', { password: 'geheim' }],
    ['a password in the URL', { url: 'redis://ann:geheim@h' }],
  ] as const) {
    it(`excludes ${what}`, () => {
      const error = catching(() => resolve({ ...options, credentials: give }));
      expect(error.message).to.match(/^credentials cannot be used together with (username|password)/);
      expect(error.message).to.not.contain('geheim');
    });
  }

  it('excludes a password of REDIS_URL, and a client, which has its own', () => {
    expect(catching(() => resolveConfig({ credentials: give }, { REDIS_URL: 'redis://:geheim@h' })).message).to.contain(
      'credentials cannot be used together with password in the address',
    );
    const client = new Redis({ lazyConnect: true });
    expect(catching(() => resolve({ client, credentials: give })).message).to.contain('credentials cannot be set');
    client.disconnect();
  });

  for (const value of ['geheim', 5, {}, { subscribe: 5 }, []]) {
    it(`is refused where it is ${inspect(value)}, and not shown`, () => {
      const error = catching(() => resolve({ credentials: value as never }));
      expect(error.message)
        .to.match(/^credentials must be a function/)
        .and.not.contain('geheim');
    });
  }

  it('cannot be in a file', () => {
    expect(
      catching(() => Config.fromYAML('singleServerConfig:\n  address: redis://h:1\ncredentials: abc')).message,
    ).to.contain('setCredentials');
  });

  for (const where of ['', '  ']) {
    it(`is what a credentialsResolver of Java is told to be, ${where === '' ? 'at the top' : 'in a section'}`, () => {
      const text = `singleServerConfig:\n  address: redis://h:1\n${where}credentialsResolver: !<com.example.Iam> {}\n`;
      const error = catching(() => Config.fromYAML(text));
      expect(error).to.be.instanceOf(ConfigError);
      expect(error.message).to.match(/credentialsResolver .*'credentials'/);
    });
  }

  it('the resolver that Redisson writes where there is none is none', () => {
    const text =
      'singleServerConfig:\n  address: redis://h:1\n  credentialsResolver: !<org.redisson.client.DefaultCredentialsResolver> {}\n';
    expect(resolveConfig(Config.fromYAML(text)).credentials).to.equal(undefined);
    expect(
      resolveConfig(Config.fromYAML('singleServerConfig:\n  address: redis://h:1\ncredentialsResolver: null'))
        .credentials,
    ).to.equal(undefined);
  });

  it('is suggested for the names that others have for it', () => {
    const error = catching(() => resolve({ credentialsProvider: give } as never));
    expect(error.message).to.contain("did you mean 'credentials'");
  });

  it('takes a Config of another copy of this package', () => {
    const config = new Config().setCredentials(give);
    config.useSingleServer().setAddress('redis://h:1');
    const { servers, located, commonValues, hidden } = config;
    class Foreign {
      servers = servers;
      located = located;
      commonValues = commonValues;
      hidden = hidden;
    }
    expect(resolveConfig(new Foreign() as never).credentials?.reveal()).to.equal(give);
  });
});

function catching(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}
