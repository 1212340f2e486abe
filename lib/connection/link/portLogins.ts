import pDefer, { type DeferredPromise } from 'p-defer';
import type { MessagePort } from 'node:worker_threads';
import type { CredentialsRequest } from '../../config/Credentials';
import { inTime } from '../../util/timing';
import type { Login, LoginSource } from './loginSources';

/** A main thread that does not answer within this many ms is busy: its last login is used, if that is still valid. */
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
  readonly #open = new Map<number, DeferredPromise<Login>>();
  #count = 0;
  #last: { readonly login: Login; readonly at: number } | undefined;

  /** @param limitMs - how long the main thread may take, in ms */
  constructor(port: MessagePort, limitMs: number) {
    this.#port = port;
    this.#limitMs = limitMs;
    port.on('message', (answer: Answer) => {
      if (answer === 'changed') return this.listeners.forEach((listener) => listener());
      const question = this.#open.get(answer.ticket);
      this.#open.delete(answer.ticket);
      if ('error' in answer) return question?.reject(new Error(answer.error));
      this.#last = { login: answer.login, at: performance.now() };
      question?.resolve(answer.login);
    });
  }

  async ask(request: CredentialsRequest): Promise<Login> {
    const ticket = ++this.#count;
    const question = pDefer<Login>();
    this.#open.set(ticket, question);
    this.#port.postMessage({ ticket, request } satisfies Question);
    const busyMs = Math.min(BUSY_MS, this.#limitMs);
    const soon = await inTime(question.promise, busyMs);
    const login = soon?.value ?? this.#known() ?? (await inTime(question.promise, this.#limitMs - busyMs))?.value;
    this.#open.delete(ticket);
    if (login !== undefined) return login;
    throw new Error(`credentials: no answer within ${this.#limitMs} ms: the event loop is blocked`);
  }

  /** The last login, if it is still valid. */
  #known(): Login | undefined {
    if (this.#last === undefined) return undefined;
    const { login, at } = this.#last;
    if (login.expiresIn === undefined) return login;
    const left = login.expiresIn - (performance.now() - at);
    return left > 0 ? { ...login, expiresIn: left } : undefined;
  }
}
