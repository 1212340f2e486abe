import type { Credentials } from '../Credentials';
import { Draft } from './Draft';
import { IGNORED_SECTION_KEYS } from '../parse/ignoredKeys';
import type { Hidden } from '../parse/Filled';
import type { NameMapper } from '../NameMapper';
import { SECTIONS, type SectionName, type SectionValues } from '../parse/schema';
import type {
  ClusterServersConfig,
  MasterSlaveServersConfig,
  ReplicatedServersConfig,
  SentinelServersConfig,
  SingleServerConfig,
} from './serverConfigs';
import type { ShardedSubscriptionMode, TlsSettings, TlsVersion } from '../Settings';
import type { NatMapper } from '../Topology';

/**
 * The one class behind the builders of all ways to find the servers. Callers see only the interface of their way; the
 * schema of the section refuses settings that do not belong there.
 */
export class SectionBuilder
  implements
    SingleServerConfig,
    SentinelServersConfig,
    ClusterServersConfig,
    MasterSlaveServersConfig,
    ReplicatedServersConfig
{
  /** The section this builds. */
  readonly section: SectionName;
  readonly #draft: Draft<(typeof SECTIONS)[SectionName]>;
  readonly #lists = new Map<string, unknown[]>();

  /** @param section - the section to build */
  constructor(section: SectionName) {
    this.section = section;
    this.#draft = new Draft(SECTIONS[section], IGNORED_SECTION_KEYS, section);
  }

  /** The checked values. */
  get values(): SectionValues {
    return this.#draft.values;
  }

  /** The settings given that have no effect here. */
  get ignoredKeys(): readonly string[] {
    return this.#draft.ignoredKeys;
  }

  /**
   * Sets a setting by its name, as from a file.
   *
   * @param key - its name
   * @param value - its value
   * @param hidden - which values errors must not show
   * @throws ConfigError if there is no such setting or the value does not fit
   */
  set(key: string, value: unknown, hidden?: Hidden): this {
    this.#draft.set(key, value, hidden);
    if (Array.isArray(value)) this.#lists.set(key, [...(value as unknown[])]);
    return this;
  }

  #add(key: string, more: readonly unknown[]): this {
    return this.set(key, [...(this.#lists.get(key) ?? []), ...more]);
  }

  setAddress(address: string | URL): this {
    return this.set('address', address);
  }

  setMasterName(masterName: string): this {
    return this.set('masterName', masterName);
  }

  addSentinelAddress(...addresses: readonly (string | URL)[]): this {
    return this.#add('sentinelAddresses', addresses);
  }

  setSentinelUsername(username: string | null | undefined): this {
    return this.set('sentinelUsername', username);
  }

  setSentinelPassword(password: string | null | undefined): this {
    return this.set('sentinelPassword', password);
  }

  addNodeAddress(...addresses: readonly (string | URL)[]): this {
    return this.#add('nodeAddresses', addresses);
  }

  setScanInterval(scanInterval: number): this {
    return this.set('scanInterval', scanInterval);
  }

  setNatMapper(natMapper: NatMapper): this {
    return this.set('natMapper', natMapper);
  }

  setShardedSubscriptionMode(mode: ShardedSubscriptionMode): this {
    return this.set('shardedSubscriptionMode', mode);
  }

  setMasterAddress(address: string | URL): this {
    return this.set('masterAddress', address);
  }

  addSlaveAddress(...addresses: readonly (string | URL)[]): this {
    return this.#add('slaveAddresses', addresses);
  }

  setTimeout(timeout: number): this {
    return this.set('timeout', timeout);
  }

  setConnectTimeout(connectTimeout: number): this {
    return this.set('connectTimeout', connectTimeout);
  }

  setRetryAttempts(retryAttempts: number): this {
    return this.set('retryAttempts', retryAttempts);
  }

  setSubscriptionTimeout(subscriptionTimeout: number): this {
    return this.set('subscriptionTimeout', subscriptionTimeout);
  }

  setUsername(username: string | null | undefined): this {
    return this.set('username', username);
  }

  setPassword(password: string | null | undefined): this {
    return this.set('password', password);
  }

  setCredentials(credentials: Credentials | null | undefined): this {
    return this.set('credentials', credentials);
  }

  setClientName(clientName: string | null | undefined): this {
    return this.set('clientName', clientName);
  }

  setDatabase(database: number): this {
    return this.set('database', database);
  }

  setNameMapper(nameMapper: NameMapper): this {
    return this.set('nameMapper', nameMapper);
  }

  setSslVerificationMode(mode: TlsSettings['verification']): this {
    return this.set('sslVerificationMode', mode);
  }

  setSslEnableEndpointIdentification(enable: boolean): this {
    return this.set('sslEnableEndpointIdentification', enable);
  }

  setSslTruststore(path: string | URL): this {
    return this.set('sslTruststore', path);
  }

  setSslTruststorePassword(password: string | null | undefined): this {
    return this.set('sslTruststorePassword', password);
  }

  setSslKeystore(path: string | URL): this {
    return this.set('sslKeystore', path);
  }

  setSslKeystorePassword(password: string | null | undefined): this {
    return this.set('sslKeystorePassword', password);
  }

  setSslProtocols(protocols: readonly TlsVersion[]): this {
    return this.set('sslProtocols', protocols);
  }

  setSslCiphers(ciphers: readonly string[]): this {
    return this.set('sslCiphers', ciphers);
  }
}
