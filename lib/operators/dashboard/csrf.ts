import { createHmac, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { type DashboardRequest, Refusal } from './requests';

/** The header that carries the token. A page of another origin cannot send it without asking first, which we refuse. */
export const TOKEN_HEADER = 'x-ioredisson-token';
/** How long a token is good for, in ms. A page asks for one when it needs it. */
const TOKEN_MS = 60 * 60_000;

/** Makes and checks the tokens that a change has to carry: proof that whoever sends it could read an answer of ours. */
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
 * Only a page of our own may change something. A browser says with a change where the page that asks comes from, and no
 * page can forge that: `Sec-Fetch-Site` (on https and localhost), and `Origin`, which has to be the host of the request.
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
  // A proxy that changes Host tells what it was. A page cannot set that header across origins without asking first.
  const ours = [host, ...String(forwarded ?? '').split(',')].flatMap((one) => one?.trim().toLowerCase() || []);
  if (!ours.includes(hostOf(origin))) throw new Refusal(403, 'This comes from a page of another origin.');
}

/**
 * Whether a request names this server as somebody who means it does. A page of another site whose name has been made to
 * lead here (DNS rebinding) is of the same origin for its browser.
 *
 * @param hosts - the names it has; `undefined`: an address, `localhost`, or the name of the machine
 */
export function isKnownHost({ headers }: DashboardRequest, hosts: readonly string[] | undefined): boolean {
  const host = (headers.host ?? '').toLowerCase();
  const bare = host.replace(/:\d+$/, '');
  if (hosts !== undefined) return hosts.some((one) => [host, bare].includes(one.toLowerCase()));
  return isIP(bare.replace(/^\[(.*)\]$/, '$1')) !== 0 || ['localhost', hostname().toLowerCase()].includes(bare);
}

function hostOf(origin: string): string {
  try {
    return new URL(origin).host;
  } catch {
    // `null`: a sandboxed page, a file.
    return '';
  }
}
