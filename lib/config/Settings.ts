import type { Credentials } from './Credentials';
import type { NameMapper } from './NameMapper';
import type { Secret } from './Secret';
import type { Topology } from './Topology';

/**
 * Whether waiters are woken through sharded pub/sub (`SPUBLISH`, Redis 7 clusters). Clients with different modes do not
 * wake each other, so it must be the mode of the Java clients.
 *
 * Source: `org.redisson.config.ShardedSubscriptionMode`.
 */
export type ShardedSubscriptionMode = 'AUTO' | 'ON' | 'OFF';

/**
 * How a thread of its own (a `Worker` of `node:worker_threads`, with one connection of its own) renews locks.
 */
export interface WatchdogThreadSettings {
  /**
   * How long the thread renews the locks of a main thread that gives no sign of life, in ms. A main thread that is
   * blocked for longer loses its locks, and learns of it when it runs again.
   * @default 60000
   */
  readonly maxStall: number;
}

/**
 * Whether a thread of its own renews a lock: `true` with the defaults of {@link WatchdogThreadSettings}, `false` not.
 */
export type WatchdogThreadOption =
  | boolean
  | {
      /** As in {@link WatchdogThreadSettings}, in ms. @default 60000 */
      readonly maxStall?: number | undefined;
    };

/** What inspectors may ask of a client. */
export interface IntrospectionSettings {
  /** Whether it records which lines acquire. */
  readonly callSites: boolean;
}

/** Whether inspectors may ask a client: `true` with the defaults of {@link IntrospectionSettings}, `false` not. */
export type IntrospectionOption = boolean | { readonly callSites?: boolean | undefined };

/**
 * The settings that do not depend on how the servers are found. Times in ms.
 *
 * Source: the fields of the same names of `org.redisson.config.Config` and `BaseConfig`, unless noted otherwise.
 */
export interface CommonSettings {
  /**
   * The lease of a hold acquired without one, in ms; renewed three times in this time. A dead holder keeps the lock at
   * most this long.
   * @default 30000, Redisson's; it need not be the value of the Java clients: it only sets how long dead holders keep a
   *   lock
   */
  readonly lockWatchdogTimeout: number;
  /**
   * How many locks one command renews at most.
   * @default 100, Redisson's: a script stays well under a millisecond
   */
  readonly lockWatchdogBatchSize: number;
  /**
   * How long a waiter without limit keeps its place in the queue of a fair lock after the time at which it is expected
   * to get the lock, in ms.
   * @default 300000, Redisson's (its documentation says 5 seconds, its code does not)
   */
  readonly fairLockWaitTimeout: number;
  /**
   * Whether an acquisition that no replica confirms is undone and fails.
   * @default true, Redisson's: a failover could lose such a lock
   */
  readonly checkLockSyncedSlaves: boolean;
  /**
   * How long an acquisition waits for replicas to confirm it, in ms.
   * @default 1000, Redisson's
   */
  readonly slavesSyncTimeout: number;
  /**
   * Translates names to keys.
   * @default the identity
   */
  readonly nameMapper: NameMapper;
  /**
   * How often the watchdog renews one hold before it gives it up; 0: no limit.
   * @default 0: a lock is renewed for as long as its owner lives. Not in Redisson
   */
  readonly maxRenewTimes: number;
  /**
   * Whether a thread of its own renews the locks, so that a holder whose event loop is busy keeps them; see
   * {@link WatchdogThreadSettings}.
   * @default false: the main thread renews them. Not in Redisson
   */
  readonly watchdogThread: false | WatchdogThreadSettings;
  /**
   * Whether Redis reports changes of the keys that are held and waited for (CLIENT TRACKING): then a loss by DEL,
   * eviction, FLUSHALL or expiry is found within a round trip, and waiters wake. It costs one more connection for
   * each one that sends commands, and a command for each hold that lasts longer than a round trip.
   * @default false. Not in Redisson
   */
  readonly trackHolds: boolean;
  /**
   * Whether re-entering a lock through a handle outside any thread scope, or by `lock()` of a hold that `acquire()`
   * took, is an error instead of a warning.
   * @default false: Java code ported line by line does that. Not in Redisson
   */
  readonly strictThreads: boolean;
  /**
   * How often in a row a process may hand a lock over to its own waiters, each time in one command, before other
   * processes get their turn; 0: never. While other processes wait, it hands over less often: it shares the turns with
   * processes that acquire one at a time.
   * @default 64: each hand-over saves the other processes a useless wake-up. Not in Redisson
   */
  readonly maxHandOvers: number;
  /**
   * Whether the next waiter of this process starts as soon as the holder gives the lock back, on the strength of the
   * lease that Redis has just confirmed to this process, instead of a round trip later. One command covers all
   * hand-overs since the last one; `unlock()` resolves when a command that covers it is answered. For plain,
   * non-reentrant and write locks and for values of a group; no effect on others. Writers are handed the lock with this
   * setting only. After a loss from outside (DEL, a forced release, a failover) further waiters of this process may
   * start for 25 ms and a round trip.
   * @default false. Not in Redisson
   */
  readonly localHandOver: boolean;
  /**
   * Whether inspectors may ask this client what it holds, since when, and who waits (`Inspector.ask`). It then listens
   * on a channel of its own while something has been held or waited for for 5 s. `callSites`: whether it records which
   * lines acquire, which costs some microseconds for each call.
   * @default { callSites: false }. Not in Redisson
   */
  readonly introspection: false | IntrospectionSettings;
  /**
   * Whether waiters are woken through sharded pub/sub; only on clusters.
   * @default 'AUTO': if the servers support it, as in Redisson
   */
  readonly shardedSubscriptionMode: ShardedSubscriptionMode;
  /** How long to wait for the reply to a command, in ms. @default 3000, Redisson's */
  readonly timeout: number;
  /**
   * How long opening a connection may take, in ms.
   * @default 10000, Redisson's
   */
  readonly connectTimeout: number;
  /**
   * How often a command is retried that could not be sent, or that may be sent twice.
   * @default 4, Redisson's since 3.48
   */
  readonly retryAttempts: number;
  /**
   * How long a waiter without limit waits to become subscribed, in ms.
   * @default 7500, Redisson's
   */
  readonly subscriptionTimeout: number;
  /** The user to authenticate as. @default undefined: Redis' `default` user */
  readonly username: string | undefined;
  /** The password to authenticate with. @default undefined: no authentication */
  readonly password: Secret | undefined;
  /**
   * Asked for user and password instead, where these change while the client lives (tokens of IAM or Entra).
   * @default undefined: `username` and `password`. Redisson: `credentialsResolver`
   */
  readonly credentials: Secret<Credentials> | undefined;
  /** The name of the connections in `CLIENT LIST`. @default undefined: `ioredisson:<client id>:<host name>:<pid>` */
  readonly clientName: string | undefined;
  /** The number of the database. @default 0; a cluster has only this one before Valkey 9 */
  readonly database: number;
  /** Where the client logs its events. @default undefined: nowhere. Not in Redisson */
  readonly logger: Logger | undefined;
  /** How to encrypt connections. @default undefined: no encryption */
  readonly tls: TlsSettings | undefined;
}

/**
 * The settings of a client: all of them, checked, with the defaults filled in, and deeply frozen. Safe to print:
 * secrets read `[redacted]`.
 */
export interface Settings extends CommonSettings {
  /** How the servers are found. */
  readonly topology: Topology;
}

/**
 * How to encrypt connections, ready for Node (see `tlsOptions`). Present exactly when the addresses are `rediss://` or
 * `valkeys://`.
 */
export interface TlsSettings {
  /**
   * How to verify the server: `STRICT` checks its certificate and that it was issued for the requested host, `CA_ONLY`
   * only the certificate, `NONE` nothing.
   * @default 'STRICT', as in Redisson: with anything less, an attacker in between can read and change everything
   */
  readonly verification: 'STRICT' | 'CA_ONLY' | 'NONE';
  /** Trusted certificates, PEM (`sslTruststore`). @default undefined: Node's own */
  readonly ca: string | undefined;
  /** Our own certificate and key, PKCS #12 (`sslKeystore`). @default undefined: none */
  readonly pfx: Secret<Buffer> | undefined;
  /** Our own certificate and key, PEM (`sslKeystore`). @default undefined: none */
  readonly pem: Secret | undefined;
  /** The password of `pfx`, or of the key in `pem` (`sslKeystorePassword`). @default undefined: none */
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

/** Writes a line: its fields, and a message for people. As in pino. */
export type LogLine = (fields: object, message: string) => void;

/** Where a client logs its events: changes of its connection, refusals, lost locks, failed renewals. */
export interface Logger {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
}
