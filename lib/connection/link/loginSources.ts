import { once } from 'node:events';
import type {
  BasicAuth,
  Credentials,
  CredentialsFunction,
  CredentialsRequest,
  StreamingCredentialsProvider,
} from '../../config/Credentials';
import { inTime, jittered } from '../../util/timing';
import { callUserCode } from '../../util/userCode';

/** The name and password for a server. */
export interface Login {
  readonly username: string | undefined;
  readonly password: string;
  /** How long it is valid from when it was given, in ms; `undefined`: unknown. */
  readonly expiresIn: number | undefined;
}

/** Where logins come from: the user's `credentials`, or, in the watchdog thread, the main thread. */
export interface LoginSource {
  /**
   * @param unwanted - aborts: rejects at once, without a timer left
   * @returns the current login; rejects with an error without secrets
   */
  ask(request: CredentialsRequest, unwanted: AbortSignal): Promise<Login>;
  /** Called when the source has a new login that was not requested. */
  readonly listeners: Set<() => void>;
  /**
   * The source gave no login, or a server has refused it.
   * @param login - the refused one
   */
  refused?(error: Error, login?: Login): void;
  /** No connection needs a login for now. */
  rest?(): void;
}

/** How many of the last passwords are remembered, to keep them out of errors. */
const REMEMBERED = 8;
/** The shortest time between two new subscriptions to a provider whose logins are refused, in ms. */
const ANEW_MS = 10_000;
/** The first and the longest pause before a new subscription to a provider that has given up, in ms. */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;

/** @param limitMs - how long the user's code may take, in ms */
export function loginSource(credentials: Credentials, limitMs: number): LoginSource {
  return typeof credentials === 'function'
    ? askedLogins(credentials, limitMs)
    : new StreamedLogins(credentials, limitMs);
}

/** Logins from a function of the user, which is called each time. */
function askedLogins(give: CredentialsFunction, limitMs: number): LoginSource {
  const secrets = new Secrets();
  return {
    listeners: new Set(),
    async ask(request, unwanted) {
      try {
        const given = await within(limitMs, unwanted, async () => give(request));
        return secrets.read(given, 'credentials returned');
      } catch (error) {
        throw secrets.hide(error, 'credentials');
      }
    },
  };
}

/**
 * Logins of a provider that reports new ones by itself. One subscription serves all connections.
 *
 * States: none -> subscribing -> subscribed -> none (at rest, or the provider has given up: then it is tried again).
 */
class StreamedLogins implements LoginSource {
  readonly listeners = new Set<() => void>();
  readonly #provider: StreamingCredentialsProvider;
  readonly #limitMs: number;
  readonly #secrets = new Secrets();
  #subscribing: Promise<Login> | undefined;
  #dispose: (() => void) | undefined;
  #login: Login | undefined;
  /** Subscribes anew, and notifies the live connections. */
  #retry: NodeJS.Timeout | undefined;
  #resting = new AbortController();
  #failures = 0;
  /** Monotonic time from which a refused login ends the subscription. */
  #anewAt = -Infinity;
  /** Counts the subscriptions: reports of earlier ones are ignored. */
  #subscription = 0;

  constructor(provider: StreamingCredentialsProvider, limitMs: number) {
    this.#provider = provider;
    this.#limitMs = limitMs;
  }

  async ask(_request: CredentialsRequest, unwanted: AbortSignal): Promise<Login> {
    try {
      return this.#login ?? (await within(this.#limitMs, unwanted, () => this.#subscribe()));
    } catch (error) {
      // A subscription that hangs is not waited for again.
      if (this.#login === undefined && !unwanted.aborted) {
        if (this.#retry === undefined) this.#end();
        else this.#again();
      }
      throw this.#secrets.hide(error, 'credentials.subscribe');
    }
  }

  refused(error: Error, login?: Login): void {
    // The login was replaced meanwhile: the next attempt uses the newer one.
    if (login !== undefined && this.#login !== undefined && login !== this.#login) return;
    // The provider may not know of the refusal: the next request subscribes anew, and may get another login.
    if (login !== undefined && login === this.#login && performance.now() >= this.#anewAt) {
      this.#anewAt = performance.now() + ANEW_MS;
      this.#end();
    }
    this.#callUserCode('credentials.onReAuthenticationError', () => this.#provider.onReAuthenticationError?.(error));
  }

  rest(): void {
    this.#end();
    this.#resting.abort(new Error('no longer needed'));
    this.#resting = new AbortController();
    this.#failures = 0;
  }

  #subscribe(): Promise<Login> {
    const number = (this.#subscription += this.#subscribing === undefined ? 1 : 0);
    this.#subscribing ??= this.#start(number).finally(() => {
      if (number === this.#subscription) this.#subscribing = undefined;
    });
    return this.#subscribing;
  }

  async #start(number: number): Promise<Login> {
    const isOurs = (): boolean => number === this.#subscription;
    let ended: Error | undefined;
    const onNext = (given: BasicAuth): void => {
      if (!isOurs()) return;
      try {
        this.#login = this.#secrets.read(given, 'credentials reported');
      } catch (error) {
        ended = error as Error;
        this.refused(ended);
        return this.#again();
      }
      this.#failures = 0;
      this.#tell();
    };
    const onError = (error: Error): void => {
      if (!isOurs()) return;
      ended = this.#secrets.hide(error, 'credentials');
      this.refused(ended);
      this.#again();
    };
    const reply: unknown = await this.#provider.subscribe({ onNext, onError });
    const [given, subscription] = Array.isArray(reply) ? (reply as unknown[]) : [];
    const ending = subscription as { dispose?: () => unknown } | undefined;
    const dispose = (): void => this.#callUserCode('dispose() of credentials', () => ending?.dispose?.());
    if (!isOurs()) {
      dispose();
      throw ended ?? new Error('no longer needed');
    }
    // The last one may have given what is no login, to a connection that was given up meanwhile.
    this.#dispose?.();
    this.#dispose = dispose;
    // A login reported meanwhile is newer.
    return (this.#login ??= this.#secrets.read(given, 'credentials.subscribe returned'));
  }

  #callUserCode(what: string, call: () => unknown): void {
    callUserCode(what, call, { show: (error) => this.#secrets.hide(error, what).message });
  }

  #tell(): void {
    for (const listener of this.listeners) listener();
  }

  /** The subscription has ended by itself: live connections need the next login. */
  #again(): void {
    this.#end();
    const pause = jittered(Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, MAX_PAUSE_MS));
    this.#retry = setTimeout(() => void this.#resume(), pause).unref();
  }

  async #resume(): Promise<void> {
    const { signal } = this.#resting;
    try {
      // A connection may have requested a login meanwhile: then there is a subscription.
      if (this.#login === undefined) await within(this.#limitMs, signal, () => this.#subscribe());
      this.#retry = undefined;
    } catch (error) {
      if (signal.aborted) return;
      this.refused(this.#secrets.hide(error, 'credentials.subscribe'));
      return this.#again();
    }
    this.#tell();
  }

  #end(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#subscription++;
    const dispose = this.#dispose;
    this.#dispose = this.#login = this.#subscribing = undefined;
    dispose?.();
  }
}

/** Reads the logins that the user's code gives, and keeps them out of errors. */
class Secrets {
  readonly #last: string[] = [];

  /** @throws Error if it is not a login; without its values */
  read(given: unknown, where: string): Login {
    const { username, password, expiresIn } = (given ?? {}) as Record<string, unknown>;
    if (typeof password !== 'string' || password === '') {
      throw new Error(`${where} no password (a non-empty string)`);
    }
    if (this.#last[0] !== password) this.#last.unshift(password);
    this.#last.length = Math.min(this.#last.length, REMEMBERED);
    if (username !== undefined && username !== null && typeof username !== 'string') {
      throw new Error(`${where} a username that is no string`);
    }
    if (expiresIn !== undefined && expiresIn !== null && !(typeof expiresIn === 'number' && expiresIn > 0)) {
      throw new Error(`${where} an expiresIn that is no positive number of milliseconds`);
    }
    const name = username === '' || username === null ? undefined : username;
    return { username: name, password, expiresIn: expiresIn ?? undefined };
  }

  /** An error with only the message of another one. */
  hide(error: unknown, where: string): Error {
    const said = error instanceof Error ? error.message : typeof error === 'string' ? error : 'it failed';
    const shown = this.#last.reduce((text, password) => text.replaceAll(password, '[redacted]'), said);
    return new Error(shown.startsWith('credentials') ? shown : `${where}: ${shown}`);
  }
}

/** The result of the user's code, within a time limit. */
async function within<T>(ms: number, unwanted: AbortSignal, act: () => Promise<T>): Promise<T> {
  unwanted.throwIfAborted();
  const over = new AbortController();
  const aborted = once(unwanted, 'abort', { signal: over.signal }).then(() => Promise.reject(unwanted.reason as Error));
  try {
    const given = await inTime(Promise.race([act(), aborted]), ms);
    if (given !== undefined) return given.value;
    throw new Error(`no answer within ${ms} ms`);
  } finally {
    over.abort();
  }
}
