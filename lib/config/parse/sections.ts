import { DEFAULT_PORT, DEFAULT_SENTINEL_PORT } from './address';
import {
  connection,
  database,
  address,
  text,
  list,
  optionalText,
  secret,
  natMapper,
  nodes,
  millis,
  COMMON,
  type Schema,
  type TextForm,
  type Values,
} from './schema';

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

/** The name of a section of a file. */
export type SectionName = keyof typeof SECTIONS;

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
