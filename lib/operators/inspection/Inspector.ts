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

/** What a page of the keys brought. */
export interface InspectionPage {
  readonly reports: readonly ObjectReport[];
  /** Whether every key has been seen once (more). */
  readonly last: boolean;
}

/** What to ask a client. */
export interface AskOptions {
  /** At most so many holds. @default 1000 */
  readonly limit?: number;
}

/** The answer of a client, or why there is none. */
export type AskResult =
  | ({ readonly answered: true } & ClientAnswer)
  /**
   * `unheard`: it does not listen: it has held nothing, and waited for nothing, for 5 s; or it is gone, not of this
   * package, older, or made with `introspection: false`. `silent`: it listens, and has not answered within a second: it
   * is frozen, or its event loop is busy.
   */
  | { readonly answered: false; readonly because: 'unheard' | 'silent' };

/** The shortest interval of `watch`, in ms. */
const MIN_INTERVAL_MS = 50;
/** So many reports are made in one turn. */
const REPORTS_PER_TURN = 500;
/** What the clients have answered serves for so long, in ms: `watch` looks more often. */
const ANSWERS_SERVE_MS = 5_000;
/** Default of {@link AskOptions.limit}. */
const MAX_HOLDS = 1_000;
/** A report in the order of the interface: `--json` prints it so. */
const FIELDS = [
  ...['name', 'key', 'kind', 'mode', 'ttlMs', 'verdict', 'heldSince', 'holders', 'waiters', 'waiting'],
  ...['queue', 'token', 'value', 'acquired', 'permits', 'channels'],
];

/**
 * Looks at the locks and synchronizers in Redis: who has them, who waits, and what that comes to. Changes nothing but by
 * {@link forceUnlock}, and asks for no key but those that SCAN shows. Keys that its user has no right to are passed over.
 *
 * It has connections of its own, opened when it is first asked something, so that what it reads holds no lock up.
 * Close it: neither `shutdown()` of the client closes it, nor the other way round.
 *
 * Needs the rights of the section "Operators" of docs/security.md. Without `CLIENT LIST` the processes are `unknown`.
 */
export class Inspector {
  readonly #settings: Settings;
  readonly #watch = new Watch((before, limit) => this.#look(undefined, limit, before));
  #opened: ReturnType<typeof open> | undefined;
  #closed = false;
  #whoWaits: { readonly at: number; readonly answers: Promise<WhoWaits | undefined> } | undefined;

  /**
   * Looks where a client is connected to, as the same user.
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

  /** Ends `watch`, and closes the connections: what is under way rejects with ShutdownError. Idempotent. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#watch.close();
    this.#opened?.asker.close();
    await this.#opened?.executor.close();
  }

  /**
   * Asks a client itself what it holds since when, who waits in it, and how late its event loop is. Clients answer that
   * have held, or waited, for 5 s.
   *
   * @param clientId - the first part of an owner: `getId()` of the client
   * @returns its answer, or why there is none
   * @throws ConfigError unless it is a text; RangeError for a limit that is no positive integer
   * @throws CommandError if the inspector's user may not publish or listen there (docs/security.md)
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
   * All objects, by name. Numbers that nobody waits for are left out: any counter looks like that. Walks over all keys
   * in batches; 100 000 locks take some seconds, and some 100 MB of memory.
   *
   * @param pattern - of the names, as Redis' SCAN has it: `order:*`. Default: all
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
   * As {@link list}, a page of the keyspace at a time, for ever: after the last page the first comes again.
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
      // Else it was released by one that then left: it is read once more.
      if (report !== undefined) return report;
    }
  }

  /**
   * Takes a lock from its holders, who are not asked, and wakes those who wait for it. In one script: who takes the lock
   * after you have looked keeps it.
   *
   * @param name - as given to `getLock` and the others
   * @param holders - the owners that you have seen (`report.holders`, their `owner`). Where anybody else has the lock, too,
   *   nothing is changed. Default: whoever has it
   * @returns whether it was released
   * @throws ConfigError for an empty name, or another option than `holders`: it would be released from whoever has it
   * @throws TypeError for holders that are no list of texts, also for `undefined`: it would be released from whoever has it
   * @throws UnsupportedOperationError for what has no owner: semaphores, latches, foreign data
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `holders` are given: it may have
   *   been released, and taken by somebody else
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
   * @param holders - the owners that you have seen. Default, and also where it is `undefined`: whoever has it
   * @returns whom it was taken from, or who else has it
   * @throws ConfigError for an empty name, TypeError for holders that are no list of texts
   * @throws UnsupportedOperationError for what has no owner: semaphores, latches, foreign data
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Repeat only if `holders` are given: it may have
   *   been released, and taken by somebody else
   * @throws CommandError, ShutdownError if Redis refuses the command, or the inspector is closed
   */
  async releaseFrom(name: string, holders?: readonly string[]): Promise<ForcedUnlock> {
    if (holders !== undefined) checkOwners(holders);
    const { reader, executor } = this.#open();
    return forceUnlock(executor, await reader.one(validateName(name, 'lock')), holders);
  }

  /**
   * Tells what there is, and then what changes, until it is ended. However many listeners there are, Redis is looked at
   * once. An outage is told, and so is its end.
   *
   * @param listener - called outside of any call; the first event has all that there is
   * @returns ends it for this listener
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
   * Which processes the servers are, as one text: another one after a restart or a failover. Empty where that may not be
   * asked.
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

  /** Looks at all objects, at most `limit` of them. */
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

  /** Adds who the owners are, and the verdicts. */
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
   * Asks the clients, if anybody waits for one of the objects, or there is but one.
   * @param again - whether the answers of a moment ago do
   */
  async #ask(drafts: readonly ObjectDraft[], again: boolean): Promise<WhoWaits | undefined> {
    const { asker, redis } = this.#open();
    const asked = drafts.filter(
      ({ kind, holders, waiters }) => (holders.length > 0 || hasPermits(kind)) && (waiters > 0 || drafts.length === 1),
    );
    if (asked.length === 0) return undefined;
    const now = performance.now();
    if (!again || this.#whoWaits === undefined || now - this.#whoWaits.at > ANSWERS_SERVE_MS) {
      const answers = asker.survey(redis, asked).then((found) => found && new WhoWaits(found));
      answers.catch(() => (this.#whoWaits = undefined));
      this.#whoWaits = { at: now, answers };
    }
    return this.#whoWaits.answers;
  }

  /** @param before - what `watch` has seen before; `undefined` for who does not watch */
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

/** Connects, and makes what reads. */
function open(settings: Settings) {
  const connections = connect(settings);
  const { executor } = connections;
  const redis = new RedisView(executor);
  const reader = new ObjectReader(redis, settings.nameMapper);
  return { executor, redis, reader, processes: new Processes(redis), asker: new Asker(connections) };
}

/** @throws TypeError unless it is a list of texts */
function checkOwners(holders: unknown): void {
  if (Array.isArray(holders) && holders.every((one) => typeof one === 'string')) return;
  throw new TypeError('forceUnlock needs the owners as a list of texts: report.holders.map(({ owner }) => owner)');
}
