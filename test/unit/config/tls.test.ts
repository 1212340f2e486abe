import { expect } from 'chai';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { createSecureContext } from 'node:tls';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import type { SettingsInput } from '../../../lib/config/RedissonOptions';
import type { TlsSettings } from '../../../lib/config/Settings';
import { Config } from '../../../lib/config/builder/Config';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import { tlsOptions } from '../../../lib/config/tls/tlsOptions';
import { expectConfigError, fixture } from './support';

function tls(settings: SettingsInput = {}, url = 'rediss://h:6379'): TlsSettings {
  const resolved = resolveConfig({ url, ...settings }).tls;
  if (resolved === undefined) throw new Error('no TLS');
  return resolved;
}

describe('TLS', () => {
  let folder: string;
  before(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-tls-'))));
  after(() => fs.rmSync(folder, { recursive: true }));

  function file(name: string, content: string | Buffer): string {
    const created = path.join(folder, name);
    fs.writeFileSync(created, content);
    return created;
  }

  it('is what the address says', () => {
    expect(resolveConfig('redis://h').tls).to.equal(undefined);
    expect(resolveConfig('valkey://h').tls).to.equal(undefined);
    expect(tls({}, 'rediss://h')).to.be.an('object');
    expect(tls({}, 'valkeys://h')).to.be.an('object');
  });

  it('trusts as Redisson by default: everything is checked', () => {
    expect(tls()).to.deep.equal({
      verification: 'STRICT',
      ca: undefined,
      pfx: undefined,
      pem: undefined,
      passphrase: undefined,
      ciphers: undefined,
      minVersion: undefined,
      maxVersion: undefined,
    });
    expect(tlsOptions(tls())).to.deep.equal({ rejectUnauthorized: true });
    expect(Object.isFrozen(tls())).to.equal(true);
  });

  it('verification modes', () => {
    const caOnly = tlsOptions(tls({ sslVerificationMode: 'CA_ONLY' }));
    expect(caOnly.rejectUnauthorized).to.equal(true);
    expect(caOnly.checkServerIdentity?.('h', {} as never)).to.equal(undefined);
    expect(tlsOptions(tls({ sslVerificationMode: 'NONE' })).rejectUnauthorized).to.equal(false);
    expect(tls({ sslEnableEndpointIdentification: true }).verification).to.equal('STRICT');
    expect(tls({ sslEnableEndpointIdentification: false }).verification).to.equal('NONE');
    expect(tls({ sslEnableEndpointIdentification: false, sslVerificationMode: 'STRICT' }).verification).to.equal(
      'STRICT',
    );
    expectConfigError(
      () => tls({ sslVerificationMode: 'SOME' as never }),
      /must be one of STRICT, CA_ONLY, NONE, got 'SOME'/,
    );
  });

  it('reads trusted certificates, from a path and from the URLs Java has', () => {
    const ca = fs.readFileSync(fixture('ca.pem'), 'utf8');
    const url = pathToFileURL(fixture('ca.pem'));
    const relative = path.relative(process.cwd(), fixture('ca.pem'));
    for (const sslTruststore of [
      fixture('ca.pem'),
      url,
      url.href,
      relative,
      `file:${relative}`,
      `file:${fixture('ca.pem')}`,
    ]) {
      expect(tlsOptions(tls({ sslTruststore })).ca).to.equal(ca);
    }
  });

  it('reads a PKCS #12 keystore', () => {
    const options = tlsOptions(tls({ sslKeystore: fixture('client.p12'), sslKeystorePassword: 'opensesame' }));
    expect(options.pfx).to.deep.equal(fs.readFileSync(fixture('client.p12')));
    expect(options.passphrase).to.equal('opensesame');
    expect(() => createSecureContext(options)).to.not.throw();
  });

  it('reads a PEM keystore', () => {
    const pem = fs.readFileSync(fixture('client.pem'), 'utf8');
    expect(tlsOptions(tls({ sslKeystore: fixture('client.pem') }))).to.include({ cert: pem, key: pem });
  });

  it('a wrong password shows at once, and is not shown', () => {
    const error = expectConfigError(
      () => tls({ sslKeystore: fixture('client.p12'), sslKeystorePassword: 'geheim' }),
      /^The ssl settings cannot be used: .*sslKeystorePassword/,
    );
    expect(error.message).to.not.contain('geheim');
    expect(error.cause).to.be.instanceOf(Error);
  });

  it('files that cannot be used, with the command that converts them', () => {
    const jks = file('store.jks', Buffer.from('feedfeed00000002', 'hex'));
    const garbage = file('garbage.p12', 'nonsense');
    expectConfigError(() => tls({ sslKeystore: jks }), /JKS.*keytool -importkeystore/);
    expectConfigError(() => tls({ sslTruststore: jks }), /is not PEM\. Convert it: keytool/);
    expectConfigError(() => tls({ sslTruststore: fixture('client.p12') }), /is not PEM\. Convert it: openssl pkcs12/);
    expectConfigError(() => tls({ sslKeystore: garbage }), /^The ssl settings cannot be used/);
    expectConfigError(() => tls({ sslKeystore: file('empty', '') }), /^The ssl settings cannot be used/);
    expectConfigError(
      () => tls({ sslKeystore: '/no/such/file' }),
      /^sslKeystore '\/no\/such\/file' cannot be read: ENOENT/,
    );
    expectConfigError(() => tls({ sslKeystore: 'classpath:store.p12' }), /sslKeystore must be a local file/);
    expectConfigError(() => tls({ sslKeystore: new URL('https://h/store.p12') }), /sslKeystore must be a local file/);
    expectConfigError(() => tls({ sslKeystore: 5 as never }), /sslKeystore must be the path of a file, got 5/);
  });

  it('protocols', () => {
    expect(tlsOptions(tls({ sslProtocols: ['TLSv1.3', 'TLSv1.2'] }))).to.include({
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.3',
    });
    expect(tlsOptions(tls({ sslProtocols: ['TLSv1.3'] }))).to.include({ minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' });
    expectConfigError(
      () => tls({ sslProtocols: ['SSLv3' as never] }),
      /sslProtocols must be one of TLSv1, .*got 'SSLv3'/,
    );
  });

  it('ciphers, in the names of Java and of OpenSSL', () => {
    const pairs = {
      TLS_AES_128_GCM_SHA256: 'TLS_AES_128_GCM_SHA256',
      TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
      TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
      TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: 'ECDHE-RSA-AES128-SHA256',
      TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
      TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
      TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
      'ECDHE-RSA-AES256-GCM-SHA384': 'ECDHE-RSA-AES256-GCM-SHA384',
    };
    for (const [java, openssl] of Object.entries(pairs)) {
      expect(tls({ sslCiphers: [java] }).ciphers, java).to.deep.equal([openssl]);
    }
    expect(tlsOptions(tls({ sslCiphers: Object.keys(pairs) })).ciphers).to.equal(Object.values(pairs).join(':'));
    expectConfigError(() => tls({ sslCiphers: ['NONSENSE'] }), /^The ssl settings cannot be used/);
  });

  it('without TLS the ssl settings mean nothing, and their files are not read', () => {
    expect(resolveConfig({ url: 'redis://h', sslKeystore: '/no/such/file' }).tls).to.equal(undefined);
  });

  it('of a Config and of its section', () => {
    const config = new Config().setSslVerificationMode('CA_ONLY').setSslTruststore(fixture('ca.pem'));
    config
      .useSingleServer()
      .setAddress('rediss://h')
      .setSslKeystore(fixture('client.p12'))
      .setSslKeystorePassword('opensesame');
    const settings = resolveConfig(config).tls;
    expect(settings).to.include({ verification: 'CA_ONLY' });
    expect(settings?.ca).to.contain('BEGIN CERTIFICATE');
    expect(settings?.pfx?.reveal()).to.be.instanceOf(Buffer);
  });

  it('every setter of both', () => {
    const set = <T extends object>(target: T): void => {
      const setters = target as unknown as Record<string, (value: unknown) => unknown>;
      const values: Record<string, unknown> = {
        setSslVerificationMode: 'STRICT',
        setSslTruststore: fixture('ca.pem'),
        setSslTruststorePassword: 'x',
        setSslKeystore: fixture('client.p12'),
        setSslKeystorePassword: 'opensesame',
        setSslProtocols: ['TLSv1.2'],
        setSslCiphers: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'],
      };
      for (const [name, value] of Object.entries(values))
        expect(setters[name]?.call(target, value), name).to.equal(target);
    };
    const config = new Config();
    const section = config.useSingleServer().setAddress('rediss://h').setSslEnableEndpointIdentification(true);
    set(config);
    set(section);
    expect(resolveConfig(config).tls?.minVersion).to.equal('TLSv1.2');
  });

  it('shows no secret', () => {
    const settings = resolveConfig({
      url: 'rediss://h',
      sslKeystore: fixture('client.pem'),
      sslKeystorePassword: 'geheim',
    });
    for (const shown of [inspect(settings, { depth: null }), JSON.stringify(settings)]) {
      expect(shown).to.not.match(/geheim|PRIVATE KEY/);
    }
  });
});
