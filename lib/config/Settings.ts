import type { NameMapper } from './NameMapper';
import type { Secret } from './Secret';
import type { Topology } from './Topology';

/**
 * Whether waiters are woken through sharded pub/sub (`SPUBLISH`, Redis 7 clusters). Clients that disagree do not wake
 * each other; it must be what the Java peers use.
 *
 * Source: `org.redisson.config.ShardedSubscriptionMode`.
 */
export type ShardedSubscriptionMode = 'AUTO' | 'ON' | 'OFF';

/**
 * The settings that do not depend on how the servers are found. Times in ms.
 *
 * Source: the fields of the same names of `org.redisson.config.Config` and `BaseConfig`, unless noted otherwise.
 */
export interface CommonSettings {
  /**
   * The lease of a hold taken without one; renewed every third of it. A holder that dies keeps the lock at most that
   * long.
   * @default 30000, Redisson's; it must be what the Java peers use only as far as dead holders should cost the same
   */
  readonly lockWatchdogTimeout: number;
  /**
   * How many locks one renewal command carries.
   * @default 100, Redisson's: a script stays well under a millisecond
   */
  readonly lockWatchdogBatchSize: number;
  /**
   * How long a place in the queue of a fair lock is kept beyond the time at which its owner is expected to get the
   * lock.
   * @default 300000, Redisson's (its documentation says 5 seconds, its code does not)
   */
  readonly fairLockWaitTimeout: number;
  /**
   * Whether an acquisition that no replica confirms is undone and fails.
   * @default true, Redisson's: a failover could lose such a lock
   */
  readonly checkLockSyncedSlaves: boolean;
  /**
   * How long an acquisition waits for replicas to confirm it.
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
   * @default 0: a lock is kept for as long as its owner lives. Ours
   */
  readonly maxRenewTimes: number;
  /**
   * Whether re-entering a lock through a handle outside any thread scope, or by `lock()` where `acquire()` took it, is
   * an error instead of a warning.
   * @default false: Java code ported line by line does that. Ours
   */
  readonly strictThreads: boolean;
  /**
   * How often in a row a process may hand a lock on among its own waiters, in one command, before others get their
   * turn; 0: never. While others wait it does so less often by itself: it shares the turns with processes that take one
   * at a time.
   * @default 64: each saves the other processes a wake-up for nothing. Ours
   */
  readonly maxHandOvers: number;
  /**
   * Whether waiters are woken through sharded pub/sub; only on clusters.
   * @default 'AUTO': where the servers can, as Redisson
   */
  readonly shardedSubscriptionMode: ShardedSubscriptionMode;
  /**
   * How long a command may go unanswered.
   * @default 3000, Redisson's
   */
  readonly timeout: number;
  /**
   * How long opening a connection may take.
   * @default 10000, Redisson's
   */
  readonly connectTimeout: number;
  /**
   * How often a command is tried again that could not be sent, or may be sent twice.
   * @default 4, Redisson's since 3.48
   */
  readonly retryAttempts: number;
  /**
   * How long a waiter without limit may take to become subscribed.
   * @default 7500, Redisson's
   */
  readonly subscriptionTimeout: number;
  /** The user to authenticate as. @default undefined: Redis' `default` user */
  readonly username: string | undefined;
  /** The password to authenticate with. @default undefined: no authentication */
  readonly password: Secret | undefined;
  /** The name of the connections in `CLIENT LIST`. @default undefined: `ioredisson:<client id>:<host name>:<pid>` */
  readonly clientName: string | undefined;
  /** The number of the database. @default 0; a cluster has no other before Valkey 9 */
  readonly database: number;
  /** Where the client tells what happens to it. @default undefined: nowhere. Ours */
  readonly logger: Logger | undefined;
  /** How to encrypt connections. @default undefined: not at all */
  readonly tls: TlsSettings | undefined;
}

/**
 * What a client works with: every setting, checked, with the defaults filled in, frozen all the way down.
 * Safe to print: secrets read `[redacted]`.
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
   * How far to trust the server: `STRICT` checks its certificate and that it is of the host asked for, `CA_ONLY` only
   * the certificate, `NONE` nothing.
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

/** Writes a line: what belongs to it, and a message for a person. As pino's. */
export type LogLine = (fields: object, message: string) => void;

/** Where a client tells what happens to it: changes of its connection, refusals, lost locks, renewals that fail. */
export interface Logger {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
}
