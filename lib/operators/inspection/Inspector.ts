import type { RedissonClient } from '../../api';
import type { Config } from '../../config/builder/Config';
import type { RedissonOptions } from '../../config/RedissonOptions';
import { resolveConfig } from '../../config/builder/resolveConfig';
import { checkOptionNames, FORCE_UNLOCK_OPTIONS, WATCH_OPTIONS } from '../../config/optionNames';
import type { Settings } from '../../config/Settings';
import { isInMemory } from '../../config/serverIdentity';
import { validateName } from '../../config/validateName';
import { connect } from '../../connection/connect';
import { ConfigError, ShutdownError } from '../../errors';
import type { ClientAnswer } from '../../introspection/wire';
import { chunks } from '../../util/collections';
import { connectionName } from '../../util/connectionName';
import { laterTurn } from '../../util/timing';
import { forceUnlock, type ForcedUnlock } from './forceUnlock';
import { Asker } from './Asker';
import { hasPermits, type ObjectDraft } from './describe';
import { ObjectReader } from './ObjectReader';
import { aged, identify, type Identified } from './owners';
import { Processes } from './Processes';
import { RedisView } from './RedisView';
import type { ObjectReport, WatchListener, WatchOptions } from './reports';
import { historyOf, type LastSeen } from './sightings';
import { describe } from '../../util/describe';
import { verdictOf } from './verdict';
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
/** Reuse the answers of clients for this long, in ms: `watch` scans more often. */
const ANSWERS_SERVE_MS = 5_000;
/** Default of {@link AskOptions.limit}. */
const MAX_HOLDS = 1_000;
/** The fields of a report in the order of the interface: `--json` prints them in this order. */
const FIELDS = [
  ...['name', 'key', 'kind', 'mode', 'ttlMs', 'verdict', 'heldSince', 'holders', 'waiters', 'waiting'],
  ...['queue', 'token', 'value', 'acquired', 'permits', 'channels'],
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
  readonly #watch = new Watch((before, limit) => this.#look(undefined, limit, before));
  #opened: ReturnType<typeof open> | undefined;
  #closed = false;
  /** The last answers about all objects, for the scans of `watch`. */
  #aboutAll: { readonly at: number; readonly answers: Promise<WhoWaits | undefined> } | undefined;

  /**
   * Inspects the Redis that a client is connected to, as the same user.
   * @param redisson - a client of `Redisson.create`; only its settings are used
   * @throws ConfigError for anything else
   */
  constructor(redisson: Pick<RedissonClient, 'getConfig'>) {
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
  static open(config?: string | URL | Config | RedissonOptions): Inspector {
    const settings = resolveConfig(config);
    return new Inspector({ getConfig: () => settings });
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
    const answer = await this.#open().asker.ask(clientId, limit);
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
    const { reader } = this.#open();
    const pages = reader.pages(pattern);
    for (;;) {
      const { found, last } = (await pages.next()).value;
      yield { reports: await this.#complete(found), last };
    }
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
   * @param holders - the owners in your report (`report.holders`, their `owner`). If another owner has the lock, too,
   *   nothing is changed. Default: any owner
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
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws ShutdownError if the inspector is closed
   */
  serverRuns(): Promise<string> {
    return this.#open().redis.runs();
  }

  #open(): ReturnType<typeof open> {
    if (this.#closed) throw new ShutdownError('inspect');
    return (this.#opened ??= open(this.#settings));
  }

  /** Scans all objects, at most `limit` of them. */
  async #look(pattern: string | undefined, limit: number, before?: LastSeen): Promise<Look> {
    const drafts = new Map<string, ObjectDraft>();
    let truncated = false;
    for await (const { found, last } of this.#open().reader.pages(pattern)) {
      for (const draft of found) {
        if (drafts.size < limit || drafts.has(draft.key)) drafts.set(draft.key, draft);
        else truncated = true;
      }
      if (last || truncated) break;
    }
    return { reports: await this.#complete([...drafts.values()], before), truncated };
  }

  /** Adds the processes of the owners, and the verdicts. */
  async #complete(drafts: readonly ObjectDraft[], before?: LastSeen): Promise<readonly ObjectReport[]> {
    const { reader, processes } = this.#open();
    const owners = drafts.flatMap(({ holders, queue = [] }) => [...holders, ...queue]);
    const [whoWaits, processOf] = await Promise.all([
      this.#ask(drafts, before !== undefined),
      processes.lookUp(owners, performance.now()),
    ]);
    const reports: ObjectReport[] = [];
    for (const batch of chunks(drafts, REPORTS_PER_TURN)) {
      for (const one of await identify(batch, processOf, reader)) reports.push(this.#judge(one, before, whoWaits));
      await laterTurn();
    }
    return reports;
  }

  /**
   * Asks the clients if one of the objects has waiters, or if there is only one object.
   * @param isWatch - whether these are all objects, so that recent answers about all may be reused
   */
  async #ask(drafts: readonly ObjectDraft[], isWatch: boolean): Promise<WhoWaits | undefined> {
    const { asker, redis } = this.#open();
    const asked = drafts.filter(
      ({ kind, holders, waiters }) => waiters > 0 || (drafts.length === 1 && (holders.length > 0 || hasPermits(kind))),
    );
    if (asked.length === 0) return undefined;
    const now = performance.now();
    if (isWatch && this.#aboutAll !== undefined && now - this.#aboutAll.at <= ANSWERS_SERVE_MS) {
      return this.#aboutAll.answers;
    }
    const answers = asker.survey(redis, asked).then((found) => found && new WhoWaits(found));
    // Answers about one object know nothing of the others: `watch` must not take them for answers about all.
    if (isWatch) this.#aboutAll = { at: now, answers };
    answers.catch(() => (this.#aboutAll = undefined));
    return answers;
  }

  /** @param before - the last scan of `watch`; `undefined` for other calls */
  #judge(draft: Identified, before: LastSeen | undefined, whoWaits: WhoWaits | undefined): ObjectReport {
    const now = Date.now();
    const answered = { ...draft, ...whoWaits?.about(draft) };
    const report = { ...answered, ttlMs: aged(draft.ttlMs, now - draft.readAt) };
    const watched = before && historyOf(before.get(draft.key), report, now);
    const byData = verdictOf(report, { now, renewedTo: watched?.renewedTo });
    const verdict = whoWaits?.verdictOf(report, byData, watched) ?? byData;
    const told = report.holders.flatMap(({ hold }) => hold?.since ?? []);
    const heldSince = told.length > 0 ? Math.min(...told) : watched?.heldSince;
    const all: Partial<Record<string, unknown>> = { ...report, verdict, heldSince };
    return Object.fromEntries(
      FIELDS.flatMap((field) => (all[field] === undefined ? [] : [[field, all[field]]])),
    ) as unknown as ObjectReport;
  }
}

/** Connects, and creates the readers. */
function open(settings: Settings) {
  const connections = connect(settings);
  const { executor } = connections;
  const redis = new RedisView(executor);
  const reader = new ObjectReader(redis, settings.nameMapper);
  return { executor, redis, reader, processes: new Processes(redis), asker: new Asker(connections) };
}

/** @throws TypeError unless it is a list of strings */
function checkOwners(holders: unknown): void {
  if (Array.isArray(holders) && holders.every((one) => typeof one === 'string')) return;
  throw new TypeError('forceUnlock needs the owners as a list of texts: report.holders.map(({ owner }) => owner)');
}
