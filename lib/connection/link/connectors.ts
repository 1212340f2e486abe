import { type Redis, type RedisOptions, SentinelConnector } from 'ioredis';
import * as net from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import * as tls from 'node:tls';
import type { CredentialsRequest } from '../../config/Credentials';
import type { NodeAddress } from '../../config/Topology';
import { jittered } from '../../util/timing';
import { withoutParser } from './Handshake';
import { watchSentinels } from './ioredisCompat';
import { type Logins, searchError } from './Logins';
import { DISCONNECT_MS } from './ownOptions';
import { TLS_HINTS } from './driverError';

/** How a connection of ioredis gets its socket. */
export type Connector = NonNullable<RedisOptions['Connector']>;

/**
 * Chooses a server.
 * @param unwanted - aborts when a server is no longer needed: ends at once, without timers or sockets left
 */
export type Choice = (trouble: (error: Error) => void, unwanted: AbortSignal) => Promise<NodeAddress>;

/** How the sockets of a connector are logged in, where passwords change. */
export interface LoginPlan {
  readonly logins: Logins;
  /** The role of a server, as far as it is known. */
  readonly roleOf: (address: NodeAddress) => CredentialsRequest['role'];
}

/** The option for connections that connect to the server in their options, and are logged in by us. */
export function loginOption(logins: Logins | undefined, roleOf: LoginPlan['roleOf']): Pick<RedisOptions, 'Connector'> {
  return logins === undefined ? {} : { Connector: chosenConnector(undefined, false, { logins, roleOf }) };
}

/**
 * An ioredis connector (its option `Connector`) that chooses its server anew at each connect.
 *
 * @param choose - must not reject while a server is needed, since ioredis would never connect again: it reports
 *   trouble and tries again; `undefined`: the server in the connection's options
 * @param masterOnly - whether to leave a server at once that is a replica
 * @param login - how its sockets are logged in; `undefined`: by ioredis
 */
export function chosenConnector(choose: Choice | undefined, masterOnly: boolean, login?: LoginPlan): Connector {
  class ChosenConnector {
    firstError: Error | undefined;
    readonly #options: RedisOptions;
    #unwanted = new AbortController();
    #stream: net.Socket | undefined;

    constructor(options: RedisOptions) {
      this.#options = options;
    }

    check(info: { readonly role?: string }): boolean {
      return !masterOnly || info.role === undefined || info.role === 'master';
    }

    async connect(emit: (type: 'error', error: Error) => void): Promise<net.Socket> {
      const { signal } = (this.#unwanted = new AbortController());
      const options = this.#options;
      const address = await (choose?.((error) => emit('error', error), signal) ??
        Promise.resolve({ host: options.host!, port: options.port! }));
      signal.throwIfAborted();
      const { host, port } = address;
      this.#stream = this.firstError = undefined;
      const open = (): net.Socket => {
        signal.throwIfAborted();
        const stream: net.Socket = options.tls
          ? tls.connect({ host, port, ...options.tls })
          : net.connect({ host, port });
        stream.once('error', (error) => (this.firstError = error));
        return (this.#stream = stream);
      };
      if (login === undefined) return open();
      const request = { host, port, role: login.roleOf(address) };
      try {
        return await login.logins.open(request, options.tls !== undefined, open, signal);
      } catch (error) {
        // A connection for one question is not opened again: the caller gets the error.
        if (signal.aborted || options.retryStrategy === null) throw error;
        this.firstError = error as Error;
        return broken(this.#stream);
      }
    }

    disconnect(): void {
      this.#unwanted.abort(new Error('Connection is closed.'));
      const stream = this.#stream;
      if (stream === undefined) return;
      const timer = setTimeout(() => stream.destroy(), this.#options.disconnectTimeout);
      stream.on('close', () => clearTimeout(timer));
      stream.end();
    }
  }
  return ChosenConnector as never;
}

/** What ioredis takes for a socket that an error has closed, so that it connects anew. */
function broken(stream = new net.Socket()): net.Socket {
  return stream.destroy();
}

/** Each pause after a round in which no sentinel named a master grows by this many ms ... */
const STEP_MS = 50;
/** ... up to this one. */
const MAX_PAUSE_MS = 1_000;
const SENTINEL_PORT = 26_379;
/** Where sentinels say that a master was replaced: its name, its address, and the new one. */
const SWITCHED = '+switch-master';
/** A sentinel that is away is connected to again after this many ms at most. */
const LISTEN_AGAIN_MS = 5_000;

type EmitError = (type: string, error: Error) => void;

/**
 * The sentinel connector of ioredis, made to stop: after a disconnect(), ioredis' own goes on with its pauses and its
 * connections to sentinels, and keeps the process alive meanwhile (B10).
 *
 * @param connectionName - of the connections to the sentinels
 * @param logins - how the master is logged in, where passwords change, ...
 * @param sentinelLogins - ... and how the sentinels are, unless they have a password of their own
 */
export function sentinelConnector(
  connectionName: string | undefined,
  logins?: Logins,
  sentinelLogins = logins,
): Connector {
  const options = {
    disconnectTimeout: DISCONNECT_MS,
    ...(connectionName !== undefined && { connectionName }),
    ...loginOption(sentinelLogins, () => 'sentinel'),
  };

  class EndableConnector {
    readonly #inner: SentinelConnector;
    readonly #given: RedisOptions;
    readonly #secure: boolean;
    /** Whether it connects to the sentinels without TLS. */
    readonly #plain: boolean;
    #loginError: Error | undefined;
    readonly #sentinels = new Set<Redis>();
    /** The sentinel that was asked last. */
    #asked: Redis | undefined;
    #stopListening = (): void => undefined;
    /** The errors of the connections to sentinels in this round. */
    #errors: Error[] = [];
    #unwanted = new AbortController();

    constructor(given: RedisOptions) {
      this.#inner = new SentinelConnector(given);
      this.#given = given;
      this.#secure = given.enableTLSForSentinelMode === true && given.tls !== undefined;
      this.#plain = given.sentinelTLS === undefined;
      const { sentinelCommandTimeout } = given;
      watchSentinels(this.#inner, options, (sentinel) => {
        this.#sentinels.add((this.#asked = sentinel));
        let timer: NodeJS.Timeout | undefined;
        sentinel.on('error', (error: Error) => this.#errors.push(error));
        // Replaces ioredis' own time-out, whose timer (before 5.11) goes on after a command that was refused (B10).
        delete sentinel.options.commandTimeout;
        const ask = (): unknown => (timer = setTimeout(() => sentinel.disconnect(), sentinelCommandTimeout));
        if (sentinelCommandTimeout !== undefined) sentinel.once('connect', ask);
        sentinel.once('end', () => {
          clearTimeout(timer);
          this.#sentinels.delete(sentinel);
        });
      });
    }

    get firstError(): Error | undefined {
      return this.#loginError ?? (this.#inner as unknown as { firstError?: Error }).firstError;
    }

    check(info: { readonly role?: string }): boolean {
      return this.#inner.check(info);
    }

    async connect(emit: EmitError): Promise<Socket> {
      const { signal } = (this.#unwanted = new AbortController());
      for (let round = 1; ; round++) {
        this.#errors = [];
        try {
          const stream = await this.#inner.connect(emit);
          this.#leaveWhenReplaced(stream);
          return await this.#loggedIn(stream, signal);
        } catch (error) {
          if (signal.aborted) throw error;
          emit('error', searchError(withoutAdvice(error as Error, this.#plain), this.#errors));
        }
        await pause(jittered(Math.min(round * STEP_MS, MAX_PAUSE_MS)), undefined, { signal }).catch(() => undefined);
        if (signal.aborted) throw new Error('Connection is closed.');
      }
    }

    /** A replaced master serves beside its successor for some 10 s, until the sentinels make it a replica. */
    #leaveWhenReplaced(stream: Socket): void {
      const asked = this.#asked;
      // An ioredis whose connections to sentinels cannot be watched: the master is left when it becomes a replica.
      if (asked === undefined) return;
      const { name, sentinels = [], keepAlive = 0 } = this.#given;
      const retryStrategy = (times: number) => jittered(Math.min(times ** 2 * STEP_MS, LISTEN_AGAIN_MS));
      const listening = { keepAlive, retryStrategy, autoResubscribe: false };
      const ends = [...new Set(sentinels)].map(({ host, port = SENTINEL_PORT }) => {
        const sentinel = asked.duplicate({ ...listening, host: host!, port });
        const leave = sentinelLogins?.keep(sentinel, { reopen: () => sentinel.disconnect(true) });
        sentinel.on('error', () => undefined);
        sentinel.on('ready', () => void sentinel.subscribe(SWITCHED).catch(() => undefined));
        sentinel.on('message', (_, text: string) => {
          if (!text.startsWith(`${name} `)) return;
          this.#stopListening();
          this.#inner.disconnect();
        });
        return () => {
          leave?.();
          sentinel.disconnect();
        };
      });
      this.#stopListening = () => ends.splice(0).forEach((end) => end());
      stream.once('close', this.#stopListening);
    }

    async #loggedIn(stream: Socket, signal: AbortSignal): Promise<Socket> {
      this.#loginError = undefined;
      if (logins === undefined) return stream;
      try {
        await logins.logIn(stream, 'master', this.#secure, signal);
        return stream;
      } catch (error) {
        this.#loginError = error as Error;
        return broken(stream);
      }
    }

    disconnect(): void {
      this.#unwanted.abort();
      this.#inner.disconnect();
      this.#stopListening();
      for (const sentinel of this.#sentinels) sentinel.disconnect();
    }
  }
  return EndableConnector as never;
}

/** The error of ioredis when a sentinel closed a connection. */
const ENDED = /Last error: (?:Connection is closed|read ECONNRESET)(?=\.)/;

/** The texts of ioredis would say that it does not try again, and describe its parser. */
function withoutAdvice(error: Error, plain: boolean): Error {
  const message = withoutParser(error.message.replace(' and retry is disabled', ''));
  error.message = plain ? message.replace(ENDED, `$& (${TLS_HINTS.maybeTheirs})`) : message;
  return error;
}
