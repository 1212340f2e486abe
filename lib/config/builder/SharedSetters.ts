import type { Credentials } from '../Credentials';
import type { NameMapper } from '../NameMapper';
import type { TlsSettings, TlsVersion } from '../Settings';

/** The setters that a `Config` and its sections have alike. */
export interface SharedSetters {
  /** @param username - the user to authenticate as. Default none */
  setUsername(username: string | null | undefined): this;

  /** @param password - the password to authenticate with. Default none */
  setPassword(password: string | null | undefined): this;

  /** @param credentials - asked for user and password, where these change while the client lives. Default none */
  setCredentials(credentials: Credentials | null | undefined): this;

  /** @param nameMapper - translates names to keys. Default the identity */
  setNameMapper(nameMapper: NameMapper): this;

  /** @param mode - how to verify the server's certificate. Default `STRICT` */
  setSslVerificationMode(mode: TlsSettings['verification']): this;

  /** @param path - PEM file with the trusted certificates. Default Node's own */
  setSslTruststore(path: string | URL): this;

  /** @param password - accepted for compatibility with Java, without effect: PEM files have no password */
  setSslTruststorePassword(password: string | null | undefined): this;

  /** @param path - PKCS #12 or PEM file with our certificate and key. Default none */
  setSslKeystore(path: string | URL): this;

  /** @param password - the password of the keystore. Default none */
  setSslKeystorePassword(password: string | null | undefined): this;

  /** @param protocols - the allowed protocols. Default Node's */
  setSslProtocols(protocols: readonly TlsVersion[]): this;

  /** @param ciphers - the allowed ciphers, in Java's or OpenSSL's names. Default Node's */
  setSslCiphers(ciphers: readonly string[]): this;
}
