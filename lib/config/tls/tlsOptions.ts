import { readFileSync } from 'node:fs';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../../errors/usageErrors';
import type { Hidden } from '../parse/Filled';
import type { CommonValues } from '../parse/schema';
import { Secret } from '../Secret';
import type { TlsSettings, TlsVersion } from '../Settings';

/**
 * The `tls` option of a Node or ioredis connection. It contains secrets: only for the code that connects.
 *
 * @param tls - the settings
 */
export function tlsOptions(tls: TlsSettings): ConnectionOptions {
  const pem = tls.pem?.reveal();
  return {
    rejectUnauthorized: tls.verification !== 'NONE',
    // Returning `undefined` accepts the host name.
    ...(tls.verification === 'CA_ONLY' && { checkServerIdentity: () => undefined }),
    ...(tls.ca !== undefined && { ca: tls.ca }),
    ...(tls.pfx !== undefined && { pfx: tls.pfx.reveal() }),
    ...(pem !== undefined && { cert: pem, key: pem }),
    ...(tls.passphrase !== undefined && { passphrase: tls.passphrase.reveal() }),
    ...(tls.ciphers !== undefined && { ciphers: tls.ciphers.join(':') }),
    ...(tls.minVersion !== undefined && { minVersion: tls.minVersion }),
    ...(tls.maxVersion !== undefined && { maxVersion: tls.maxVersion }),
  };
}

const VERSIONS: readonly TlsVersion[] = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

/**
 * Converts the `ssl*` settings to Node's options, and tries them, so that a wrong file or password is found here and
 * not at the first connection.
 *
 * Files may be PEM or (the keystore) PKCS #12. Java's own JKS format cannot be read; the error says how to convert it.
 *
 * @param values - the checked settings
 * @param hidden - which values errors must not show
 * @throws ConfigError if a file cannot be read or used
 */
export function readTls(values: CommonValues, hidden?: Hidden): TlsSettings {
  const settings: TlsSettings = Object.freeze({
    verification: values.sslVerificationMode ?? (values.sslEnableEndpointIdentification === false ? 'NONE' : 'STRICT'),
    ca: readTruststore(values.sslTruststore, hidden),
    ...readKeystore(values.sslKeystore, hidden),
    passphrase: values.sslKeystorePassword,
    ciphers: values.sslCiphers && Object.freeze(values.sslCiphers.map(opensslName)),
    minVersion: VERSIONS.find((version) => values.sslProtocols?.includes(version)),
    maxVersion: VERSIONS.findLast((version) => values.sslProtocols?.includes(version)),
  });
  try {
    createSecureContext(tlsOptions(settings));
  } catch (cause) {
    throw new ConfigError(
      `The ssl settings cannot be used: ${(cause as Error).message}. Check sslKeystore, sslKeystorePassword, ` +
        `sslTruststore, sslCiphers and sslProtocols.`,
      { cause },
    );
  }
  return settings;
}

function readTruststore(path: string | undefined, hidden: Hidden | undefined): string | undefined {
  if (path === undefined) return undefined;
  const content = readStore(path, 'sslTruststore', hidden);
  if (isPem(content)) return content.toString('utf8');
  // Node reads certificates from a PKCS #12 file only together with a private key.
  throw new ConfigError(
    `sslTruststore ${shown(path, hidden)} is not PEM. Convert it: ` +
      (isJks(content)
        ? `keytool -list -rfc -keystore <store> > ca.pem`
        : `openssl pkcs12 -in <store> -nokeys -out ca.pem`),
  );
}

function readKeystore(path: string | undefined, hidden: Hidden | undefined): Pick<TlsSettings, 'pfx' | 'pem'> {
  if (path === undefined) return { pfx: undefined, pem: undefined };
  const content = readStore(path, 'sslKeystore', hidden);
  if (isPem(content)) return { pfx: undefined, pem: new Secret(content.toString('utf8')) };
  if (isJks(content)) {
    throw new ConfigError(
      `sslKeystore ${shown(path, hidden)} is in Java's JKS format, which Node cannot read. Convert it: ` +
        `keytool -importkeystore -srckeystore <store> -destkeystore store.p12 -deststoretype PKCS12`,
    );
  }
  return { pfx: new Secret(content), pem: undefined };
}

function readStore(path: string, key: string, hidden: Hidden | undefined): Buffer {
  try {
    // Java's `file:store.p12` is relative to the working directory; `file:///etc/store.p12` is a URL.
    return readFileSync(/^file:\//i.test(path) ? fileURLToPath(path) : path.replace(/^file:/i, ''));
  } catch (cause) {
    const { message, code = 'it is no path' } = cause as NodeJS.ErrnoException;
    const from = hidden?.(path);
    // The error's message contains the path.
    if (from !== undefined) throw new ConfigError(`${key}: ${from} cannot be read: ${code}`);
    throw new ConfigError(`${key} '${path}' cannot be read: ${message}`, { cause });
  }
}

function shown(path: string, hidden: Hidden | undefined): string {
  return hidden?.(path) ?? `'${path}'`;
}

function isPem(content: Buffer): boolean {
  return content.includes('-----BEGIN ');
}

function isJks(content: Buffer): boolean {
  return content.length >= 4 && content.readUInt32BE(0) === 0xfeedfeed;
}

/**
 * `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` of Java is `ECDHE-RSA-AES128-GCM-SHA256` of OpenSSL; TLS 1.3 names are the
 * same.
 */
function opensslName(cipher: string): string {
  const [, exchange, bulk] = /^TLS_(\w+?)_WITH_(\w+)$/.exec(cipher) ?? [];
  if (exchange === undefined || bulk === undefined) return cipher;
  const suffix = bulk
    .replace(/^AES_(\d+)/, 'AES$1')
    .replace('_CBC_', '_')
    .replace(/^(CHACHA20_POLY1305)_SHA256$/, '$1');
  // OpenSSL does not name the plain RSA key exchange.
  return `${exchange === 'RSA' ? '' : `${exchange}-`}${suffix}`.replaceAll('_', '-');
}
