import type { Credentials } from './Credentials';
import type {
  CommonSettings,
  IntrospectionOption,
  Logger,
  TlsSettings,
  TlsVersion,
  WatchdogThreadOption,
} from './Settings';
import type { NameMapper } from './NameMapper';
import type { RedisClientLike } from './Topology';

/** The common settings whose given value has the same type as the checked one. */
type PlainSettings = {
  [K in keyof CommonSettings as CommonSettings[K] extends number | boolean | string ? K : never]: CommonSettings[K];
};

/**
 * The common settings as the user gives them: each is optional. Their meanings and defaults are documented at
 * `CommonSettings`. Times in ms.
 */
export type SettingsInput = { readonly [K in keyof PlainSettings]?: PlainSettings[K] | undefined } & {
  /** Translates names to keys. @default the identity */
  readonly nameMapper?: NameMapper | undefined;
  /** The user to authenticate as. Not with `client`. @default none */
  readonly username?: string | undefined;
  /** The password to authenticate with. Not with `client`. @default none */
  readonly password?: string | undefined;
  /**
   * Asked for user and password, where these change while the client lives (tokens of IAM or Entra): a function, or a
   * provider such as those of `@redis/entraid`. Not with `client`, `username` or `password`.
   * @default none
   */
  readonly credentials?: Credentials | undefined;
  /**
   * Whether a thread of its own renews the locks, for at most `maxStall` ms without a sign of life from the main thread
   * (60000 unless it is given).
   * @default false
   */
  readonly watchdogThread?: WatchdogThreadOption | undefined;
  /**
   * Whether inspectors may ask this client what it holds and who waits; `{ callSites: true }` records which lines
   * acquire, too.
   * @default true
   */
  readonly introspection?: IntrospectionOption | undefined;
  /** Where the client logs its events. @default nowhere */
  readonly logger?: Logger | undefined;
  /** The name of the connections in `CLIENT LIST`. @default `ioredisson:<client id>:<host name>:<pid>` */
  readonly clientName?: string | undefined;
  /** How far to trust the server's certificate. Not with `client`. @default 'STRICT' */
  readonly sslVerificationMode?: TlsSettings['verification'] | undefined;
  /** `false` means `sslVerificationMode` `NONE`; the older name of that setting. Not with `client`. @default true */
  readonly sslEnableEndpointIdentification?: boolean | undefined;
  /** PEM file with the trusted certificates. Not with `client`. @default Node's own */
  readonly sslTruststore?: string | URL | undefined;
  /** Accepted for compatibility with Java, without effect: PEM files have no password. Not with `client`. */
  readonly sslTruststorePassword?: string | undefined;
  /** PKCS #12 or PEM file with our certificate and key. Not with `client`. @default none */
  readonly sslKeystore?: string | URL | undefined;
  /** The password of the keystore. Not with `client`. @default none */
  readonly sslKeystorePassword?: string | undefined;
  /** The allowed protocols. Not with `client`. @default Node's */
  readonly sslProtocols?: readonly TlsVersion[] | undefined;
  /** The allowed ciphers, in Java's or OpenSSL's names. Not with `client`. @default Node's */
  readonly sslCiphers?: readonly string[] | undefined;
};

/** The options of `Redisson.create`: at most one of `client` and `url`, and common settings. */
export type RedissonOptions = SettingsInput & {
  /**
   * An existing ioredis `Redis` or `Cluster`. It is duplicated, and itself never used, changed or closed. It must not
   * have a `keyPrefix`. The database is `options.db` of the client, as for its `duplicate()`: a client that has changed
   * to another database by `select()` is a `ConfigError`, and a later `select()` has no effect here.
   */
  readonly client?: RedisClientLike | undefined;
  /** The address of Redis. @default the environment variable `REDIS_URL`, else `redis://127.0.0.1:6379` */
  readonly url?: string | URL | undefined;
};
