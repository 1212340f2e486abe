import { createHmac, timingSafeEqual } from 'node:crypto';
import { on } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { Remedy } from '../inspection/remedies';

/** Headers of an answer. */
export type Headers = Readonly<Record<string, string>>;

/** A refused request, with its answer. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Headers;

  static {
    this.prototype.name = 'Refusal';
  }

  constructor(status: number, message: string, headers: Headers = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** A request as http, Express and similar frameworks pass it. */
export type DashboardRequest = IncomingMessage & {
  /** Express: the path where it is mounted, which Express has removed from `url`. */
  readonly baseUrl?: string;
  /** Express: the original `url`. */
  readonly originalUrl?: string;
  /** What a body parser has already read. */
  readonly body?: unknown;
};

/** The longest URL, in characters. */
const MAX_URL = 8_192;
/** The largest body, in bytes. */
const MAX_BODY = 16_384;
/** How long reading a body may take, in ms. */
const BODY_MS = 10_000;

/** Headers of every answer. The page is one file with its own script and style; nothing else may load or frame it. */
const HEADERS: Headers = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Sets the headers of every answer. */
export function setHeaders(res: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) res.setHeader(name, value);
}

/** Sends an answer; to HEAD without the body. */
export function answer(res: ServerResponse, status: number, type: string, text: string, headers: Headers = {}): void {
  if (res.headersSent || res.destroyed) return;
  const length = String(Buffer.byteLength(text));
  res.writeHead(status, { ...headers, 'content-type': `${type}; charset=utf-8`, 'content-length': length });
  res.end(res.req.method === 'HEAD' ? undefined : text);
}

/** Answers with JSON. */
export function answerJson(res: ServerResponse, status: number, value: unknown): void {
  answer(res, status, 'application/json', JSON.stringify(value));
}

/** The target of a request: its path below the base, and its parameters. */
export interface Target {
  /** Without the leading slash. `undefined`: the base path without its trailing slash. */
  readonly path: string | undefined;
  readonly params: URLSearchParams;
  /** For {@link path} `undefined`: the page, relative to the requested URL. */
  readonly page: string;
}

/**
 * Removes the base path. A framework that mounts the handler (`app.use(path, handler)`) has already removed it from
 * `url`. Nothing is decoded: a path that is written differently is not found.
 *
 * @param basePath - without a trailing slash
 * @returns `undefined`: not below the base path
 */
export function targetOf(req: DashboardRequest, basePath: string): Target | undefined {
  const [path, query] = splitUrl(req.url ?? '/');
  const [asked] = splitUrl(req.originalUrl ?? req.url ?? '/');
  const params = new URLSearchParams(query);
  // Relative, so that it also works behind a proxy that has removed a part of the path.
  const page = `./${asked.slice(asked.lastIndexOf('/') + 1)}/${query === '' ? '' : `?${query}`}`;
  const isMounted = req.baseUrl !== undefined && req.baseUrl !== '' && req.baseUrl.endsWith(basePath);
  const below = path === basePath ? '' : path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined;
  const rest = below ?? (isMounted && path.startsWith('/') ? path : undefined);
  if (rest === undefined) return undefined;
  const isBase = rest === '' || (rest === '/' && !asked.endsWith('/'));
  return { path: isBase && asked !== '' ? undefined : rest.slice(1), params, page };
}

function splitUrl(url: string): [path: string, query: string] {
  const at = url.indexOf('?');
  return at === -1 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)];
}

/** @throws Refusal if the URL is too long */
export function checkUrl(req: DashboardRequest): void {
  if ((req.url ?? '').length > MAX_URL) throw new Refusal(414, 'The URL is too long.');
}

/** @throws Refusal for any other method */
export function checkMethod({ method = 'GET' }: IncomingMessage, ...allowed: readonly string[]): void {
  if (allowed.includes(method)) return;
  throw new Refusal(405, `Use ${allowed.join(' or ')}.`, { allow: allowed.join(', ') });
}

/**
 * Reads a JSON body.
 * @throws Refusal for another content type, a body that is too large or too slow, or one that is no object
 */
export async function readJson(req: DashboardRequest): Promise<Readonly<Record<string, unknown>>> {
  const type = (req.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  if (type !== 'application/json') throw new Refusal(415, 'Send application/json.');
  const body = req.body === undefined || req.body === null ? parse(await readBody(req)) : req.body;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw new Refusal(400, 'Send a JSON object.');
  return body as Readonly<Record<string, unknown>>;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(400, 'The body is no JSON.');
  }
}

async function readBody(req: IncomingMessage): Promise<string> {
  const tooLarge = new Refusal(413, 'The body is too large.', { connection: 'close' });
  if (Number(req.headers['content-length'] ?? 0) > MAX_BODY) throw tooLarge;
  if (req.readableEnded) throw new Refusal(400, 'A body parser has read the body and left nothing in req.body.');
  const parts: Buffer[] = [];
  let size = 0;
  const signal = AbortSignal.timeout(BODY_MS);
  try {
    for await (const [part] of on(req, 'data', { signal, close: ['end'] }) as AsyncIterable<[Buffer]>) {
      size += part.length;
      if (size > MAX_BODY) throw tooLarge;
      parts.push(part);
    }
  } catch (error) {
    req.pause();
    if (signal.aborted) throw new Refusal(408, 'The body takes too long.', { connection: 'close' });
    if (error === tooLarge) throw tooLarge;
    throw new Refusal(400, 'The request was aborted.');
  }
  return Buffer.concat(parts).toString('utf8');
}

/** The header that carries the token. Another origin's page cannot send it without a preflight, which we refuse. */
export const TOKEN_HEADER = 'x-ioredisson-token';
/** How long a token is valid, in ms. A page fetches one when it needs it. */
const TOKEN_MS = 60 * 60_000;

/** Makes and checks the tokens of changes. A token proves that its sender could read one of our answers. */
export class Tokens {
  readonly #secret: Buffer;

  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  create(): string {
    const until = String(Date.now() + TOKEN_MS);
    return `${until}.${this.#sign(until)}`;
  }

  /** @throws Refusal */
  check(req: DashboardRequest): void {
    const given = req.headers[TOKEN_HEADER];
    const [until = '', signature = ''] = typeof given === 'string' ? given.split('.') : [];
    const [a, b] = [Buffer.from(signature), Buffer.from(this.#sign(until))];
    const isOurs = a.length === b.length && timingSafeEqual(a, b);
    if (!isOurs || !(Number(until) > Date.now())) {
      throw new Refusal(
        403,
        `The token in the header ${TOKEN_HEADER} is missing, wrong or too old. Load the page again.`,
      );
    }
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#secret).update(text).digest('base64url');
  }
}

/**
 * Only a page of our own may change something. The browser sends the origin of the page with each change, and no page
 * can forge it: `Sec-Fetch-Site` (on https and localhost), and `Origin`, which must match the host of the request.
 *
 * @throws Refusal
 */
export function checkSameOrigin(req: DashboardRequest): void {
  const { origin, host, 'sec-fetch-site': site, 'x-forwarded-host': forwarded } = req.headers;
  if (site !== undefined && site !== 'same-origin') throw new Refusal(403, 'This comes from a page of another origin.');
  if (origin === undefined && site === undefined) {
    throw new Refusal(403, 'Neither Origin nor Sec-Fetch-Site says where this comes from.');
  }
  if (origin === undefined) return;
  // A proxy that changes Host passes the original on. A page cannot set that header across origins without a
  // preflight.
  const ours = [host, ...String(forwarded ?? '').split(',')].flatMap((one) => one?.trim().toLowerCase() || []);
  if (!ours.includes(hostOf(origin))) throw new Refusal(403, 'This comes from a page of another origin.');
}

/**
 * Whether a request uses a host name of this server. With DNS rebinding another site makes its name point here, and
 * the browser then takes its page and this server for one origin.
 *
 * @param hosts - the known names; `undefined`: an address, `localhost`, or the name of the machine
 */
export function isKnownHost({ headers }: DashboardRequest, hosts: readonly string[] | undefined): boolean {
  const host = (headers.host ?? '').toLowerCase();
  const bare = host.replace(/:\d+$/, '');
  if (hosts !== undefined) return hosts.some((one) => [host, bare].includes(one.toLowerCase()));
  return isIP(bare.replace(/^\[(.*)\]$/, '$1')) !== 0 || ['localhost', hostname().toLowerCase()].includes(bare);
}

function hostOf(origin: string): string {
  // `null` comes from a sandboxed page or a file.
  return URL.canParse(origin) ? new URL(origin).host : '';
}

/** A page's request to release a lock. */
export interface UnlockRequest {
  readonly name: string;
  /** The holders that the user has seen; `null`: those at the time of the request. */
  readonly holders: readonly string[] | null;
}

type Body = Readonly<Record<string, unknown>>;

/** Reads a request to release a lock. @throws Refusal unless the user typed the name, and the holders are given */
export function readUnlock(body: Body): UnlockRequest {
  const { holders } = body;
  const name = readName(body);
  const isList = Array.isArray(holders) && holders.every((one) => typeof one === 'string');
  // JSON omits `undefined`: a client that has lost its list must not release another holder's lock.
  if (holders !== null && !isList)
    throw new Refusal(400, 'Send the owners that you have seen as holders; null: whoever has it now.');
  return { name, holders };
}

/** Reads a request about permits or a latch. @throws Refusal unless the user typed the name, and says what to do */
export function readRemedy(body: Body): { readonly name: string; readonly remedy: Remedy } {
  const { action, permits, permitId } = body;
  const name = readName(body);
  switch (action) {
    case 'addPermits':
      if (!Number.isInteger(permits) || Number(permits) < 1 || Number(permits) > MAX_PERMITS) {
        throw new Refusal(400, `Send how many permits to add, from 1 to ${MAX_PERMITS}, as permits.`);
      }
      return { name, remedy: { action, permits: Number(permits) } };
    case 'releasePermit':
      if (typeof permitId !== 'string' || !/^[\da-f]{32}$/.test(permitId)) {
        throw new Refusal(400, 'Send the id of the permit, 32 hex characters, as permitId.');
      }
      return { name, remedy: { action, id: permitId } };
    case 'openLatch':
      return { name, remedy: { action } };
    default:
      throw new Refusal(400, 'action must be one of addPermits, releasePermit, openLatch');
  }
}

/** The largest number of permits in Java. */
const MAX_PERMITS = 2 ** 31 - 1;

function readName({ name, confirm }: Body): string {
  if (typeof name !== 'string' || name === '') throw new Refusal(400, 'Send the name of the lock as name.');
  if (confirm !== name) throw new Refusal(400, 'Type the name of the lock: confirm must be equal to name.');
  return name;
}
