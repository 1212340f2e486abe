import type { Redis } from 'ioredis';
import type { Socket } from 'node:net';
import type { CredentialsRequest } from '../../config/Credentials';
import { MAX_TIMER_MS } from '../../util/duration';
import { runOutside } from '../../util/outside';
import { jittered } from '../../util/timing';
import { authArguments, authenticate, authenticateIfAsked, type AuthenticateOptions, opened } from './authenticate';
import { driverError } from './driverError';
import type { Login, LoginSource } from './loginSources';
import { isReply } from './replyErrors';

/** A login is renewed when this part of its lifetime is over. */
const RENEW_PART = 0.8;
/** ... but no sooner than this, in ms: a token that is always about to expire must not flood its issuer. */
const MIN_RENEW_MS = 100;
/** The first and the longest pause before the next attempt to renew a login, in ms. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 30_000;

/** The login of a connection failed. */
export class LoginError extends Error {
  override readonly name = 'LoginError';
  /** Whether logins have failed for so long that callers need not wait for the next attempt. */
  readonly final: boolean;

  constructor(cause: Error, final: boolean) {
    super(cause.message);
    this.final = final;
  }
}

/**
 * The error of a search among several servers: if some of them refused the login, it is a LoginError, and as final as
 * those refusals.
 *
 * @param reasons - why each of the servers could not be used
 */
export function searchError(end: Error, reasons: readonly unknown[]): Error {
  const logins = reasons.filter((one) => one instanceof LoginError);
  if (logins.length === 0) return end;
  const isFinal = logins.some(({ final }) => final);
  return new LoginError(end, isFinal);
}

/** How a live connection is logged in again: by AUTH, or, where AUTH cannot be sent, by a new connection. */
export type Renew = { readonly auth: (args: string[]) => Promise<unknown> } | { readonly reopen: () => void };

/** What is known of a logged-in socket. */
interface LoggedIn {
  readonly request: CredentialsRequest;
  /** How long its login is valid, in ms. */
  readonly expiresIn: number | undefined;
}

/** The time limits, in ms. */
export type LoginLimits = Omit<AuthenticateOptions, 'secure'>;

/**
 * Logs the connections of one client in, and again before their logins expire: for passwords that change while the
 * client lives.
 *
 * A connection is: login requested -> opened -> logged in -> usable -> (most of its lifetime is over) logged in again
 * ...
 * Failures are retried: a new connection after ioredis' pauses, a live one after its own.
 */
export class Logins {
  readonly #source: LoginSource;
  readonly #limits: LoginLimits;
  readonly #sockets = new WeakMap<Socket, LoggedIn>();
  readonly #kept = new Map<Redis, () => void>();
  /** Since when (monotonic) every login has failed. */
  #failingSince: number | undefined;

  constructor(source: LoginSource, limits: LoginLimits) {
    this.#source = source;
    this.#limits = limits;
    source.listeners.add(() => {
      for (const renew of [...this.#kept.values()]) renew();
    });
  }

  /** For the watchdog thread. */
  get source(): LoginSource {
    return this.#source;
  }

  /**
   * Opens a socket and logs it in.
   *
   * @param open - opens it; called when the login is known
   * @param unwanted - aborts when the connection is no longer needed
   * @throws LoginError, or the error of the socket
   */
  async open(request: CredentialsRequest, secure: boolean, open: () => Socket, unwanted: AbortSignal): Promise<Socket> {
    const options = { secure, ...this.#limits };
    const login = await this.#ask(request, unwanted);
    const stream = open();
    await opened(stream, options);
    await this.#logIn(stream, request, login, options);
    return stream;
  }

  /** As {@link open}, for a socket that is open or about to be. */
  async logIn(stream: Socket, role: CredentialsRequest['role'], secure: boolean, unwanted: AbortSignal): Promise<void> {
    const options = { secure, ...this.#limits };
    await opened(stream, options);
    const request = { host: stream.remoteAddress ?? '', port: stream.remotePort ?? 0, role };
    await this.#logIn(stream, request, await this.#ask(request, unwanted), options);
  }

  /**
   * Keeps a connection logged in from when it is usable until it ends.
   * @param how - how to log it in again
   * @returns a function that ends this at once
   */
  keep(redis: Redis, how: Renew): () => void {
    let timer: NodeJS.Timeout | undefined;
    let failures = 0;
    const over = new AbortController();
    /** Counts the connections and the renewals: results of earlier ones are ignored. */
    let count = 0;
    const renewIn = (ms: number): void => {
      clearTimeout(timer);
      timer = runOutside(() => setTimeout(renew, Math.min(ms, MAX_TIMER_MS))).unref();
    };
    const schedule = (expiresIn: number | undefined): void => {
      failures = 0;
      clearTimeout(timer);
      if (expiresIn !== undefined) renewIn(Math.max(expiresIn * RENEW_PART, MIN_RENEW_MS));
    };
    const again = async (current: LoggedIn): Promise<void> => {
      const number = ++count;
      let login: Login | undefined;
      try {
        login = await this.#source.ask(current.request, over.signal);
        if (number !== count || !('auth' in how)) return;
        await how.auth(authArguments(login));
        if (number === count) schedule(login.expiresIn);
      } catch (error) {
        if (number !== count) return;
        // A connection that was just lost has refused nothing: the next one logs in anyway.
        if (login === undefined || isReply(error as Error)) this.#source.refused?.(driverError(error as Error), login);
        renewIn(jittered(Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures++, 10), MAX_PAUSE_MS)));
      }
    };
    const renew = (): void => {
      const current = redis.status === 'ready' ? this.#sockets.get(redis.stream) : undefined;
      if (current === undefined) return;
      if ('auth' in how) void again(current);
      else how.reopen();
    };
    this.#kept.set(redis, renew);
    redis.on('ready', () => this.#kept.has(redis) && schedule(this.#sockets.get(redis.stream)?.expiresIn));
    redis.on('close', () => {
      count++;
      clearTimeout(timer);
    });
    const end = (): void => {
      count++;
      clearTimeout(timer);
      over.abort();
      if (this.#kept.delete(redis) && this.#kept.size === 0) this.#source.rest?.();
    };
    redis.once('end', end);
    return end;
  }

  async #ask(request: CredentialsRequest, unwanted: AbortSignal): Promise<Login> {
    try {
      return await this.#source.ask(request, unwanted);
    } catch (error) {
      throw unwanted.aborted ? (error as Error) : this.#failed(error as Error);
    }
  }

  /** Logs an open socket in. */
  async #logIn(stream: Socket, request: CredentialsRequest, login: Login, options: AuthenticateOptions): Promise<void> {
    try {
      await (request.role === 'sentinel' ? authenticateIfAsked : authenticate)(stream, login, options);
    } catch (error) {
      if (!isReply(error as Error)) throw error;
      this.#source.refused?.(error as Error, login);
      throw this.#failed(error as Error);
    }
    this.#failingSince = undefined;
    this.#sockets.set(stream, { request, expiresIn: login.expiresIn });
  }

  #failed(error: Error): LoginError {
    const now = performance.now();
    this.#failingSince ??= now;
    return new LoginError(error, now - this.#failingSince >= this.#limits.timeout);
  }
}
