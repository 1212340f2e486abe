import { ConfigError } from '../../errors/usageErrors';
import { Draft, type SectionDraft, setterOf } from './Draft';
import { Filled, type Hidden, reveal } from '../parse/Filled';
import { IGNORED_COMMON_KEYS, warnIgnored } from '../parse/ignoredKeys';
import { IGNORED_SECTION_KEYS, UNSUPPORTED_SECTIONS } from '../parse/ignoredSectionKeys';
import type { IntrospectionOption, Logger, ShardedSubscriptionMode, WatchdogThreadOption } from '../Settings';
import { readDocument } from '../parse/readDocument';
import { COMMON, type CommonValues } from '../parse/schema';
import { isSectionName, SECTIONS, type SectionName } from '../parse/sections';
import type {
  ClusterServersConfig,
  MasterSlaveServersConfig,
  ReplicatedServersConfig,
  SentinelServersConfig,
  SingleServerConfig,
} from './serverConfigs';
import { type Located, sectionTopology } from './sectionTopology';
import type { SharedSetters } from './SharedSetters';

/** Settings of a connection: only the sections have setters for them. */
const OF_SECTIONS =
  /^(timeout|(connect|subscription)Timeout|retryAttempts|clientName|database|sslEnable.*|.*Resolver)$/;

// The class has these setters at run time: they are made of the settings.
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging
export interface Config extends SharedSetters {
  /** @param timeout - the lease of a hold acquired without one. Default 30000 ms */
  setLockWatchdogTimeout(timeout: number): this;

  /** @param size - how many locks one command renews at most. Default 100 */
  setLockWatchdogBatchSize(size: number): this;

  /** @param timeout - how long a waiter without limit keeps its place in the queue of a fair lock. Default 300000 ms */
  setFairLockWaitTimeout(timeout: number): this;

  /** @param check - whether an acquisition that no replica confirms is undone. Default true */
  setCheckLockSyncedSlaves(check: boolean): this;

  /** @param timeout - how long to wait for the replicas. Default 1000 ms */
  setSlavesSyncTimeout(timeout: number): this;

  /** @param times - how often one hold is renewed at most; 0: no limit. Default 0. Not in Redisson */
  setMaxRenewTimes(times: number): this;

  /**
   * @param thread - whether a thread of its own renews the locks; `{ maxStall }`: for this many ms without a sign of
   *   life from the main thread, 60000 unless given. Default false. Not in Redisson
   */
  setWatchdogThread(thread: WatchdogThreadOption): this;

  /**
   * @param tracks - whether Redis reports changes of the keys that are held and waited for (CLIENT TRACKING). Default
   *   false. Not in Redisson
   */
  setTrackHolds(tracks: boolean): this;

  /**
   * @param strict - whether re-entering through a handle outside any thread scope is an error. Default false. Not in
   *   Redisson
   */
  setStrictThreads(strict: boolean): this;

  /**
   * @param times - how often in a row a process may hand a lock over to its own waiters before other processes get
   *   their turn; 0: never. Default 64. Not in Redisson
   */
  setMaxHandOvers(times: number): this;

  /**
   * @param local - whether the next waiter of this process starts before Redis has confirmed the hand-over. Default
   *   false. Not in Redisson
   */
  setLocalHandOver(local: boolean): this;

  /**
   * @param introspection - whether inspectors may ask this client what it holds and who waits; `{ callSites: true }`:
   *   the lines that acquire are recorded for them, too. Default true. Not in Redisson
   */
  setIntrospection(introspection: IntrospectionOption): this;

  /** @param logger - where the client logs its events. Default nowhere. Not in Redisson */
  setLogger(logger: Logger): this;

  /** @param mode - whether waiters are woken through sharded pub/sub. Default `AUTO` */
  setShardedSubscriptionMode(mode: ShardedSubscriptionMode): this;
}

/**
 * A configuration with Redisson's names: built in code, or read from the YAML or JSON file of a Java service.
 *
 * ```ts
 * const config = new Config().setLockWatchdogTimeout(20_000);
 * config.useSingleServer().setAddress('redis://127.0.0.1:6379').setDatabase(2);
 * const redisson = Redisson.create(config);
 * ```
 *
 * Each setter checks its value at once (`ConfigError`) and returns the configuration. Times in ms. The meanings and
 * defaults of the settings are documented at `CommonSettings`. If a setting is given both here and in a section, the
 * value given here counts.
 *
 * Source: `org.redisson.config.Config`.
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging
export class Config {
  readonly #common = new Draft(COMMON, IGNORED_COMMON_KEYS, '', Object.keys(SECTIONS));
  #servers: SectionDraft | undefined;
  /** Values from the environment -> the text that errors show instead. */
  readonly #filled = new Map<unknown, string>();

  static {
    // Here, because bundles without this class need none of the sections.
    for (const key of new Set(Object.values(SECTIONS).flatMap((schema) => Object.keys(schema)))) {
      const isList = key.endsWith('Addresses');
      const name = isList ? setterOf(key).replace(/^set(.*)es$/, 'add$1') : setterOf(key);
      const set = function (this: SectionDraft, ...given: readonly unknown[]): SectionDraft {
        return isList ? this.add(key, given) : this.set(key, given[0]);
      };
      Object.defineProperty(Draft.prototype, name, { value: set, configurable: true, writable: true });
    }
    for (const key of Object.keys(COMMON).filter((one) => !OF_SECTIONS.test(one))) {
      const set = function (this: Config, value: unknown): Config {
        this.#common.set(key, value);
        return this;
      };
      Object.defineProperty(this.prototype, setterOf(key), { value: set, configurable: true, writable: true });
    }
  }

  /**
   * Reads a YAML configuration, `redisson.yaml`. `${NAME}` and `${NAME:-default}` are filled in from the environment.
   * Settings of the Java client that have no effect here are listed in one process warning.
   *
   * @param textOrPath - the text itself, or the path or `file:` URL of a file
   * @throws ConfigError when it cannot be read, or a setting is unknown or does not fit
   */
  static fromYAML(textOrPath: string | URL): Config {
    const config = new Config();
    const { content, filledKeys } = readDocument(textOrPath);
    for (const [key, value] of Object.entries(content)) config.#load(key, value, filledKeys);
    warnIgnored([...config.#common.ignoredKeys, ...(config.#servers?.ignoredKeys ?? [])]);
    return config;
  }

  /**
   * Reads a JSON configuration; otherwise as {@link fromYAML}.
   *
   * @param textOrPath - the text itself, or the path or `file:` URL of a file
   * @throws ConfigError when it cannot be read, or a setting is unknown or does not fit
   */
  static fromJSON(textOrPath: string | URL): Config {
    return Config.fromYAML(textOrPath);
  }

  /** The values from the environment, if any, which errors do not show. For `resolveConfig`. @internal */
  get hidden(): Hidden | undefined {
    return this.#filled.size === 0 ? undefined : (value) => this.#filled.get(value);
  }

  /** The checked common settings that were given. For `resolveConfig`. @internal */
  get commonValues(): CommonValues {
    return this.#common.values;
  }

  /** The way to find the servers, if one was chosen. For `resolveConfig`. @internal */
  get servers(): Pick<SectionDraft, 'section' | 'values'> | undefined {
    return this.#servers;
  }

  /** Where the servers are, if a way to find them was chosen. For `resolveConfig`. @internal */
  get located(): Located | undefined {
    const servers = this.#servers;
    return servers && sectionTopology(servers.section, servers.values, this.hidden !== undefined);
  }

  /** One server. @throws ConfigError when another way was chosen before */
  useSingleServer(): SingleServerConfig {
    return this.#use('singleServerConfig');
  }

  /** A master that sentinels watch. @throws ConfigError when another way was chosen before */
  useSentinelServers(): SentinelServersConfig {
    return this.#use('sentinelServersConfig');
  }

  /** A Redis Cluster. @throws ConfigError when another way was chosen before */
  useClusterServers(): ClusterServersConfig {
    return this.#use('clusterServersConfig');
  }

  /** A fixed master and its replicas. @throws ConfigError when another way was chosen before */
  useMasterSlaveServers(): MasterSlaveServersConfig {
    return this.#use('masterSlaveServersConfig');
  }

  /** Servers of which one is the master. @throws ConfigError when another way was chosen before */
  useReplicatedServers(): ReplicatedServersConfig {
    return this.#use('replicatedServersConfig');
  }

  /** @typeParam T - how its setters are declared: a test takes each of them */
  #use<T>(section: SectionName): T {
    this.#servers ??= new Draft(SECTIONS[section], IGNORED_SECTION_KEYS, section);
    if (this.#servers.section === section) return this.#servers as T;
    throw new ConfigError(`${section} cannot be used: ${this.#servers.section} is already; choose one of them`);
  }

  #load(key: string, value: unknown, filledKeys: ReadonlyMap<string, string>): void {
    if (UNSUPPORTED_SECTIONS.has(key)) {
      throw new ConfigError(`${key} is a mode of Redisson PRO and not supported; use one of Redisson's other modes`);
    }
    if (!isSectionName(key)) {
      this.#fill(this.#common, key, value, filledKeys);
    } else if (value !== null && value !== undefined) {
      if (typeof value !== 'object' || Array.isArray(value) || value instanceof Filled) {
        throw new ConfigError(`${key} must hold settings, like address: redis://127.0.0.1:6379`);
      }
      const builder = this.#use<SectionDraft>(key);
      for (const [name, one] of Object.entries(value)) this.#fill(builder, name, one, filledKeys);
    }
  }

  /** Sets a value of a document. Errors do not show values from the environment. */
  #fill(
    target: { set(key: string, value: unknown, hidden: Hidden): unknown },
    key: string,
    given: unknown,
    filledKeys: ReadonlyMap<string, string>,
  ): void {
    const filled = new Map<unknown, string>(filledKeys);
    const value = reveal(given, filled);
    for (const [one, from] of filled) this.#filled.set(one, from);
    target.set(key, value, (one) => filled.get(one));
  }
}
