import { expect } from 'chai';
import { Config, type RedissonOptions } from '../../../lib';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import { expectConfigError } from './support';

describe('introspection', () => {
  const given = (introspection: RedissonOptions['introspection']): unknown =>
    resolveConfig({ introspection }, {}).introspection;

  it('true, false, and with the lines that acquire', () => {
    expect(given(true)).to.deep.equal({ callSites: false });
    expect(given(false)).to.equal(false);
    expect(given({})).to.deep.equal({ callSites: false });
    expect(given({ callSites: true })).to.deep.equal({ callSites: true });
    const config = new Config().setIntrospection(false);
    config.useSingleServer().setAddress('redis://h:1');
    expect(resolveConfig(config, {}).introspection).to.equal(false);
  });

  it('in a file', () => {
    const yaml = 'introspection:\n  callSites: true\nsingleServerConfig:\n  address: redis://h:1\n';
    expect(resolveConfig(Config.fromYAML(yaml), {}).introspection).to.deep.equal({ callSites: true });
  });

  it('anything else is a ConfigError that names it', () => {
    for (const wrong of [1, 'yes', null, [], { callSites: 1 }] as never[]) {
      if (wrong === null) continue;
      expectConfigError(() => given(wrong), /introspection/);
    }
    expectConfigError(() => given({ callSite: true } as never), /did you mean 'introspection.callSites'/);
  });
});
