import { runOutside } from '../util/outside';
import { fromBytes, toBytes } from './bytes';
import { runCommand } from './store/commands';
import { RedisError, type Reply, Status } from './store/replies';
import { ScriptEngine } from './store/ScriptEngine';
import { Store } from './store/Store';

/** Who listens to channels. */
export interface Listener {
  receive(channel: string, message: string): void;
}

/** A client of this store, as {@link TestRedisson} methods of another client see it. */
export interface StoreClient {
  /** A lock was taken away from whoever held it: reports the losses, and lets the waiters look again. */
  lose(rawName: string): void;
  /** The store was emptied: forgets the holds, rejects the waiters, forgets injected errors. */
  reset(): void;
}

/**
 * The Redis of the clients that share a store: keys, scripts, messages, in this process. Its clock is
 * `performance.now()` at each command, counted from the `Date` at which it was made: leases pass as fake timers advance,
 * and setting `Date` later ends none. Messages arrive in a later microtask.
 */
export class MemoryServer {
  readonly clients = new Set<StoreClient>();
  readonly #listeners = new Map<string, Set<Listener>>();
  #store = newStore();
  readonly #scripts = new ScriptEngine({
    store: () => this.#store,
    full: () => false,
    publish: (channel, message) => this.#publish(channel, message),
    wrote: () => undefined,
  });

  /** Runs a command. @param args - as bytes @returns also errors */
  run(name: string, args: readonly string[]): Reply {
    const command = name.toLowerCase();
    try {
      switch (command) {
        case 'eval':
        case 'evalsha':
          return this.#scripts.evaluate(command, args);
        case 'config':
          // No setting is on: the store sends no events about keys, and listeners for them are refused.
          return [args[1] ?? '', ''];
        case 'publish':
          return this.#publish(args[0]!, args[1]!);
        case 'ping':
          return new Status('PONG');
        default:
          return runCommand(this.#store, command, args);
      }
    } catch (error) {
      return error instanceof RedisError ? error : new RedisError(`ERR ${(error as Error).message}`);
    }
  }

  /** Channels that somebody listens to. */
  get channels(): string[] {
    return [...this.#listeners.keys()].map(fromBytes);
  }

  /** How many listen to a channel. */
  listeners(channel: string): number {
    return this.#listeners.get(toBytes(channel))?.size ?? 0;
  }

  /** See {@link Store.dump}. */
  dump(): ReturnType<Store['dump']> {
    return this.#store.dump();
  }

  /** The fields of a hash, as text. @returns `undefined` where the key is none */
  hash(key: string): [field: string, value: string][] | undefined {
    const value = this.#store.value(toBytes(key));
    if (!(value instanceof Map)) return undefined;
    return [...value].map(([field, content]) => [fromBytes(field), fromBytes(content)]);
  }

  /** Deletes a key, without a message. */
  delete(key: string): void {
    this.#store.delete(toBytes(key));
  }

  /** Deletes every key, and tells the clients. */
  reset(): void {
    this.#store = newStore();
    for (const client of [...this.clients]) client.reset();
  }

  listen(channel: string, listener: Listener): void {
    const key = toBytes(channel);
    let listeners = this.#listeners.get(key);
    if (listeners === undefined) this.#listeners.set(key, (listeners = new Set()));
    listeners.add(listener);
  }

  /** @param channel - left out: all of them */
  ignore(listener: Listener, channel?: string): void {
    for (const key of channel === undefined ? [...this.#listeners.keys()] : [toBytes(channel)]) {
      const listeners = this.#listeners.get(key);
      listeners?.delete(listener);
      if (listeners?.size === 0) this.#listeners.delete(key);
    }
  }

  #publish(channel: string, message: string): number {
    const listeners = this.#listeners.get(channel);
    if (listeners === undefined) return 0;
    const [name, text] = [fromBytes(channel), fromBytes(message)];
    for (const listener of listeners) {
      // Not with `queueMicrotask`, which fake timers may hold back.
      runOutside(() => void Promise.resolve().then(() => listener.receive(name, text)));
    }
    return listeners.size;
  }
}

/** At the end of its time a key is gone, so that a lease of 30 s is over when a test has advanced its clock by 30 s. */
function newStore(): Store {
  const startedAt = Date.now() - Math.floor(performance.now());
  return new Store(() => startedAt + Math.floor(performance.now()), { goneAtDeadline: true });
}
