import pDefer, { type DeferredPromise } from 'p-defer';
import type { MessagePort } from 'node:worker_threads';
import type { CredentialsRequest } from '../../config/Credentials';
import { inTime } from '../../util/timing';
import type { Login, LoginSource } from './loginSources';

/**
 * A main thread that does not answer within this many ms is busy: its last login for such a server is used, if valid.
 */
const BUSY_MS = 500;

/** The requests of the watchdog thread. */
interface Question {
  readonly ticket: number;
  readonly request: CredentialsRequest;
}

/** The messages of the main thread: an answer, or that there are new logins. */
type Answer =
  { readonly ticket: number; readonly login: Login } | { readonly ticket: number; readonly error: string } | 'changed';

/**
 * Answers the watchdog thread, which cannot be given the user's function.
 * @returns a function that stops it
 */
export function serveLogins(source: LoginSource, port: MessagePort): () => void {
  const over = new AbortController();
  const tell = (answer: Answer): void => port.postMessage(answer);
  const changed = (): void => tell('changed');
  source.listeners.add(changed);
  port.on('message', ({ ticket, request }: Question) => {
    source.ask(request, over.signal).then(
      (login) => tell({ ticket, login }),
      (error: Error) => tell({ ticket, error: error.message }),
    );
  });
  port.unref();
  return () => {
    source.listeners.delete(changed);
    over.abort();
    port.close();
  };
}

/** The logins of the watchdog thread: those of the main thread, which gets the same refusals, and ends the source. */
export class PortLogins implements LoginSource {
  readonly listeners = new Set<() => void>();
  readonly #port: MessagePort;
  readonly #limitMs: number;
  readonly #open = new Map<number, DeferredPromise<Login> & { readonly request: CredentialsRequest }>();
  #count = 0;
  /** The last logins by {@link placesOf}, and until when (monotonic) they are valid. */
  readonly #last = new Map<string, { readonly login: Login; readonly until: number }>();

  /** @param limitMs - how long the main thread may take, in ms */
  constructor(port: MessagePort, limitMs: number) {
    this.#port = port;
    this.#limitMs = limitMs;
    port.on('message', (answer: Answer) => {
      if (answer === 'changed') return this.listeners.forEach((listener) => listener());
      const question = this.#open.get(answer.ticket)!;
      this.#open.delete(answer.ticket);
      if ('error' in answer) return question.reject(new Error(answer.error));
      const { login } = answer;
      const until = performance.now() + (login.expiresIn ?? Infinity);
      for (const place of placesOf(question.request)) this.#last.set(place, { login, until });
      question.resolve(login);
    });
  }

  async ask(request: CredentialsRequest): Promise<Login> {
    const ticket = ++this.#count;
    const asked = { ...pDefer<Login>(), request };
    this.#open.set(ticket, asked);
    this.#port.postMessage({ ticket, request } satisfies Question);
    const busyMs = Math.min(BUSY_MS, this.#limitMs);
    const soon = await inTime(asked.promise, busyMs);
    const login = soon?.value ?? this.#known(request) ?? (await inTime(asked.promise, this.#limitMs - busyMs))?.value;
    if (login !== undefined) return login;
    throw new Error(`credentials: no answer within ${this.#limitMs} ms: the event loop is blocked`);
  }

  /** The last login of such a server that is still valid. */
  #known(request: CredentialsRequest): Login | undefined {
    const now = performance.now();
    const last = placesOf(request).flatMap((place) => this.#last.get(place) ?? []);
    const valid = last.find(({ until }) => until > now);
    return valid && { ...valid.login, expiresIn: valid.login.expiresIn && valid.until - now };
  }
}

/** What logins are kept by: the server, and its sort for one that is new. Sentinels have logins of their own. */
function placesOf({ host, port, role }: CredentialsRequest): readonly string[] {
  return [`${host}:${port}`, role === 'sentinel' ? role : 'server'];
}
