import type { Redis } from 'ioredis';
import { runOutside } from '../../util/outside';
import { isReply } from '../link/replyErrors';
import { endpointOf } from './ConnectionSubscriber';

/** Who learns which keys have changed. */
export interface KeyChanges {
  /** These keys have changed, or may have; `undefined`: any may have. */
  changed(keys: readonly string[] | undefined): void;
  /** The server or the rights of the user do not allow it. Called once; nothing more follows. */
  refused(error: Error): void;
}

/** Where Redis publishes the keys that have changed (client-side caching). */
const CHANNEL = '__redis__:invalidate';
/** The connection for the messages is another one now, which the server has not got yet. */
const NO_SUCH_CLIENT = /redirect to does not exist/i;

/**
 * Has the servers report which keys have changed, of those that this client has read (CLIENT TRACKING): a key is reported
 * once, until it is read again. For each connection that sends commands there is one that hears the messages (REDIRECT).
 * That one speaks RESP2, whatever the other one speaks: ioredis hands out no such push of RESP3.
 *
 * After each reconnect of either of them it is enabled anew, and then all keys may have changed.
 */
export class KeyTracking {
  events: KeyChanges | undefined;
  readonly #listeners = new Set<Redis>();
  #refused = false;

  /**
   * Follows what this connection reads.
   * @returns ends it: an `end` of the connection is no sign, since ioredis emits none while it waits to connect again
   */
  follow(commands: Redis): (() => void) | undefined {
    if (this.#refused) return undefined;
    const listener = runOutside(() => commands.duplicate({ protocol: 2 }));
    let id: string | undefined;
    const enable = async (): Promise<void> => {
      if (id === undefined || commands.status !== 'ready') return;
      // Ids are small numbers: at another server it would be the connection of another client.
      if (endpointOf(listener) !== endpointOf(commands)) return listener.disconnect(true);
      await commands.call('client', 'tracking', 'on', 'redirect', id);
      this.events?.changed(undefined);
    };
    const attempt = (work: () => Promise<void>): void => {
      work().catch((error: Error) => {
        if (!isReply(error) || !/^(NOPERM|ERR) /.test(error.message)) return;
        if (NO_SUCH_CLIENT.test(error.message)) listener.disconnect(true);
        else this.#refuse(error);
      });
    };
    this.#listeners.add(listener);
    listener.on('ready', () =>
      attempt(async () => {
        const own = String(await listener.client('ID'));
        await listener.subscribe(CHANNEL);
        id = own;
        await enable();
      }),
    );
    listener.on('messageBuffer', (_channel: Buffer, keys: unknown) =>
      this.events?.changed(Array.isArray(keys) ? keys.map(String) : undefined),
    );
    listener.on('close', () => (id = undefined));
    // What becomes of the server is reported by the connection that sends commands.
    listener.on('error', () => undefined);
    commands.on('ready', () => attempt(enable));
    return () => {
      this.#listeners.delete(listener);
      listener.disconnect();
    };
  }

  #refuse(error: Error): void {
    if (this.#refused) return;
    this.#refused = true;
    for (const listener of this.#listeners) listener.disconnect();
    this.#listeners.clear();
    this.events?.refused(error);
  }
}
