import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  CommandTimeoutError,
  ConnectionError,
  PermitNotFoundError,
  ShutdownError,
  UnsupportedOperationError,
} from '../../errors';
import { given } from '../../util/collections';
import { logSafely } from '../../util/warn';
import { Inspector } from '../inspection';
import { RUNBOOK } from '../inspection/advice';
import { applyRemedy, type Remedy } from '../inspection/remedies';
import { Feed, type LockSource } from './Feed';
import { type AuditEntry, checkOptions, type DashboardOptions } from './options';
import { page } from './page';
import { parseQuery } from './query';
import * as http from './requests';
import { Streams } from './Streams';
import { targetOf } from './target';
import type { SessionView } from './wire';

/** How many pages may be open at a time. */
const MAX_STREAMS = 2_000;
/** The paths that change something; all others only read. */
const UNLOCK = 'api/unlock';
const REMEDY = 'api/remedy';
const CHANGES: readonly (string | undefined)[] = [UNLOCK, REMEDY];
/** How long an API request waits for the first scan of all keys, in ms. */
const FIRST_LOOK_MS = 5_000;

/**
 * A request handler for `http.createServer`, Express, Fastify and Nest. Requests for other paths go to `next`;
 * without `next`, the answer is 404.
 */
export interface Dashboard {
  (req: IncomingMessage, res: ServerResponse, next?: () => void): void;
  /** Ends all open pages and the watch. Happens by itself when the client shuts down. Idempotent. Never rejects. */
  close(): Promise<void>;
}

/**
 * Makes a dashboard of the locks in Redis: a live page, and its JSON API.
 *
 * @param options - `redisson`, the path of the dashboard, and who may use it
 * @throws ConfigError for unknown or invalid options
 */
export function createDashboard(options: DashboardOptions): Dashboard {
  const basePath = checkOptions(options);
  const { redisson, expectedWaits = [] } = options;
  return dashboardOn(new Inspector(redisson, { expectedWaits }), options, basePath);
}

/** Like {@link createDashboard}, with another source of locks. */
export function dashboardOn(source: LockSource, options: DashboardOptions, basePath: string): Dashboard {
  const routes = new Routes(source, options);
  const handle = (req: IncomingMessage, res: ServerResponse, next?: () => void): void => {
    const target = http.targetOf(req, basePath);
    if (next !== undefined && (target === undefined || !routes.has(target))) return next();
    void routes.handle(req, res, target);
  };
  return Object.assign(handle, { close: () => routes.close() });
}

const AUDIT_FAILED = { warning: 'The audit of this change has failed.' } as const;

function doneText(remedy: Remedy): string {
  if (remedy.action === 'openLatch') return 'opened by force';
  if (remedy.action === 'releasePermit') return `permit ${remedy.id} given back by force`;
  return `${remedy.permits} ${remedy.permits === 1 ? 'permit' : 'permits'} added by force`;
}

type Route = (req: http.DashboardRequest, res: ServerResponse, target: http.Target) => Promise<void> | void;

/** The routes, by their path below the base. */
class Routes {
  readonly #options: DashboardOptions;
  readonly #feed: Feed;
  readonly #streams: Streams;
  readonly #tokens: http.Tokens;
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #stopListening: () => void;
  #closed: Promise<void> | undefined;

  constructor(source: LockSource, options: DashboardOptions) {
    const { redisson, secret, maxStreams = MAX_STREAMS, watchAlways = false } = options;
    this.#options = options;
    this.#feed = new Feed(source, redisson);
    this.#streams = new Streams(this.#feed, maxStreams);
    this.#tokens = new http.Tokens(secret === undefined ? randomBytes(32) : Buffer.from(secret));
    this.#routes = new Map<string, Route>([
      ['', (_req, res) => this.#page(res)],
      ['api/session', (req, res) => this.#session(req, res)],
      ['api/locks', (_req, res, target) => this.#looking(() => this.#locks(res, target))],
      ['api/lock', (_req, res, target) => this.#looking(() => this.#lock(res, target))],
      ['api/health', (_req, res) => this.#looking(() => this.#health(res))],
      ['api/stream', (req, res, target) => this.#stream(req, res, target)],
      [UNLOCK, (req, res) => this.#unlock(req, res)],
      [REMEDY, (req, res) => this.#remedy(req, res)],
    ]);
    this.#stopListening = redisson.onConnectionChange(({ state }) => {
      if (state === 'closed') void this.close();
    });
    if (watchAlways) this.#feed.use();
  }

  has({ path }: http.Target): boolean {
    return path === undefined || this.#routes.has(path);
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#stopListening();
    this.#streams.close();
    await this.#feed.close();
  }

  /** @param target - `undefined`: not below our base path */
  async handle(req: http.DashboardRequest, res: ServerResponse, target: http.Target | undefined): Promise<void> {
    res.on('error', () => undefined);
    try {
      http.setHeaders(res);
      http.checkUrl(req);
      await this.#authorize(req);
      // The client may have disconnected during `authorize`.
      if (res.destroyed) return;
      if (target === undefined || !this.has(target)) throw new http.Refusal(404, 'There is no such page.');
      http.checkMethod(req, ...(CHANGES.includes(target.path) ? ['POST'] : ['GET', 'HEAD']));
      if (target.path !== undefined) await this.#routes.get(target.path)!(req, res, target);
      else http.answer(res, 302, 'text/plain', '', { location: target.page });
    } catch (error) {
      this.#answerError(req, res, error);
    }
  }

  async #authorize(req: http.DashboardRequest): Promise<void> {
    const { authorize } = this.#options;
    if (authorize === undefined) return;
    let isAllowed: unknown;
    try {
      isAllowed = await authorize(req);
    } catch (error) {
      this.#log(error, 'authorize of the dashboard has failed');
      throw new http.Refusal(500, 'It could not be decided whether you may see this.');
    }
    // Only `true` counts: a promise of another value, or a text, is a mistake that must not open the door.
    if (isAllowed !== true) throw new http.Refusal(403, 'You may not see this.');
  }

  #page(res: ServerResponse): void {
    http.answer(res, 200, 'text/html', page.html, { 'content-security-policy': page.policy });
  }

  #session(req: http.DashboardRequest, res: ServerResponse): void {
    const { redisson, label, color, hosts } = this.#options;
    // A request under an unknown host name may change nothing.
    const readOnly = this.#isReadOnly || !http.isKnownHost(req, hosts);
    const view: SessionView = {
      ...{ readOnly, now: Date.now(), target: targetOf(redisson.getConfig(), label, color), runbook: RUNBOOK },
      ...(!readOnly && { token: this.#tokens.create() }),
    };
    http.answerJson(res, 200, view);
  }

  async #locks(res: ServerResponse, { params }: http.Target): Promise<void> {
    const query = parseQuery(params);
    await this.#feed.firstLook(FIRST_LOOK_MS);
    const { health, complete } = this.#feed;
    // An old list, with the error beside it, is better than none. No list at all is an error.
    const status = complete || this.#feed.locks.size > 0 || health.state === 'ok' ? 200 : 503;
    http.answerJson(res, status, { now: Date.now(), ...this.#streams.part(query), health });
  }

  async #lock(res: ServerResponse, { params }: http.Target): Promise<void> {
    const name = nameOf(params);
    if (name === undefined) throw new http.Refusal(400, 'Say which lock: ?name=...');
    const fresh = await this.#feed.inspect(name);
    const lock = this.#feed.detail(name, fresh) ?? null;
    http.answerJson(res, lock === null ? 404 : 200, { now: Date.now(), name, lock });
  }

  async #health(res: ServerResponse): Promise<void> {
    await this.#feed.firstLook(FIRST_LOOK_MS);
    http.answerJson(res, 200, { ...this.#feed.health, now: Date.now() });
  }

  #stream(req: http.DashboardRequest, res: ServerResponse, { params }: http.Target): void {
    const query = parseQuery(params);
    if (req.method === 'HEAD') return http.answer(res, 200, 'text/event-stream', '');
    if (this.#closed !== undefined) throw new http.Refusal(503, 'The dashboard is shut down.');
    if (this.#streams.isFull) throw new http.Refusal(503, 'Too many pages are open.', { 'retry-after': '10' });
    this.#streams.open(res, query, nameOf(params));
  }

  /** Whether a request may change anything. @returns its body @throws http.Refusal */
  async #change(req: http.DashboardRequest): Promise<Readonly<Record<string, unknown>>> {
    if (this.#isReadOnly) throw new http.Refusal(403, 'This dashboard is read-only.');
    if (!http.isKnownHost(req, this.#options.hosts)) {
      throw new http.Refusal(403, 'This dashboard is not known by that name: see its option hosts.');
    }
    http.checkSameOrigin(req);
    this.#tokens.check(req);
    return http.readJson(req);
  }

  /** What all entries of the audit share. */
  #entry(req: http.DashboardRequest): Pick<AuditEntry, 'by' | 'remoteAddress' | 'at'> {
    const { remoteAddress } = req.socket;
    return given({ by: this.#options.identify?.(req), remoteAddress, at: new Date() });
  }

  async #remedy(req: http.DashboardRequest, res: ServerResponse): Promise<void> {
    const { name, remedy } = http.readRemedy(await this.#change(req));
    const { action } = remedy;
    const { report } = await this.#feed.inspect(name);
    const what = given({
      permits: action === 'addPermits' ? remedy.permits : undefined,
      permitId: action === 'releasePermit' ? remedy.id : undefined,
    });
    const entry: AuditEntry = { action, name, kind: report.kind, holders: [], ...what, ...this.#entry(req) };
    const applied = applyRemedy(this.#options.redisson, report, remedy).catch(async (error: unknown) => {
      if (error instanceof UnsupportedOperationError) throw new http.Refusal(409, `This is a ${report.kind} by now.`);
      if (error instanceof PermitNotFoundError) throw new http.Refusal(409, 'That permit no longer exists.');
      await this.#audit({ ...entry, error: error instanceof Error ? error.message : String(error) });
      throw error;
    });
    const changed = await applied;
    const who = entry.by === undefined ? '' : ` by ${entry.by}`;
    this.#feed.record(name, { at: Date.now(), source: 'page', level: 'warning', text: `${doneText(remedy)}${who}` });
    const audited = await this.#audit({ ...entry, changed });
    http.answerJson(res, 200, { name, changed, ...(!audited && AUDIT_FAILED) });
  }

  async #unlock(req: http.DashboardRequest, res: ServerResponse): Promise<void> {
    const { name, holders } = http.readUnlock(await this.#change(req));
    const { report } = await this.#feed.inspect(name);
    const seen = holders ?? report.holders.map(({ owner }) => owner);
    const about = this.#entry(req);
    const { by } = about;
    const entry: AuditEntry = { action: 'forceUnlock', name, kind: report.kind, holders: seen, ...about };
    const release = this.#feed.source.releaseFrom(name, seen).catch(async (error: unknown) => {
      if (error instanceof UnsupportedOperationError) {
        const why =
          report.kind === 'other' ? 'its key holds data of another type' : 'there is no owner to take it from';
        throw new http.Refusal(409, `This is no lock: ${why}.`);
      }
      await this.#audit({ ...entry, error: error instanceof Error ? error.message : String(error) });
      throw error;
    });
    const { released, takenFrom, others } = await release;
    if (others.length > 0) {
      throw new http.Refusal(409, 'Somebody else holds this lock by now. Nothing was changed. Look again.');
    }
    const who = by === undefined ? '' : ` by ${by}`;
    const text = released ? `released by force${who}` : `to be released by force${who}, but nobody had it`;
    this.#feed.record(name, { at: Date.now(), source: 'page', level: 'warning', text });
    const audited = await this.#audit({ ...entry, holders: takenFrom, released });
    http.answerJson(res, 200, { name, released, ...(!audited && AUDIT_FAILED) });
  }

  async #audit(entry: AuditEntry): Promise<boolean> {
    try {
      await this.#options.audit?.(entry);
      return true;
    } catch (error) {
      this.#log(error, 'audit of the dashboard has failed');
      return false;
    }
  }

  get #isReadOnly(): boolean {
    return this.#options.readOnly !== false;
  }

  /** Watches during the call, and a little longer. */
  async #looking(act: () => Promise<void>): Promise<void> {
    const release = this.#feed.use();
    try {
      await act();
    } finally {
      release();
    }
  }

  #answerError(req: http.DashboardRequest, res: ServerResponse, error: unknown): void {
    if (res.headersSent) return void res.destroy();
    const [status, message, headers] = this.#describe(error);
    // A person reads the error in place of the page; a program gets JSON, as from the rest of the API.
    const wantsPage = (req.headers.accept ?? '').includes('text/html');
    if (wantsPage) http.answer(res, status, 'text/plain', `${status} ${message}\n`, headers);
    else http.answer(res, status, 'application/json', JSON.stringify({ error: message }), headers);
  }

  #describe(error: unknown): [status: number, message: string, headers?: http.Headers] {
    if (error instanceof http.Refusal) return [error.status, error.message, error.headers];
    const unavailable = [ConnectionError, CommandTimeoutError, ShutdownError].some((kind) => error instanceof kind);
    if (unavailable) return [503, (error as Error).message, { 'retry-after': '5' }];
    this.#log(error, 'a request to the dashboard has failed');
    // Errors of Redis say what is wrong. All other errors stay hidden from strangers.
    if (error instanceof Error && 'code' in error && error.name === 'CommandError') return [502, error.message];
    return [500, 'The dashboard has failed; its process has logged why.'];
  }

  #log(error: unknown, message: string): void {
    const { logger } = this.#options.redisson.getConfig();
    const fields = { err: error instanceof Error ? error : new Error(String(error)) };
    if (logger === undefined)
      process.emitWarning(`${message}: ${fields.err.message}`, { code: 'IOREDISSON_DASHBOARD' });
    else logSafely(logger, 'error', fields, message);
  }
}

function nameOf(params: URLSearchParams): string | undefined {
  return params.get('name') || undefined;
}
