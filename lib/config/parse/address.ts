import { ConfigError } from '../../errors/usageErrors';
import { type Hidden, say } from './Filled';
import { Secret } from '../Secret';
import type { NodeAddress } from '../Topology';

/** The parts of an address of Redis, `redis://user:password@host:port/database`. */
export interface ParsedAddress {
  readonly address: NodeAddress;
  /** Whether to encrypt: `rediss://`, `valkeys://`. */
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: Secret | undefined;
  readonly database: number | undefined;
}

/** The schemes of an address; with an `s` at the end it is encrypted. */
const SCHEME = /^(?:redis|valkey)(s?):$/;

/** The port of an address without one. */
export const DEFAULT_PORT = 6379;
/** The port of a sentinel's address without one. */
export const DEFAULT_SENTINEL_PORT = 26379;

/** Matches a text after a scheme that is certainly only a host, a port and a database. */
const HARMLESS = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?(\/\d{0,9})?$/i;
/** The same without a scheme; the port is required, since a single word may be a password. */
const HOST_AND_PORT = /^([\w.-]+|\[[\da-f:.]+\]):\d{1,5}(\/\d{0,9})?$/i;
/** Parameters that other libraries read in an address. Errors name no others: those may be a part of a password. */
const KNOWN_PARAMETERS = new Set([
  ...['db', 'database', 'family', 'username', 'password', 'timeout', 'connectTimeout', 'commandTimeout', 'clientName'],
  ...['keyPrefix', 'tls', 'ssl', 'protocol'],
]);

/**
 * An address for a message: without user, password and query. If it is broken, so that the password cannot be
 * recognised, nothing of it is shown.
 *
 * @param text - an address, possibly a broken one
 */
export function redactAddress(text: string): string {
  const [, scheme = '', at = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)?(.*@)?(.*)$/is.exec(text) ?? [];
  const bare = rest.replace(/[?#].*$/s, '');
  return `${scheme}${at === '' ? '' : '***@'}${(scheme === '' ? HOST_AND_PORT : HARMLESS).test(bare) ? bare : '***'}`;
}

/** Whether it is a URL object, of any realm. */
export function isUrl(value: unknown): value is URL {
  return Object.prototype.toString.call(value) === '[object URL]';
}

/**
 * Reads `redis://`, `rediss://`, `valkey://` and `valkeys://` addresses.
 *
 * A single word before the `@` is the password, as for redis-cli and Redisson; a user and a password are
 * `user:password@`. Both must be percent-encoded if they contain one of `/ ? # @ %`.
 *
 * @param value - the address, as text or as a `URL` object
 * @param key - the name of the setting, for the error
 * @param defaultPort - the port if the address has none
 * @param hidden - which values the error must not show
 * @throws ConfigError if it is not such an address; never shows user and password
 * Source: `org.redisson.misc.RedisURI`.
 */
export function parseAddress(
  value: unknown,
  key: string,
  defaultPort: number = DEFAULT_PORT,
  hidden?: Hidden,
): ParsedAddress {
  const given = isUrl(value) ? String(value) : value;
  if (typeof given !== 'string' || given.trim() === '') {
    throw new ConfigError(`${key} must be an address like redis://host:6379, got ${say(given, hidden)}`);
  }
  const text = given.trim();
  const fail = (why: string): ConfigError =>
    new ConfigError(`${key} ${hidden?.(given) ?? `'${redactAddress(text)}'`}: ${why}`);

  const scheme = /^([a-z][a-z0-9+.-]*:)\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme?.endsWith('+uds:') === true || scheme === 'unix:') throw fail('Unix sockets are not supported');
  const known = SCHEME.exec(scheme ?? '');
  if (known === null) {
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
  // The host may be all of `user:password@host`.
  if (url.hostname.includes('%')) throw fail('the host is percent-encoded; encode only the user and the password');
  if (url.port === '0') throw fail('port 0 cannot be connected to');
  if (url.search !== '' || url.hash !== '') {
    // An unknown parameter may be the end of a password that is not percent-encoded.
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
    tls: known[1] === 's',
    ...credentials,
    database: path === '' ? undefined : Number(path),
  });
}

/** Redisson accepts `redis://::1:6379`; URLs need `redis://[::1]:6379`. */
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
