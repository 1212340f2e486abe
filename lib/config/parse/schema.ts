import { suggestion } from '../../util/describe';
import { ConfigError } from '../../errors/usageErrors';
import { MAX_TIMER_MS } from '../../util/duration';
import { parseAddress, type ParsedAddress } from './address';
import type { Credentials } from '../Credentials';
import { type Hidden, say } from './Filled';
import { IDENTITY_NAME_MAPPER, type NameMapper, PrefixNameMapper } from '../NameMapper';
import { Secret } from '../Secret';
import type { Logger } from '../Settings';

/** How a text in a file is converted to the value of a setting; values given in code are not converted. */
export type TextForm = 'integer' | 'boolean' | 'text' | 'list' | 'other';

/** Checks the value of one setting. */
export interface Parser<T> {
  /** How to read it from the text of a YAML or JSON file. */
  readonly form: TextForm;
  /**
   * @param value - as given by the user
   * @param key - the name of the setting, for the error
   * @param hidden - which values the error must not show
   * @returns the checked value
   * @throws ConfigError that names the setting and, unless it is a secret, the value
   */
  parse(value: unknown, key: string, hidden?: Hidden): T;
}

export function parser<T>(form: TextForm, parse: Parser<T>['parse']): Parser<T> {
  return { form, parse };
}

/**
 * @param wanted - what a value must be, for the error
 * @param fits - whether it is
 * @returns a parser that takes values as they are
 */
function plain<T>(form: TextForm, wanted: string, fits: (value: unknown) => value is T): Parser<T> {
  return parser(form, (value, key, hidden) => {
    if (fits(value)) return value;
    throw new ConfigError(`${key} must be ${wanted}, got ${say(value, hidden)}`);
  });
}

/**
 * @param min - the least value
 * @param max - the greatest value
 * @param unit - a text for the error, e.g. ` of milliseconds`
 * @returns a parser of whole numbers
 */
export function integer(min: number, max: number = MAX_TIMER_MS, unit = ''): Parser<number> {
  const fits = (value: unknown): value is number =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
  return plain('integer', `a whole number${unit} from ${min} to ${max}`, fits);
}

/**
 * @param min - the least number of milliseconds
 * @returns a parser of times that a Node timer accepts
 */
export function millis(min: number): Parser<number> {
  return integer(min, MAX_TIMER_MS, ' of milliseconds');
}

/** Parses `true` and `false`. */
export const flag = plain('boolean', 'true or false', (value) => typeof value === 'boolean');

/**
 * @param name - of the one setting that the object may have
 * @param each - parses that setting
 * @param usual - its value unless it is given
 * @param example - a text for the error
 * @returns a parser of `false`, `true`, and an object with that setting
 */
function toggle<const K extends string, T>(
  name: K,
  each: Parser<T>,
  usual: T,
  example: string,
): Parser<false | Readonly<Record<K, T>>> {
  const on = (value: T): Readonly<Record<K, T>> => Object.freeze({ [name]: value } as Record<K, T>);
  return parser('boolean', (value, key, hidden) => {
    if (typeof value === 'boolean') return value && on(usual);
    // No list, Date, Map or boxed boolean, which have no such setting.
    if (Object.prototype.toString.call(value) !== '[object Object]') {
      throw new ConfigError(`${key} must be true, false or { ${name}: ${example} }, got ${say(value, hidden)}`);
    }
    const other = Object.keys(value as object).find((one) => one !== name);
    if (other !== undefined) {
      const hint = suggestion(other, [name], `; there is '${key}.${name}'`, `${key}.`);
      throw new ConfigError(`Unknown setting '${key}.${other}'${hint}`);
    }
    const given = (value as Readonly<Record<string, unknown>>)[name] ?? undefined;
    return on(given === undefined ? usual : each.parse(given, `${key}.${name}`, hidden));
  });
}

/** Parses text that is not empty. */
export const text = plain(
  'text',
  'a non-empty string',
  (value): value is string => typeof value === 'string' && value !== '',
);

/** Parses text; empty text means "not given", as an unset variable in a file results in. */
export const optionalText: Parser<string | undefined> = parser('text', (value, key, hidden) => {
  if (typeof value === 'string') return value === '' ? undefined : value;
  throw new ConfigError(`${key} must be a string, got ${say(value, hidden)}`);
});

/** Parses the name of a connection; Redis refuses other names, and ioredis would not report that. */
const connectionName: Parser<string | undefined> = parser('text', (value, key, hidden) => {
  const name = optionalText.parse(value, key, hidden);
  if (name === undefined || /^[!-~]+$/.test(name)) return name;
  throw new ConfigError(`${key} ${say(name, hidden)} cannot be used: Redis allows no spaces and only ASCII in it`);
});

/** Parses text that must not be shown. Empty text means "no password". */
export const secret: Parser<Secret | undefined> = parser('text', (value, key) => {
  const text = optionalText.parse(value, key, () => (typeof value === 'object' ? undefined : `a ${typeof value}`));
  return text === undefined ? undefined : new Secret(text);
});

/**
 * @param choices - the allowed words
 * @returns a parser of one of them
 */
function choice<const T extends string>(...choices: readonly T[]): Parser<T> {
  return parser('text', (value, key, hidden) => {
    const found = choices.find((one) => one === value);
    if (found !== undefined) return found;
    throw new ConfigError(`${key} must be one of ${choices.join(', ')}, got ${say(value, hidden)}`);
  });
}

/** Parses the path of a file, or a `file:` URL as in Redisson. */
const file: Parser<string> = parser('text', (value, key, hidden) => {
  const path = value instanceof URL ? value.href : value;
  if (typeof path !== 'string' || path === '') {
    throw new ConfigError(`${key} must be the path of a file, got ${say(value, hidden)}`);
  }
  if (/^[a-z][a-z0-9+.-]+:/i.test(path) && !path.toLowerCase().startsWith('file:')) {
    throw new ConfigError(`${key} must be a local file, got ${say(path, hidden)}`);
  }
  return path;
});

/**
 * @param each - parses one element
 * @param min - the least number of elements
 * @returns a parser of arrays
 */
export function list<T>(each: Parser<T>, min = 1): Parser<readonly T[]> {
  return parser('list', (value, key, hidden) => {
    if (!Array.isArray(value) || value.length < min) {
      throw new ConfigError(
        `${key} must be a list${min > 0 ? ` of at least ${min}` : ''}, got ${listed(value, hidden)}`,
      );
    }
    return Object.freeze(value.map((one: unknown) => each.parse(one, key, hidden)));
  });
}

/**
 * @param defaultPort - the port if the address has none
 * @returns a parser of addresses
 */
export function address(defaultPort: number): Parser<ParsedAddress> {
  return parser('text', (value, key, hidden) => parseAddress(value, key, defaultPort, hidden));
}

/** Describes what was given instead of a list. A text is not shown: it may be an address with a password. */
function listed(value: unknown, hidden: Hidden | undefined): string {
  return typeof value === 'string' ? (hidden?.(value) ?? 'a string') : say(value, hidden);
}

/** Parses the setting that `lock()` also takes as an option. */
export const watchdogThread = toggle('maxStall', millis(1), 60_000, '<ms>');

/**
 * Parses a name mapper: an object with `map` and `unmap`, or, from a file, one of the Java classes with an equivalent
 * here.
 */
const nameMapper: Parser<NameMapper> = parser('other', (value, key, hidden) => {
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
});

/** Parses the source of user and password. */
const credentials: Parser<Secret<Credentials>> = parser('other', (value, key) => {
  if (typeof value === 'function' || hasMethods(value, 'subscribe')) return new Secret(value as Credentials);
  throw new ConfigError(
    `${key} must be a function that returns { username, password, expiresIn }, or an object with the function ` +
      'subscribe (a StreamingCredentialsProvider); neither can be in a file: set it in code, config.setCredentials(...)',
  );
});

/**
 * Redisson's name for `credentials`, in a file: without it every server refuses the connection, so it is never
 * ignored.
 */
const credentialsResolver: Parser<undefined> = parser('other', (value, key) => {
  // The value that Redisson writes when no resolver is set.
  if (javaObject(value)?.simpleName === 'DefaultCredentialsResolver') return undefined;
  throw new ConfigError(
    `${key} is a Java class and cannot be loaded here. Give the same as 'credentials', in code: ` +
      'config.setCredentials(({ host, port, role }) => ({ username, password, expiresIn }))',
  );
});

/** Parses a logger: an object with the four functions of pino, or of the console. */
const logger = plain('other', 'an object with debug, info, warn and error', (value): value is Logger =>
  hasMethods(value, 'debug', 'info', 'warn', 'error'),
);

interface JavaObject {
  readonly className: string;
  /** Without the package name, which changed in Redisson 4. */
  readonly simpleName: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** `!<org.redisson.X> {a: 1}` of YAML and `{"class": "org.redisson.X", "a": 1}` of JSON, after reading the file. */
export function javaObject(value: unknown): JavaObject | undefined {
  if (typeof value !== 'object' || value === null || !('class' in value)) return undefined;
  const className = value.class;
  if (typeof className !== 'string') return undefined;
  return {
    className,
    simpleName: className.slice(className.lastIndexOf('.') + 1),
    properties: value,
  };
}

export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
}

/** Settings of one connection, for every way to find the servers. */
export const connection = {
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

export const database = integer(0);

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

/** A table of parsers by the name of the setting. */
export type Schema = Readonly<Record<string, Parser<unknown>>>;

/** The checked values of a schema; absent ones get their defaults later. */
export type Values<S extends Schema> = { readonly [K in keyof S]?: ReturnType<S[K]['parse']> };

/** The checked values of the common settings. */
export type CommonValues = Values<typeof COMMON>;
