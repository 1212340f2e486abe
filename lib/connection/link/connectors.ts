import { type Redis, type RedisOptions, SentinelConnector } from 'ioredis';
import * as net from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import * as tls from 'node:tls';
import type { NodeAddress } from '../../config/Topology';
import { jittered } from '../../util/timing';
import { watchSentinels } from './ioredisCompat';
import { DISCONNECT_MS } from './ownOptions';

/** Chooses a server. @param unwanted - aborts when nobody wants one any more: it ends at once, and leaves nothing */
export type Choice = (trouble: (error: Error) => void, unwanted: AbortSignal) => Promise<NodeAddress>;

/**
 * An ioredis connector (its option `Connector`) that has its server chosen anew each time it connects.
 *
 * @param choose - must not reject while it is wanted, since ioredis would never connect again: it tells of trouble and
 *   tries on
 * @param masterOnly - whether a server that is a replica is left at once
 */
export function chosenConnector(choose: Choice, masterOnly: boolean): NonNullable<RedisOptions['Connector']> {
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
      const { host, port } = await choose((error) => emit('error', error), signal);
      signal.throwIfAborted();
      const stream: net.Socket = this.#options.tls
        ? tls.connect({ host, port, ...this.#options.tls })
        : net.connect({ host, port });
      stream.once('error', (error) => (this.firstError = error));
      this.#stream = stream;
      return stream;
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

/** Each pause after a round in which no sentinel named a master is longer by so many ms ... */
const STEP_MS = 50;
/** ... up to this one. */
const MAX_PAUSE_MS = 1_000;

type EmitError = (type: string, error: Error) => void;

/**
 * The sentinel connector of ioredis, which can be ended: ioredis' own goes on with its pauses and its connections to
 * sentinels after a disconnect(), and keeps the process alive meanwhile (B10).
 *
 * @param connectionName - of the connections to the sentinels
 */
export function sentinelConnector(connectionName: string | undefined): NonNullable<RedisOptions['Connector']> {
  const options = { disconnectTimeout: DISCONNECT_MS, ...(connectionName !== undefined && { connectionName }) };

  class EndableConnector {
    readonly #inner: SentinelConnector;
    readonly #sentinels = new Set<Redis>();
    #unwanted = new AbortController();

    constructor(given: RedisOptions) {
      this.#inner = new SentinelConnector(given);
      const { sentinelCommandTimeout } = given;
      watchSentinels(this.#inner, options, (sentinel) => {
        this.#sentinels.add(sentinel);
        let timer: NodeJS.Timeout | undefined;
        if (sentinel.options.lazyConnect !== true) {
          // In place of ioredis' own time-out, whose timer goes on (before 5.11) after a command that was refused (B10).
          delete sentinel.options.commandTimeout;
          const ask = (): unknown => (timer = setTimeout(() => sentinel.disconnect(), sentinelCommandTimeout));
          if (sentinelCommandTimeout !== undefined) sentinel.once('connect', ask);
        }
        sentinel.once('end', () => {
          clearTimeout(timer);
          this.#sentinels.delete(sentinel);
        });
      });
    }

    get firstError(): Error | undefined {
      return (this.#inner as unknown as { firstError?: Error }).firstError;
    }

    check(info: { readonly role?: string }): boolean {
      return this.#inner.check(info);
    }

    async connect(emit: EmitError): Promise<Socket> {
      const { signal } = (this.#unwanted = new AbortController());
      for (let round = 1; ; round++) {
        try {
          return await this.#inner.connect(emit);
        } catch (error) {
          if (signal.aborted) throw error;
          emit('error', withoutAdvice(error as Error));
        }
        await pause(jittered(Math.min(round * STEP_MS, MAX_PAUSE_MS)), undefined, { signal }).catch(() => undefined);
        if (signal.aborted) throw new Error('Connection is closed.');
      }
    }

    disconnect(): void {
      this.#unwanted.abort();
      this.#inner.disconnect();
      for (const sentinel of this.#sentinels) sentinel.disconnect();
    }
  }
  return EndableConnector as never;
}

/** ioredis would say that nobody tries again. */
function withoutAdvice(error: Error): Error {
  error.message = error.message.replace(' and retry is disabled', '');
  return error;
}
