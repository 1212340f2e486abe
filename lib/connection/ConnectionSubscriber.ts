import pDefer, { type DeferredPromise } from 'p-defer';
import type { Redis } from 'ioredis';
import { ShutdownError } from '../errors';
import type { Subscriber, SubscriberEvents } from './Subscriber';

/**
 * Listens on one connection of its own.
 *
 * A channel is: wanted (asked for, not acknowledged) -> live -> (connection lost) wanted -> live ... -> forgotten.
 * While the connection is down channels are only noted; when it is back, all that are wanted are subscribed at once.
 */
export class ConnectionSubscriber implements Subscriber {
  events: SubscriberEvents | undefined;
  readonly #redis: Redis;
  /** Every channel somebody listens to, and who waits for its acknowledgement. */
  readonly #wanted = new Map<string, DeferredPromise<void> | undefined>();
  #ready: boolean;
  #closed = false;

  /** @param redis - a connection of ours, made with `ownOptions` */
  constructor(redis: Redis) {
    this.#redis = redis;
    this.#ready = redis.status === 'ready';
    redis.on('message', (channel: string, message: string) => this.events?.message(channel, message));
    redis.on('ready', () => {
      this.#ready = true;
      this.#restore();
    });
    redis.on('close', () => {
      if (this.#ready && this.#wanted.size > 0) this.events?.interrupted();
      this.#ready = false;
    });
    // The command connection reports the same trouble to the callers.
    redis.on('error', () => undefined);
  }

  subscribe(channel: string): Promise<void> {
    if (this.#closed) return Promise.reject(new ShutdownError());
    const waiting = this.#wanted.get(channel) ?? pDefer<void>();
    this.#wanted.set(channel, waiting);
    if (this.#ready) this.#send([channel], false);
    return waiting.promise;
  }

  unsubscribe(channel: string): void {
    this.#wanted.delete(channel);
    if (this.#ready) this.#redis.unsubscribe(channel).catch(() => undefined);
  }

  close(): void {
    this.#closed = true;
    for (const waiting of this.#wanted.values()) waiting?.reject(new ShutdownError());
    this.#wanted.clear();
    this.#redis.disconnect();
  }

  #restore(): void {
    if (this.#wanted.size > 0) this.#send([...this.#wanted.keys()], true);
  }

  #send(channels: string[], restoring: boolean): void {
    this.#redis.subscribe(...channels).then(
      () => {
        for (const channel of channels) this.#live(channel);
        if (restoring) this.events?.restored();
      },
      // Lost on the way: the next `ready` subscribes what is still wanted. Refused (ACL): the waiters are told.
      (error: Error) => {
        if (this.#ready && this.#redis.status === 'ready') for (const channel of channels) this.#refuse(channel, error);
      },
    );
  }

  #live(channel: string): void {
    const waiting = this.#wanted.get(channel);
    if (waiting === undefined) return;
    this.#wanted.set(channel, undefined);
    waiting.resolve();
  }

  #refuse(channel: string, error: Error): void {
    const waiting = this.#wanted.get(channel);
    this.#wanted.delete(channel);
    waiting?.reject(error);
  }
}
