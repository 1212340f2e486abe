import { SentinelConnector, type Redis, type RedisOptions } from 'ioredis';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { jittered } from '../util/jitter';
import { watchSentinels } from './ioredisCompat';
import { DISCONNECT_MS } from './ownOptions';

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
