import * as net from 'node:net';
import * as tls from 'node:tls';
import type { RedisOptions } from 'ioredis';
import type { NodeAddress } from '../config/Topology';

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
