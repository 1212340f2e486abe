import type { Redis } from 'ioredis';
import { runOutside } from '../../util/outside';
import { Handshake } from '../link/Handshake';
import { isReply } from '../link/replyErrors';
import { endpointOf } from './ConnectionSubscriber';
import { Heartbeat } from './Heartbeat';

/** Receives the keys that have changed. */
export interface KeyChanges {
  /** These keys have changed, or may have; `undefined`: any may have. */
  changed(keys: readonly string[] | undefined): void;
  /** The server, or the rights of the user, do not allow tracking. Called once; no call follows. */
  refused(error: Error): void;
}

/** Where Redis publishes the keys that have changed (client-side caching). */
const CHANNEL = '__redis__:invalidate';
/** The connection for the messages was replaced by one that the server does not know yet. */
const NO_SUCH_CLIENT = /redirect to does not exist/i;

/**
 * Has the servers report changes of the keys that this client has read (CLIENT TRACKING): a key is reported once,
 * until it is read again. Each connection for commands has one that receives the messages (REDIRECT). That one speaks
 * RESP2, whatever the other one speaks: ioredis does not pass such pushes of RESP3 on.
 *
 * That one has a heartbeat: it may receive nothing for hours. After each reconnect of either of them tracking is
 * enabled anew, and all keys may have changed.
 */
export class KeyTracking {
  events: KeyChanges | undefined;
  readonly #listeners = new Map<Redis, Heartbeat>();
  #refused = false;

  /**
   * Tracks what this connection reads.
   * @param timeout - how long the server may take to accept the one for the messages, in ms
   * @returns a function that ends it: ioredis emits no `end` while a connection waits to connect again
   */
  follow(commands: Redis, timeout: number): (() => void) | undefined {
    if (this.#refused) return undefined;
    const listener = runOutside(() => commands.duplicate({ protocol: 2 }));
    let id: string | undefined;
    const enable = async (): Promise<void> => {
      if (id === undefined || commands.status !== 'ready') return;
      // Ids are small numbers: on another server the same id would be the connection of another client.
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
    const heartbeat = new Heartbeat(() => listener, timeout);
    this.#listeners.set(listener, heartbeat);
    // Trouble with the server is reported by the connection that sends commands.
    const handshake = new Handshake(listener, timeout);
    listener.on('ready', () =>
      attempt(async () => {
        const own = String(await listener.client('ID'));
        await listener.subscribe(CHANNEL);
        handshake.done();
        id = own;
        heartbeat.start(() => id !== undefined && heartbeat.ping());
        await enable();
      }),
    );
    listener.on('messageBuffer', (_channel: Buffer, keys: unknown) =>
      this.events?.changed(Array.isArray(keys) ? keys.map(String) : undefined),
    );
    listener.on('close', () => {
      id = undefined;
      heartbeat.expectNothing();
    });
    commands.on('ready', () => attempt(enable));
    return () => {
      handshake.done();
      this.#leave(listener);
    };
  }

  /** Checks whether the servers are still there: another connection gets no answer. */
  probe(): void {
    for (const [listener, heartbeat] of this.#listeners) if (listener.status === 'ready') heartbeat.ping();
  }

  #leave(listener: Redis): void {
    this.#listeners.get(listener)?.stop();
    this.#listeners.get(listener)?.expectNothing();
    this.#listeners.delete(listener);
    listener.disconnect();
  }

  #refuse(error: Error): void {
    if (this.#refused) return;
    this.#refused = true;
    for (const listener of [...this.#listeners.keys()]) this.#leave(listener);
    this.events?.refused(error);
  }
}
