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

const MAX_LABEL = 40;
const COLORS: readonly unknown[] = ['red', 'amber', 'green', 'blue', 'purple'];

/** What an option must be, and whether a value that was given is. */
type Rule = readonly [wanted: string, fits: (value: unknown) => boolean];

const aFunction = (name: string): Rule => [`a function as ${name}`, (value) => typeof value === 'function'];
const isText = (value: unknown, least: number, most: number): boolean =>
  typeof value === 'string' && value.length >= least && value.length <= most;

/** All options that there are. */
const RULES: Readonly<Record<keyof DashboardOptions, Rule | undefined>> = {
  redisson: undefined,
  basePath: undefined,
  readOnly: ['true or false as readOnly', (value) => typeof value === 'boolean'],
  label: [`a text of at most ${MAX_LABEL} characters as label`, (value) => isText(value, 1, MAX_LABEL)],
  color: [`one of ${COLORS.join(', ')} as color`, (value) => COLORS.includes(value)],
  hosts: [
    "a list of names as hosts, without protocol and path, e.g. ['locks.example']",
    (value) => Array.isArray(value) && value.length > 0 && value.every(isHost),
  ],
  authorize: aFunction('authorize'),
  audit: aFunction('audit'),
  identify: aFunction('identify'),
  secret: ['a secret of 16 characters', (value) => isText(value, 16, Infinity)],
  maxStreams: ['a positive integer as maxStreams', (value) => Number.isSafeInteger(value) && Number(value) > 0],
  watchAlways: undefined,
};

/** Checks the options. @returns the base path without a slash at its end @throws ConfigError */
export function checkOptions(options: DashboardOptions): string {
  const given: Partial<Record<string, unknown>> = { ...options };
  for (const name of Object.keys(given)) {
    // A misspelt `authorize` would let everybody in.
    if (!Object.hasOwn(RULES, name)) fail(`has no option '${name}' (known: ${Object.keys(RULES).join(', ')})`);
  }
  const { redisson, basePath = '/' } = options ?? {};
  if (typeof redisson?.getId !== 'function') fail('needs a client: createDashboard({ redisson })');
  for (const [name, rule] of Object.entries(RULES)) {
    if (rule !== undefined && given[name] !== undefined && !rule[1](given[name])) fail(`needs ${rule[0]}`);
  }
  // Given but undefined: an import or a setting that is missing must not open the door.
  if ('authorize' in options && options.authorize === undefined)
    fail('was given authorize: undefined; leave it out or give a function');
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
