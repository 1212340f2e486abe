import { ConfigError } from '../../errors/usageErrors';
import type { Credentials } from '../Credentials';
import { type Hidden, say } from './Filled';
import type { Logger } from '../Settings';
import { IDENTITY_NAME_MAPPER, type NameMapper, PrefixNameMapper } from '../NameMapper';
import { type Parser, plain } from './parsers';
import { Secret } from '../Secret';
import type { NatMapper, NodeAddress } from '../Topology';

/**
 * Parses a name mapper: an object with `map` and `unmap`, or, from a file, one of the Java classes with an equivalent
 * here.
 */
export const nameMapper: Parser<NameMapper> = {
  form: 'other',
  parse(value, key, hidden) {
    if (hasMethods(value, 'map', 'unmap')) return value as NameMapper;
    const java = javaObject(value);
    if (java === undefined) {
      throw new ConfigError(`${key} must be an object with the functions map and unmap, got ${say(value, hidden)}`);
    }
    if (java.simpleName === 'DefaultNameMapper') return IDENTITY_NAME_MAPPER;
    if (java.simpleName === 'PrefixNameMapper') {
      const { prefix } = java.properties;
      return prefix === undefined || prefix === '' ? IDENTITY_NAME_MAPPER : new PrefixNameMapper(prefix as string);
    }
    throw new ConfigError(
      `${key} ${say(java.className, hidden)} is a Java class and cannot be loaded here. ` +
        `Write the same mapping in JavaScript and set it in code: config.setNameMapper({ map, unmap }).`,
    );
  },
};

/** Parses what is asked for user and password. */
export const credentials: Parser<Secret<Credentials>> = {
  form: 'other',
  parse(value, key) {
    if (typeof value === 'function' || hasMethods(value, 'subscribe')) return new Secret(value as Credentials);
    throw new ConfigError(
      `${key} must be a function that returns { username, password, expiresIn }, or an object with the function ` +
        'subscribe (a StreamingCredentialsProvider); neither can be in a file: set it in code, config.setCredentials(...)',
    );
  },
};

/** Redisson's name for `credentials`, in a file: without it no server lets us in, so it is never ignored. */
export const credentialsResolver: Parser<undefined> = {
  form: 'other',
  parse(value, key) {
    // What Redisson writes where there is none.
    if (javaObject(value)?.simpleName === 'DefaultCredentialsResolver') return undefined;
    throw new ConfigError(
      `${key} is a Java class and cannot be loaded here. Give the same as 'credentials', in code: ` +
        'config.setCredentials(({ host, port, role }) => ({ username, password, expiresIn }))',
    );
  },
};

/** Parses a logger: an object with the four functions of pino, or of the console. */
export const logger = plain('other', 'an object with debug, info, warn and error', (value): value is Logger =>
  hasMethods(value, 'debug', 'info', 'warn', 'error'),
);

/**
 * Parses a NAT mapper: an object with `map`, or, from a file, one of Redisson's two classes with their tables.
 */
export const natMapper: Parser<NatMapper> = {
  form: 'other',
  parse(value, key, hidden) {
    if (hasMethods(value, 'map')) return value as NatMapper;
    const java = javaObject(value);
    if (java === undefined)
      throw new ConfigError(`${key} must be an object with the function map, got ${say(value, hidden)}`);
    if (java.simpleName === 'DefaultNatMapper') return { map: (address) => address };
    if (java.simpleName === 'HostNatMapper')
      return hostNatMapper(table(java.properties['hostsMap'], `${key}.hostsMap`, hidden));
    if (java.simpleName === 'HostPortNatMapper') {
      return hostPortNatMapper(table(java.properties['hostsPortMap'], `${key}.hostsPortMap`, hidden), key, hidden);
    }
    throw new ConfigError(
      `${key} ${say(java.className, hidden)} is a Java class and cannot be loaded here; set it in code: setNatMapper({ map }).`,
    );
  },
};

function hostNatMapper(hosts: ReadonlyMap<string, string>): NatMapper {
  return { map: ({ host, port }) => ({ host: hosts.get(host) ?? host, port }) };
}

function hostPortNatMapper(entries: ReadonlyMap<string, string>, key: string, hidden: Hidden | undefined): NatMapper {
  const targets = new Map<string, NodeAddress>();
  for (const [from, to] of entries) {
    const [, host, port] = /^\[?(.+?)\]?:(\d+)$/.exec(to) ?? [];
    if (host === undefined) throw new ConfigError(`${key}: ${say(to, hidden)} must be host:port`);
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

interface JavaObject {
  readonly className: string;
  /** Without the package name, which changed in Redisson 4. */
  readonly simpleName: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** `!<org.redisson.X> {a: 1}` of YAML and `{"class": "org.redisson.X", "a": 1}` of JSON, after reading the file. */
function javaObject(value: unknown): JavaObject | undefined {
  if (typeof value !== 'object' || value === null || !('class' in value)) return undefined;
  const className = value.class;
  if (typeof className !== 'string') return undefined;
  return {
    className,
    simpleName: className.slice(className.lastIndexOf('.') + 1),
    properties: value,
  };
}

function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}
