import type { IncomingMessage } from 'node:http';
import type { RedissonClient } from '../../api';
import { ConfigError } from '../../errors';

/** A change that somebody made from a page. */
export interface AuditEntry {
  readonly action: 'forceUnlock';
  /** Of the lock, as given to `getLock`. */
  readonly name: string;
  /** What it was: `lock`, `fair`, `fenced` or `readWrite`. */
  readonly kind: string;
  /**
   * Whom it was taken from, as on the wire: `<client id>:<thread id>`; with {@link error}, those whom it was to be taken
   * from.
   */
  readonly holders: readonly string[];
  /** Whether there was something to release; `undefined` where that is not known (`error`). */
  readonly released?: boolean;
  /** Why it failed: it may or may not have been released. */
  readonly error?: string;
  /** Who it was, as `identify` tells. */
  readonly by?: string;
  /** The address that the request came from: behind a proxy the proxy's. */
  readonly remoteAddress?: string;
  readonly at: Date;
}

/** Options of `createDashboard`. */
export interface DashboardOptions {
  /** The client whose Redis is looked at. Its connections are used; locks are released by it. */
  readonly redisson: RedissonClient;
  /**
   * Where the dashboard is, e.g. `/locks`. A framework that is told the path itself (`app.use('/locks', dashboard)`) needs
   * none.
   * @default '/'
   */
  readonly basePath?: string;
  /** `false`: locks can be released from the page, whoever holds them. @default true */
  readonly readOnly?: boolean;
  /** What the page calls this Redis, in its header: `production`, `staging`. @default nothing */
  readonly label?: string;
  /**
   * The colour of the label, so that two pages do not look alike.
   * @default by what the label says: red for production, amber for staging, green for development; else grey
   */
  readonly color?: 'red' | 'amber' | 'green' | 'blue' | 'purple';
  /**
   * The names under which this page is known (`locks.example`, `locks.example:8443`): only there it releases locks. A page
   * of another site whose name was made to lead here (DNS rebinding) has none of them.
   * @default addresses, `localhost`, and the name of this machine
   */
  readonly hosts?: readonly string[];
  /**
   * Asked before each request: page, API and events. Only `true` lets it in. `false` is answered with 403; an error, with
   * 500. An open page is asked again every ten minutes.
   * @default everybody is let in
   */
  readonly authorize?: (req: IncomingMessage) => boolean | Promise<boolean>;
  /** Told of each change after it, also of one that failed. What it throws is in the answer and goes to the logger. */
  readonly audit?: (entry: AuditEntry) => void | Promise<void>;
  /** Tells who makes a change, for `audit` and the events of the lock. */
  readonly identify?: (req: IncomingMessage) => string | undefined;
  /**
   * What tokens are signed with. Processes behind one address need the same, so that one takes the token of another.
   * @default random
   */
  readonly secret?: string;
  /** How many pages may be open at a time; more are answered with 503. @default 2000 */
  readonly maxStreams?: number;
  /** Watch also while no page is open, so that it is known how long locks have been held. @default false */
  readonly watchAlways?: boolean;
}

const KNOWN: readonly (keyof DashboardOptions)[] = [
  'redisson',
  'basePath',
  'readOnly',
  'label',
  'color',
  'hosts',
  'authorize',
  'audit',
  'identify',
  'secret',
  'maxStreams',
  'watchAlways',
];

const MAX_LABEL = 40;
const COLORS: readonly unknown[] = ['red', 'amber', 'green', 'blue', 'purple'];

/** Checks the options. @returns the base path without a slash at its end @throws ConfigError */
export function checkOptions(options: DashboardOptions): string {
  const { redisson, basePath = '/', readOnly, authorize, audit, identify, secret, maxStreams } = options ?? {};
  const { label, color, hosts } = options ?? {};
  for (const name of Object.keys(options ?? {})) {
    // A misspelt `authorize` would let everybody in.
    if (!KNOWN.includes(name as keyof DashboardOptions)) fail(`has no option '${name}' (known: ${KNOWN.join(', ')})`);
  }
  if (typeof redisson?.getId !== 'function') fail('needs a client: createDashboard({ redisson })');
  for (const [name, value] of Object.entries({ authorize, audit, identify })) {
    if (value !== undefined && typeof value !== 'function') fail(`needs a function as ${name}`);
  }
  // Given but undefined: an import or a setting that is missing must not open the door.
  if (authorize === undefined && 'authorize' in options)
    fail('was given authorize: undefined; leave it out or give a function');
  if (readOnly !== undefined && typeof readOnly !== 'boolean') fail('needs true or false as readOnly');
  if (label !== undefined && (typeof label !== 'string' || label === '' || label.length > MAX_LABEL)) {
    fail(`needs a text of at most ${MAX_LABEL} characters as label`);
  }
  if (color !== undefined && !COLORS.includes(color)) fail(`needs one of ${COLORS.join(', ')} as color`);
  if (hosts !== undefined && !(Array.isArray(hosts) && hosts.length > 0 && hosts.every(isHost))) {
    fail("needs a list of names as hosts, without protocol and path, e.g. ['locks.example']");
  }
  if (secret !== undefined && (typeof secret !== 'string' || secret.length < 16))
    fail('needs a secret of 16 characters');
  if (maxStreams !== undefined && !(Number.isSafeInteger(maxStreams) && maxStreams > 0)) {
    fail('needs a positive integer as maxStreams');
  }
  return checkBasePath(basePath);
}

function isHost(host: unknown): boolean {
  return typeof host === 'string' && /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i.test(host);
}

function checkBasePath(basePath: unknown): string {
  if (typeof basePath !== 'string' || !/^\/$|^(?:\/[\w.~!$&'()*+,;=:@%-]+)+\/?$/.test(basePath)) {
    return fail("needs a path that begins with a slash as basePath, e.g. '/locks'");
  }
  if (basePath.split('/').some((part) => part === '.' || part === '..')) fail("needs a basePath without '.' and '..'");
  return basePath.replace(/\/$/, '');
}

function fail(what: string): never {
  throw new ConfigError(`createDashboard ${what}`);
}
