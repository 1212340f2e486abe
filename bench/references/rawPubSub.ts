import { Redis } from 'ioredis';
import { type LockHandle, type LockSession, type SessionOptions } from '../harness/contestant';
import { channelOf, LockScripts, ownerNames } from './lockScripts';

/**
 * The reference for waiting: the scripts of the floor, one subscription per lock, and per message one attempt by the
 * waiter that has slept longest. No watchdog, no time-outs, no re-subscription, no unsubscribing, no fairness: a fresh
 * call tries first, whoever waits.
 */
export async function open(options: SessionOptions): Promise<LockSession> {
  const scripts = await LockScripts.connect(options.url, options.watchdogMs);
  const listener = new Listener(new Redis(options.url));
  const nextOwner = ownerNames();
  return {
    handle: (name) => new PubSubHandle(scripts, listener, name, nextOwner()),
    close: async () => {
      await Promise.all([scripts.redis.quit(), listener.redis.quit()]);
    },
  };
}

/** Sleepers of one channel, first come first woken. */
class Sleepers {
  readonly #resolvers: (() => void)[] = [];
  #banked = false;

  /** Sleeps until a message is for this caller; a message that found nobody asleep is kept for the next one. */
  sleep(): Promise<void> | undefined {
    if (this.#banked) {
      this.#banked = false;
      return undefined;
    }
    return new Promise((resolve) => this.#resolvers.push(resolve));
  }

  wake(): void {
    const first = this.#resolvers.shift();
    if (first === undefined) this.#banked = true;
    else first();
  }
}

class Listener {
  readonly #channels = new Map<string, Promise<Sleepers>>();
  readonly #sleepers = new Map<string, Sleepers>();

  constructor(readonly redis: Redis) {
    redis.on('message', (channel: string) => this.#sleepers.get(channel)?.wake());
  }

  /** Resolves when the channel is subscribed. */
  on(channel: string): Promise<Sleepers> {
    let subscribed = this.#channels.get(channel);
    if (subscribed === undefined) {
      const sleepers = new Sleepers();
      this.#sleepers.set(channel, sleepers);
      subscribed = this.redis.subscribe(channel).then(() => sleepers);
      this.#channels.set(channel, subscribed);
    }
    return subscribed;
  }
}

class PubSubHandle implements LockHandle {
  readonly #scripts: LockScripts;
  readonly #listener: Listener;
  readonly #name: string;
  readonly #channel: string;
  readonly #owner: string;

  constructor(scripts: LockScripts, listener: Listener, name: string, owner: string) {
    this.#scripts = scripts;
    this.#listener = listener;
    this.#name = name;
    this.#channel = channelOf(name);
    this.#owner = owner;
  }

  async lock(): Promise<void> {
    if ((await this.#scripts.attempt(this.#name, this.#owner)) === null) return;
    const sleepers = await this.#listener.on(this.#channel);
    while ((await this.#scripts.attempt(this.#name, this.#owner)) !== null) await sleepers.sleep();
  }

  async unlock(): Promise<void> {
    await this.#scripts.release(this.#name, this.#channel, this.#owner);
  }
}
