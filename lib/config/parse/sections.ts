import { DEFAULT_PORT, DEFAULT_SENTINEL_PORT } from './address';
import {
  address,
  COMMON,
  connection,
  database,
  hasMethods,
  javaObject,
  list,
  millis,
  optionalText,
  type Parser,
  type Schema,
  secret,
  text,
  type TextForm,
  parser,
  type Values,
} from './schema';
import { ConfigError } from '../../errors/usageErrors';
import type { NatMapper, NodeAddress } from '../Topology';
import { type Hidden, say } from './Filled';

/**
 * Parses a NAT mapper: an object with `map`, or, from a file, one of Redisson's two classes with their tables.
 */
const natMapper: Parser<NatMapper> = parser('other', (value, key, hidden) => {
  if (hasMethods(value, 'map')) return value as NatMapper;
  const java = javaObject(value);
  if (java === undefined)
    throw new ConfigError(`${key} must be an object with the function map, got ${say(value, hidden)}`);
  if (java.simpleName === 'DefaultNatMapper') return { map: (address) => address };
  if (java.simpleName === 'HostNatMapper') {
    const hosts = table(java.properties['hostsMap'], `${key}.hostsMap`, hidden);
    return { map: ({ host, port }) => ({ host: hosts.get(host) ?? host, port }) };
  }
  if (java.simpleName === 'HostPortNatMapper') {
    return hostPortNatMapper(table(java.properties['hostsPortMap'], `${key}.hostsPortMap`, hidden), key, hidden);
  }
  throw new ConfigError(
    `${key} ${say(java.className, hidden)} is a Java class and cannot be loaded here; set it in code: setNatMapper({ map }).`,
  );
});

function hostPortNatMapper(entries: ReadonlyMap<string, string>, key: string, hidden: Hidden | undefined): NatMapper {
  const targets = new Map<string, NodeAddress>();
  for (const [from, to] of entries) {
    const [, host, port] = /^\[?(.+?)\]?:(\d+)$/.exec(to) ?? [];
    if (host === undefined) throw new ConfigError(`${key} must be host:port, got ${say(to, hidden)}`);
    targets.set(from, Object.freeze({ host, port: Number(port) }));
  }
  return { map: (address) => targets.get(`${address.host}:${address.port}`) ?? address };
}

function table(value: unknown, key: string, hidden: Hidden | undefined): ReadonlyMap<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigError(`${key} must be a table of addresses, got ${say(value, hidden)}`);
  }
  return new Map(Object.entries(value).map(([from, to]) => [from, String(to)]));
}

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
