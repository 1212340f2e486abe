import type { Secret } from './Secret';

/**
 * How to encrypt connections, ready for Node (see `tlsOptions`). Present exactly when the addresses are `rediss://` or
 * `valkeys://`.
 */
export interface TlsSettings {
  /**
   * How far to trust the server: `STRICT` checks its certificate and that it is of the host asked for, `CA_ONLY` only the
   * certificate, `NONE` nothing.
   * @default 'STRICT', as in Redisson: anything less lets somebody in between read and change everything
   */
  readonly verification: 'STRICT' | 'CA_ONLY' | 'NONE';
  /** Trusted certificates, PEM (`sslTruststore`). @default undefined: those Node brings along */
  readonly ca: string | undefined;
  /** Our own certificate and key, PKCS #12 (`sslKeystore`). @default undefined: none */
  readonly pfx: Secret<Buffer> | undefined;
  /** Our own certificate and key, PEM (`sslKeystore`). @default undefined: none */
  readonly pem: Secret | undefined;
  /** Opens `pfx`, or the key in `pem` (`sslKeystorePassword`). @default undefined: none */
  readonly passphrase: Secret | undefined;
  /** Cipher names in OpenSSL's or Java's notation (`sslCiphers`). @default undefined: Node's */
  readonly ciphers: readonly string[] | undefined;
  /** The oldest protocol allowed (`sslProtocols`). @default undefined: Node's (TLSv1.2) */
  readonly minVersion: TlsVersion | undefined;
  /** The newest protocol allowed (`sslProtocols`). @default undefined: Node's (TLSv1.3) */
  readonly maxVersion: TlsVersion | undefined;
}

/** Protocol names, the same in Java and Node. */
export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
