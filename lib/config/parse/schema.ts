import { DEFAULT_PORT, DEFAULT_SENTINEL_PORT } from './address';
import { credentials, credentialsResolver, logger, nameMapper, natMapper } from './mappers';
import {
  address,
  choice,
  connectionName,
  file,
  flag,
  integer,
  list,
  millis,
  optionalText,
  type Parser,
  secret,
  text,
  type TextForm,
  toggle,
  watchdogThread,
} from './parsers';

/** Settings of one connection, for every way to find the servers. */
const connection = {
  timeout: millis(1),
  connectTimeout: millis(1),
  retryAttempts: integer(0),
  subscriptionTimeout: millis(1),
  username: optionalText,
  password: secret,
  credentials,
  credentialsResolver,
  clientName: connectionName,
  nameMapper,
  shardedSubscriptionMode: choice('AUTO', 'ON', 'OFF'),
  sslVerificationMode: choice('STRICT', 'CA_ONLY', 'NONE'),
  // The older name; Redisson reads false as NONE.
  sslEnableEndpointIdentification: flag,
  sslTruststore: file,
  sslTruststorePassword: secret,
  sslKeystore: file,
  sslKeystorePassword: secret,
  sslProtocols: list(choice('TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3')),
  sslCiphers: list(text),
} as const;

const database = integer(0);

/**
 * The common settings: of `Config`, of the top level of a file, and of the options of `Redisson.create`.
 */
export const COMMON = {
  ...connection,
  database,
  // A third of it is the renewal period, which must be at least 1 ms.
  lockWatchdogTimeout: millis(3),
  lockWatchdogBatchSize: integer(1),
  fairLockWaitTimeout: millis(1),
  checkLockSyncedSlaves: flag,
  // For Redis' WAIT, 0 means "for ever".
  slavesSyncTimeout: millis(1),
  maxRenewTimes: integer(0),
  watchdogThread,
  trackHolds: flag,
  strictThreads: flag,
  maxHandOvers: integer(0),
  localHandOver: flag,
  introspection: toggle('callSites', flag, false, '<boolean>'),
  logger,
} as const;

const nodes = list(address(DEFAULT_PORT));

/** The settings of each way to find the servers, by the name of their section in a file. */
export const SECTIONS = {
  singleServerConfig: { ...connection, database, address: address(DEFAULT_PORT) },
  sentinelServersConfig: {
    ...connection,
    database,
    masterName: text,
    sentinelAddresses: list(address(DEFAULT_SENTINEL_PORT)),
    sentinelUsername: optionalText,
    sentinelPassword: secret,
    natMapper,
  },
  clusterServersConfig: { ...connection, database, nodeAddresses: nodes, scanInterval: millis(1), natMapper },
  masterSlaveServersConfig: {
    ...connection,
    database,
    masterAddress: address(DEFAULT_PORT),
    slaveAddresses: list(address(DEFAULT_PORT), 0),
  },
  replicatedServersConfig: { ...connection, database, nodeAddresses: nodes, scanInterval: millis(1) },
} as const;

/** A table of parsers by the name of the setting. */
export type Schema = Readonly<Record<string, Parser<unknown>>>;

/** The checked values of a schema; absent ones get their defaults later. */
export type Values<S extends Schema> = { readonly [K in keyof S]?: ReturnType<S[K]['parse']> };

/** The name of a section of a file. */
export type SectionName = keyof typeof SECTIONS;

/** The checked values of the common settings. */
export type CommonValues = Values<typeof COMMON>;

/** The checked values of a section. */
export type SectionValues<N extends SectionName = SectionName> = Values<(typeof SECTIONS)[N]>;

/** @param name - any word @returns whether it is the name of a section */
export function isSectionName(name: string): name is SectionName {
  return Object.hasOwn(SECTIONS, name);
}

const FORMS: ReadonlyMap<string, TextForm> = new Map([
  ...[COMMON, ...Object.values(SECTIONS)].flatMap((schema: Schema) =>
    Object.entries(schema).map(([key, parser]) => [key, parser.form] as const),
  ),
  // Of `watchdogThread`.
  ['maxStall', 'integer'],
  // Of `introspection`.
  ['callSites', 'boolean'],
]);

/** @param key - the name of a setting @returns how to read its text in a file; `undefined` for ignored ones */
export function formOf(key: string): TextForm | undefined {
  return FORMS.get(key);
}
