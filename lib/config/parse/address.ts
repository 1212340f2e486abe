import { ConfigError } from '../../errors/usageErrors';
import { type Hidden, say } from './Filled';
import { Secret } from '../Secret';
import type { NodeAddress } from '../Topology';

/** What an address of Redis can say, `redis://user:password@host:port/database`. */
export interface ParsedAddress {
  readonly address: NodeAddress;
  /** Whether to encrypt: `rediss://`, `valkeys://`. */
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: Secret | undefined;
  readonly database: number | undefined;
}

const SCHEMES: ReadonlyMap<string, { readonly tls: boolean }> = new Map([
  ['redis:', { tls: false }],
  ['valkey:', { tls: false }],
  ['rediss:', { tls: true }],
  ['valkeys:', { tls: true }],
]);

/** The port where an address names none. */
export const DEFAULT_PORT = 6379;
/** The port where the address of a sentinel names none. */
export const DEFAULT_SENTINEL_PORT = 26379;

/** What is surely no more than a host, a port and a database, after a scheme. */
const HARMLESS = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?(\/\d{0,9})?$/i;
/** The same without a scheme: a lone word may be a password. */
const HOST_AND_PORT = /^([\w.-]+|\[[\da-f:.]+\]):\d{1,5}(\/\d{0,9})?$/i;
/** Parameters that other libraries read in an address. No other is named: it may be a part of a password. */
const KNOWN_PARAMETERS = new Set([
  ...['db', 'database', 'family', 'username', 'password', 'timeout', 'connectTimeout', 'commandTimeout', 'clientName'],
  ...['keyPrefix', 'tls', 'ssl', 'protocol'],
]);

/**
 * An address as it may stand in a message: without user, password and query, and nothing at all of one that is broken
 * in a way that leaves unclear which part is the password.
 *
 * @param text - an address, possibly a broken one
 */
export function redactAddress(text: string): string {
  const [, scheme = '', at = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)?(.*@)?(.*)$/is.exec(text) ?? [];
  const bare = rest.replace(/[?#].*$/s, '');
  return `${scheme}${at === '' ? '' : '***@'}${(scheme === '' ? HOST_AND_PORT : HARMLESS).test(bare) ? bare : '***'}`;
}

/** The text of an address, given as text or as a URL object. */
function textOf(value: unknown): unknown {
  return Object.prototype.toString.call(value) === '[object URL]' ? String(value) : value;
}

/**
 * Reads `redis://`, `rediss://`, `valkey://` and `valkeys://` addresses.
 *
 * A lone word before the `@` is the password, as for redis-cli and Redisson; a user and a password are
 * `user:password@`. Both must be percent-encoded where they hold one of `/ ? # @ %`.
 *
 * @param value - the address, as text or as a `URL` object
 * @param key - the name of the setting, for the error
 * @param defaultPort - the port where the address names none
 * @param hidden - what the error shall not show
 * @throws ConfigError when it is no such address; never shows user and password
 * Source: `org.redisson.misc.RedisURI`.
 */
export function parseAddress(
  value: unknown,
  key: string,
  defaultPort: number = DEFAULT_PORT,
  hidden?: Hidden,
): ParsedAddress {
  const given = textOf(value);
  if (typeof given !== 'string' || given.trim() === '') {
    throw new ConfigError(`${key} must be an address like redis://host:6379, got ${say(given, hidden)}`);
  }
  const text = given.trim();
  const fail = (why: string): ConfigError =>
    new ConfigError(`${key} ${hidden?.(given) ?? `'${redactAddress(text)}'`}: ${why}`);

  const scheme = /^([a-z][a-z0-9+.-]*:)\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme?.endsWith('+uds:') === true || scheme === 'unix:') throw fail('Unix sockets are not supported');
  const known = SCHEMES.get(scheme ?? '');
  if (known === undefined) {
    throw fail('an address starts with redis:// or valkey://, or, for TLS, with rediss:// or valkeys://');
  }
  let url: URL;
  try {
    url = new URL(bracketIPv6(text));
  } catch {
    throw fail(
      'not a valid address: the port is a number up to 65535, special characters in a password are percent-encoded',
    );
  }
  if (url.hostname === '') throw fail('the host is missing');
  // It may be all of `user:password@host`.
  if (url.hostname.includes('%')) throw fail('the host is percent-encoded; encode only the user and the password');
  if (url.port === '0') throw fail('port 0 cannot be connected to');
  if (url.search !== '' || url.hash !== '') {
    // What is no known parameter may be the end of a password that is not percent-encoded.
    const names = [...url.searchParams.keys()].filter((name) => KNOWN_PARAMETERS.has(name)).join(', ');
    throw fail(`parameters in an address are not supported${names === '' ? '' : ` (${names})`}; use settings`);
  }
  const credentials = readCredentials(url);
  if (credentials === undefined) throw fail('user and password are not properly percent-encoded');
  const path = url.pathname.replace(/^\//, '');
  if (!/^\d{0,9}$/.test(path)) throw fail('what follows the port must be the number of a database');
  return Object.freeze({
    address: Object.freeze({
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? defaultPort : Number(url.port),
    }),
    tls: known.tls,
    ...credentials,
    database: path === '' ? undefined : Number(path),
  });
}

/** Redisson takes `redis://::1:6379`; URLs want `redis://[::1]:6379`. */
function bracketIPv6(text: string): string {
  return text.replace(/^([^/]*\/\/(?:[^/]*@)?)([0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*):(\d+)(?=\/|$)/i, '$1[$2]:$3');
}

function readCredentials(url: URL): Pick<ParsedAddress, 'username' | 'password'> | undefined {
  try {
    const first = decodeURIComponent(url.username);
    const second = decodeURIComponent(url.password);
    if (second !== '') return { username: first === '' ? undefined : first, password: new Secret(second) };
    return { username: undefined, password: first === '' ? undefined : new Secret(first) };
  } catch {
    return undefined;
  }
}
