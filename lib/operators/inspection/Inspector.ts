import type { RedissonClient } from '../../api';
import type { Config } from '../../config/builder/Config';
import type { RedissonOptions } from '../../config/RedissonOptions';
import { resolveConfig } from '../../config/builder/resolveConfig';
import { checkOptionNames, FORCE_UNLOCK_OPTIONS, INSPECTOR_OPTIONS, WATCH_OPTIONS } from '../../config/optionNames';
import type { Settings } from '../../config/Settings';
import { isInMemory } from '../../config/serverIdentity';
import { validateName } from '../../config/validateName';
import { connect } from '../../connection/connect';
import { ConfigError, ShutdownError } from '../../errors';
import type { ClientAnswer } from '../../introspection/wire';
import { chunks, given } from '../../util/collections';
import { anyGlobTest } from '../../util/glob';
import { connectionName } from '../../util/connectionName';
import { laterTurn } from '../../util/timing';
import { forceUnlock, type ForcedUnlock } from './forceUnlock';
import { Answers } from './Answers';
import { Asker } from './Asker';
import { hasPermits, type ObjectDraft } from './describe';
import { judge, waitedSinceOf } from './judge';
import { ObjectReader } from './ObjectReader';
import { aged, identify, type Identified } from './owners';
import { Processes } from './Processes';
import { RedisView } from './RedisView';
import { refusalText } from './refusals';
import type { HealthReport, ObjectReport, WatchListener, WatchOptions } from './reports';
import { readServers, runsOf, type Servers } from './servers';
import { Sightings } from './sightings';
import { describe } from '../../util/describe';
import { type Look, Watch } from './Watch';
import { WhoWaits } from './whoWaits';

/** The reports of one page of keys. */
export interface InspectionPage {
  readonly reports: readonly ObjectReport[];
  /** Whether this page completes a pass over all keys. */
  readonly last: boolean;
}

/** Options of `ask`. */
export interface AskOptions {
  /** The most holds to return. @default 1000 */
  readonly limit?: number;
}

/** Options of an Inspector. */
export interface InspectorOptions {
  /**
   * Patterns of names, in the syntax of SCAN: `leader:*`. Whoever waits long for these is no trouble: the standby of a
   * leader. They are `held` instead of `stuck`. @default none
   */
  readonly expectedWaits?: readonly string[];
}

/** The answer of a client, or why it did not answer. */
export type AskResult =
  | ({ readonly answered: true } & ClientAnswer)
  /**
   * `unheard`: the client does not listen. No hold or wait of it is 5 s old, or it has ended, does not use this
   * package, is an older version, or has `introspection: false`. `silent`: it listens, but did not answer within a
   * second: it is frozen, or its event loop is busy.
   */
  | { readonly answered: false; readonly because: 'unheard' | 'silent' };

/** The shortest interval of `watch`, in ms. */
const MIN_INTERVAL_MS = 50;
/** Reports made per turn of the event loop. */
const REPORTS_PER_TURN = 500;
/** Reuse what a server has said of itself for this long, in ms. */
const HEALTH_SERVES_MS = 1_000;
/** For a single scan: nothing is compared. */
const NO_SERVERS: Servers = { all: [], refusal: undefined };
/** Default of {@link AskOptions.limit}. */
const MAX_HOLDS = 1_000;
/** The fields of a report in the order of the interface: `--json` prints them in this order. */
const FIELDS = [
  ...['name', 'key', 'kind', 'mode', 'ttlMs', 'verdict', 'heldSince', 'holders', 'waiters', 'waitedSince'],
  ...['waiting', 'queue', 'token', 'value', 'acquired', 'permits', 'channels'],
];

/**
 * Reports the locks and synchronizers in Redis: who holds them, who waits, and a verdict. Only {@link forceUnlock} and
 * `releaseFrom` change anything. Keys are found with SCAN, and those that its user may not access are skipped.
 *
 * It has its own connections, opened on first use, so that its reads do not delay locks. Close it yourself:
 * `shutdown()` of the client does not close it, and `close()` does not shut the client down.
 *
 * Needs the rights in the section "Operators" of docs/security.md. Without `CLIENT LIST` the processes are `unknown`.
 */
export class Inspector {
  readonly #settings: Settings;
  readonly #watch = new Watch({
    scan: (sightings, limit) => this.#look(undefined, limit, sightings),
    health: () => this.health(),
    lost: (lost) => (this.#lost = lost),
  });
  /** Whether waits for a name are expected. */
  readonly #expects: (name: string) => boolean;
  #opened: ReturnType<typeof open> | undefined;
  #closed = false;
  #lost: HealthReport['lost'];
  #lastServers: { readonly servers: Servers; readonly at: number } | undefined;

  /**
   * Inspects the Redis that a client is connected to, as the same user.
   * @param redisson - a client of `Redisson.create`; only its settings are used
   * @throws ConfigError for anything else, and for options that are unknown or wrong
   */
  constructor(redisson: Pick<RedissonClient, 'getConfig'>, options: InspectorOptions = {}) {
    checkOptionNames(options, INSPECTOR_OPTIONS);
    this.#expects = checkPatterns(options.expectedWaits);
    const settings = (redisson as Partial<RedissonClient> | undefined)?.getConfig?.();
    if (settings?.topology === undefined || isInMemory(settings.topology)) {
      throw new ConfigError(
        'an Inspector needs a client that is connected to Redis, not one in memory: new Inspector(Redisson.create(...))',
      );
    }
    const clientName = settings.clientName ?? connectionName('inspector');
    this.#settings = { ...settings, clientName };
  }

  /** An inspector without a client. @param config - as for `Redisson.create` @throws ConfigError */
  static open(config?: string | URL | Config | RedissonOptions, options?: InspectorOptions): Inspector {
    const settings = resolveConfig(config);
    return new Inspector({ getConfig: () => settings }, options);
  }

  /** Ends `watch` and closes the connections. Pending calls reject with ShutdownError. Idempotent. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#watch.close();
    this.#opened?.asker.close();
    await this.#opened?.executor.close();
  }

  /**
   * Asks a client what it holds and since when, who waits in it, and how late its event loop is. A client answers only
   * if it has held or waited for something for 5 s.
   *
   * @param clientId - the first part of an owner: `getId()` of the client
   * @returns its answer, or why it did not answer
   * @throws ConfigError unless the id is a non-empty string; RangeError unless the limit is a positive integer
   * @throws CommandError if the inspector's user may not publish or subscribe there (docs/security.md)
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   */
  async ask(clientId: string, { limit = MAX_HOLDS }: AskOptions = {}): Promise<AskResult> {
    if (typeof clientId !== 'string' || clientId === '') {
      throw new ConfigError(`ask needs the id of a client, got ${describe(clientId)}`);
    }
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new RangeError(`limit must be a positive integer, got ${describe(limit)}`);
    }
    const answer = await this.#open().asker.askAll(clientId, limit);
    return typeof answer === 'string' ? { answered: false, because: answer } : { answered: true, ...answer };
  }

  /** `close()` at the end of an `await using` block. Never rejects. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * All objects, sorted by name. Numbers without waiters are left out, because any counter has that form. Walks over
   * all keys in batches: 100 000 locks take some seconds and some 100 MB of memory.
   *
   * @param pattern - of the names, in the syntax of SCAN: `order:*`. Default: all
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the inspector is closed
   */
  async list(pattern?: string): Promise<readonly ObjectReport[]> {
    if (pattern !== undefined && typeof pattern !== 'string') {
      throw new ConfigError(`list needs a pattern of names like 'order:*', got ${describe(pattern)}`);
    }
    const { reports } = await this.#look(pattern, Infinity);
    return [...reports].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  /**
   * As {@link list}, but one page of the keyspace at a time, for ever: after the last page it starts again.
   *
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat, from the beginning
   * @throws CommandError, ShutdownError if Redis refuses the command, or the inspector is closed
   */
  async *pages(pattern?: string): AsyncGenerator<InspectionPage, never> {
    const { reader, executor } = this.#open();
    const pages = reader.pages(pattern);
    const sightings = new Sightings();
    const reports = new Map<string, ObjectReport>();
    const addresses = new Map<string, string>();
    for (let patience: Patience = 'all'; ;) {
      const { found, last, address } = (await pages.next()).value;
      const page = await this.#complete(found, sightings, patience);
      for (const report of page) {
        reports.set(report.key, report);
        addresses.set(report.key, address);
      }
      if (last) {
        const servers = await this.#servers();
        const scan = { reports: [...reports.values()], addresses: new Map(addresses), servers };
        const seen = sightings.saw({ ...scan, connection: executor.connectionNumber }, Date.now());
        this.#lost = seen?.lost ?? this.#lost;
        reports.clear();
        addresses.clear();
        patience = 'brief';
      }
      yield { reports: page, last };
    }
  }

  /**
   * How Redis is for locks: whether it answers, but refuses them. Takes no lock and changes nothing.
   *
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws ShutdownError if the inspector is closed
   */
  async health(): Promise<HealthReport> {
    const { refusal } = await this.#servers(HEALTH_SERVES_MS);
    const { reader } = this.#open();
    const { hidden } = reader;
    const denied =
      hidden === 0 || reader.readable > 0
        ? undefined
        : `This user may read none of the ${hidden} keys that there are, so no lock is shown: see "Operators" in docs/security.md.`;
    return given({ refuses: refusal === undefined ? undefined : refusalText(refusal), denied, lost: this.#lost });
  }

  /**
   * One object, as fully as possible.
   * @param name - as given to `getLock` and the others
   * @throws ConfigError for an empty name
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the command, or the inspector is closed
   */
  async inspect(name: string): Promise<ObjectReport> {
    const valid = validateName(name, 'lock');
    for (;;) {
      const [report] = await this.#complete([await this.#open().reader.one(valid)]);
      // No report: its holder released it and disconnected meanwhile. Read it once more.
      if (report !== undefined) return report;
    }
  }

  /**
   * Takes a lock from its holders without asking them, and wakes its waiters. One script checks the owners and
   * releases: with `holders`, an owner that took the lock after your report keeps it.
   *
   * @param name - as given to `getLock` and the others
   * @param options.holders - the owners in your report (`report.holders`, their `owner`). If another owner has the
   *   lock, too, nothing is changed. Default: any owner
   * @returns whether it was released
   * @throws ConfigError for an empty name, or an option other than `holders`: a typo would release it from any owner
   * @throws TypeError unless holders is a list of strings, also for `undefined`: that would release it from any owner
   * @throws UnsupportedOperationError for objects without owners: semaphores, latches, foreign data
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `holders` are given: the lock
   *   may have been released, and taken by another owner
   * @throws CommandError, ShutdownError if Redis refuses the command, or the inspector is closed
   */
  async forceUnlock(name: string, options: { readonly holders?: readonly string[] } = {}): Promise<boolean> {
    checkOptionNames(options, FORCE_UNLOCK_OPTIONS);
    if ('holders' in options) checkOwners(options.holders);
    return (await this.releaseFrom(name, options.holders)).released;
  }

  /**
   * As {@link forceUnlock}.
   *
   * @param holders - the owners in your report. Default, also for `undefined`: any owner
   * @returns the owners it was taken from, or the other owners that have it
   * @throws ConfigError for an empty name, TypeError unless holders is a list of strings
   * @throws UnsupportedOperationError for objects without owners: semaphores, latches, foreign data
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `holders` are given: the lock
   *   may have been released, and taken by another owner
   * @throws CommandError, ShutdownError if Redis refuses the command, or the inspector is closed
   */
  async releaseFrom(name: string, holders?: readonly string[]): Promise<ForcedUnlock> {
    if (holders !== undefined) checkOwners(holders);
    const { reader, executor } = this.#open();
    return forceUnlock(executor, await reader.one(validateName(name, 'lock')), holders);
  }

  /**
   * Reports all objects, then every change, until you end it. All listeners share one scan of Redis. An outage and its
   * end are reported, too.
   *
   * @param listener - called outside of your async context; its first event has all objects
   * @returns a function that ends it for this listener
   * @throws RangeError for an interval below 50 ms, TypeError without a function, ShutdownError after `close`
   */
  watch(listener: WatchListener, options: WatchOptions): () => void {
    if (typeof listener !== 'function') throw new TypeError('watch needs a function');
    checkOptionNames(options, WATCH_OPTIONS);
    const { interval } = options;
    if (!Number.isFinite(interval) || interval < MIN_INTERVAL_MS) {
      throw new RangeError(`interval must be at least ${MIN_INTERVAL_MS} ms, got ${describe(interval)}`);
    }
    if (this.#closed) throw new ShutdownError('watch');
    return this.#watch.add(listener, interval);
  }

  /**
   * Identifies the server processes, as one text. It changes after a restart or a failover. Empty if INFO is refused.
   *
   * @deprecated `watch` tells what a restart or a failover has lost: see {@link HealthEvent}
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws ShutdownError if the inspector is closed
   */
  async serverRuns(): Promise<string> {
    return runsOf(await this.#servers());
  }

  /** @param serves - the age up to which the last reply is reused, in ms. @default a new one */
  async #servers(serves = -1): Promise<Servers> {
    const { redis, reader } = this.#open();
    const last = this.#lastServers;
    if (last !== undefined && performance.now() - last.at <= serves) return last.servers;
    const servers = await readServers(redis, reader.someKey);
    this.#lastServers = { servers, at: performance.now() };
    return servers;
  }

  #open(): ReturnType<typeof open> {
    if (this.#closed) throw new ShutdownError('inspect');
    return (this.#opened ??= open(this.#settings));
  }

  /** Scans all objects, at most `limit` of them. @param sightings - of `watch` */
  async #look(pattern: string | undefined, limit: number, sightings?: Sightings): Promise<Look> {
    const startedAt = performance.now();
    const { reader, executor } = this.#open();
    const drafts = new Map<string, ObjectDraft>();
    const addresses = new Map<string, string>();
    let truncated = false;
    for await (const { found, last, address } of reader.pages(pattern)) {
      for (const draft of found) {
        if (drafts.size < limit || drafts.has(draft.key)) {
          drafts.set(draft.key, draft);
          addresses.set(draft.key, address);
        } else truncated = true;
      }
      if (last || truncated) break;
    }
    const servers = sightings === undefined ? NO_SERVERS : await this.#servers();
    const tookMs = performance.now() - startedAt;
    const connection = executor.connectionNumber;
    const reports = await this.#complete([...drafts.values()], sightings, sightings && 'brief');
    return { reports, truncated, addresses, servers, connection, tookMs };
  }

  /**
   * Adds the processes of the owners, and the verdicts.
   * @param sightings - of a series of scans. @default what `watch` has seen
   */
  async #complete(
    drafts: readonly ObjectDraft[],
    sightings?: Sightings,
    patience: Patience = 'anew',
  ): Promise<readonly ObjectReport[]> {
    const { reader, processes } = this.#open();
    const owners = drafts.flatMap(({ holders, queue = [] }) => [...holders, ...queue]);
    const [whoWaits, processOf] = await Promise.all([
      this.#ask(drafts, patience),
      processes.lookUp(owners, performance.now()),
    ]);
    const reports: ObjectReport[] = [];
    for (const batch of chunks(drafts, REPORTS_PER_TURN)) {
      const judged = await identify(batch, processOf, reader);
      for (const one of judged) {
        const watched = sightings ?? (this.#watch.sightings.last.has(one.key) ? this.#watch.sightings : undefined);
        reports.push(this.#judge(one, watched, whoWaits));
      }
      await laterTurn();
    }
    return reports;
  }

  /** Asks the clients if one of the objects has waiters, or if there is only one object. */
  async #ask(drafts: readonly ObjectDraft[], patience: Patience): Promise<WhoWaits | undefined> {
    const { answers } = this.#open();
    const asked = drafts.filter(
      ({ kind, holders, waiters }) => waiters > 0 || (drafts.length === 1 && (holders.length > 0 || hasPermits(kind))),
    );
    if (asked.length === 0) return undefined;
    const survey = await answers.survey(asked, patience);
    return survey && new WhoWaits(survey);
  }

  /** @param sightings - what earlier scans have seen, if there were any */
  #judge(draft: Identified, sightings: Sightings | undefined, whoWaits: WhoWaits | undefined): ObjectReport {
    const now = Date.now();
    const answered = { ...draft, ...whoWaits?.about(draft) };
    const report = { ...answered, ttlMs: aged(draft.ttlMs, now - draft.readAt) };
    const watched = sightings?.historyOf(report, now);
    const verdict = judge(report, { now, watched, whoWaits, isExpected: this.#expects(report.name) });
    const told = report.holders.flatMap(({ hold }) => hold?.since ?? []);
    const heldSince = told.length > 0 ? Math.min(...told) : watched?.heldSince;
    const waitedSince = report.waiters === 0 ? undefined : waitedSinceOf(report, watched);
    const all: Partial<Record<string, unknown>> = { ...report, verdict, heldSince, waitedSince };
    return Object.fromEntries(
      FIELDS.flatMap((field) => (all[field] === undefined ? [] : [[field, all[field]]])),
    ) as unknown as ObjectReport;
  }
}

/** @returns a test of names @throws ConfigError unless it is a list of patterns */
function checkPatterns(patterns: readonly string[] = []): (name: string) => boolean {
  if (!Array.isArray(patterns) || !patterns.every((one) => typeof one === 'string' && one !== '')) {
    throw new ConfigError(
      `expectedWaits must be a list of patterns of names like 'leader:*', got ${describe(patterns)}`,
    );
  }
  return anyGlobTest(patterns);
}

/** As of `Answers.survey`. */
type Patience = Parameters<Answers['survey']>[1];

/** Connects, and creates the readers. */
function open(settings: Settings) {
  const connections = connect(settings);
  const { executor } = connections;
  const redis = new RedisView(executor);
  const reader = new ObjectReader(redis, settings.nameMapper);
  const asker = new Asker(connections);
  return { executor, redis, reader, processes: new Processes(redis), asker, answers: new Answers(asker, redis) };
}

/** @throws TypeError unless it is a list of strings */
function checkOwners(holders: unknown): void {
  if (Array.isArray(holders) && holders.every((one) => typeof one === 'string')) return;
  throw new TypeError('forceUnlock needs the owners as a list of texts: report.holders.map(({ owner }) => owner)');
}
