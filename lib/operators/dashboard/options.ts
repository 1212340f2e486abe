import type { IncomingMessage } from 'node:http';
import type { RedissonClient } from '../../api';
import { ConfigError } from '../../errors';
import type { ForcedAction } from '../inspection/remedies';

/** A change that a user of a page made. */
export interface AuditEntry {
  readonly action: ForcedAction;
  /** The object's name, as given to `getLock`. */
  readonly name: string;
  /** The kind of the object, as the inspector names it. */
  readonly kind: string;
  /**
   * The owners it was taken from, as stored in Redis: `<client id>:<thread id>`; with {@link error}, the owners it
   * was to be taken from. Empty for semaphores and latches.
   */
  readonly holders: readonly string[];
  /** Whether there was something to release; `undefined` if that is not known (`error`). */
  readonly released?: boolean;
  /** Of semaphores and latches: whether it changed anything; `undefined` if that is not known (`error`). */
  readonly changed?: boolean;
  /** Of `addPermits`: how many. */
  readonly permits?: number;
  /** Of `releasePermit`: the id of the permit. */
  readonly permitId?: string;
  /** Why it failed. The change may or may not have been made. */
  readonly error?: string;
  /** Who made the change, as `identify` returned it. */
  readonly by?: string;
  /** The address that the request came from; behind a proxy, the proxy's. */
  readonly remoteAddress?: string;
  readonly at: Date;
}

/** Options of `createDashboard`. */
export interface DashboardOptions {
  /** The client whose Redis the dashboard shows. The dashboard uses its connections, and releases locks through it. */
  readonly redisson: RedissonClient;
  /**
   * The path of the dashboard, e.g. `/locks`. Not needed if a framework mounts it (`app.use('/locks', dashboard)`).
   * @default '/'
   */
  readonly basePath?: string;
  /** `false`: users can release locks and permits from the page, and open latches, whoever has them. @default true */
  readonly readOnly?: boolean;
  /** The name of this Redis in the header of the page: `production`, `staging`. @default nothing */
  readonly label?: string;
  /**
   * The colour of the label, so that users do not confuse two pages.
   * @default by the label: red for production, amber for staging, green for development; else grey
   */
  readonly color?: 'red' | 'amber' | 'green' | 'blue' | 'purple';
  /**
   * The host names of this page (`locks.example`, `locks.example:8443`): it releases locks only under these. This
   * stops DNS rebinding, where another site makes its own name point here.
   * @default addresses, `localhost`, and the name of this machine
   */
  readonly hosts?: readonly string[];
  /**
   * Called before each request: page, API and events. Only `true` grants access. `false` is answered with 403, an
   * error with 500. An open page is checked again every ten minutes.
   * @default everyone has access
   */
  readonly authorize?: (req: IncomingMessage) => boolean | Promise<boolean>;
  /** Called after each change, also after one that failed. If it throws, the answer says so and the error is logged. */
  readonly audit?: (entry: AuditEntry) => void | Promise<void>;
  /** Returns who makes a change, for `audit` and the events of the lock. */
  readonly identify?: (req: IncomingMessage) => string | undefined;
  /**
   * The key that signs tokens. Processes behind one address need the same key, to accept each other's tokens.
   * @default random
   */
  readonly secret?: string;
  /** How many pages may be open at a time; the answer to others is 503. @default 2000 */
  readonly maxStreams?: number;
  /**
   * Patterns of names where long waits are no trouble: the standby of a leader. As of an Inspector. @default none
   */
  readonly expectedWaits?: readonly string[];
  /** Watch even while no page is open, to know how long locks have been held. @default false */
  readonly watchAlways?: boolean;
}

const MAX_LABEL = 40;
const COLORS: readonly unknown[] = ['red', 'amber', 'green', 'blue', 'purple'];

/** What an option must be, and the check of its value. */
type Rule = readonly [wanted: string, fits: (value: unknown) => boolean];

const aFunction = (name: string): Rule => [`a function as ${name}`, (value) => typeof value === 'function'];
const isText = (value: unknown, least: number, most: number): boolean =>
  typeof value === 'string' && value.length >= least && value.length <= most;

/** All options. */
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
  expectedWaits: [
    "a list of patterns of names as expectedWaits, e.g. ['leader:*']",
    (value) => Array.isArray(value) && value.every((one) => isText(one, 1, Infinity)),
  ],
};

/** Checks the options. @returns the base path without a trailing slash @throws ConfigError */
export function checkOptions(options: DashboardOptions): string {
  const given: Partial<Record<string, unknown>> = { ...options };
  for (const name of Object.keys(given)) {
    // A misspelt `authorize` would let everyone in.
    if (!Object.hasOwn(RULES, name)) fail(`has no option '${name}' (known: ${Object.keys(RULES).join(', ')})`);
  }
  const { redisson, basePath = '/' } = options ?? {};
  if (typeof redisson?.getId !== 'function') fail('needs a client: createDashboard({ redisson })');
  for (const [name, rule] of Object.entries(RULES)) {
    if (rule !== undefined && given[name] !== undefined && !rule[1](given[name])) fail(`needs ${rule[0]}`);
  }
  // Given but undefined: a missing import or setting must not open the door.
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
