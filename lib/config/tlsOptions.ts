import type { ConnectionOptions } from 'node:tls';
import type { TlsSettings } from './TlsSettings';

/**
 * The `tls` option of a Node or ioredis connection. It holds secrets: for the code that connects only.
 *
 * @param tls - the settings
 */
export function tlsOptions(tls: TlsSettings): ConnectionOptions {
  const pem = tls.pem?.reveal();
  return {
    rejectUnauthorized: tls.verification !== 'NONE',
    // Returning nothing accepts the name.
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
