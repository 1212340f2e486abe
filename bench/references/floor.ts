import { type LockHandle, type LockSession, type SessionOptions } from '../harness/contestant';
import { channelOf, LockScripts, ownerNames } from './lockScripts';

/**
 * The floor: what two EVALSHA cost on ioredis with no library around them. It does not wait: `lock()` on a lock that is
 * held is an error, since no scenario of the floor has two handles on one lock.
 */
export async function open(options: SessionOptions): Promise<LockSession> {
  const scripts = await LockScripts.connect(options.url, options.watchdogMs);
  const nextOwner = ownerNames();
  return {
    handle: (name) => new FloorHandle(scripts, name, nextOwner()),
    close: async () => {
      await scripts.redis.quit();
    },
  };
}

class FloorHandle implements LockHandle {
  readonly #scripts: LockScripts;
  readonly #name: string;
  readonly #channel: string;
  readonly #owner: string;

  constructor(scripts: LockScripts, name: string, owner: string) {
    this.#scripts = scripts;
    this.#name = name;
    this.#channel = channelOf(name);
    this.#owner = owner;
  }

  async lock(): Promise<void> {
    if ((await this.#scripts.attempt(this.#name, this.#owner)) !== null) throw new Error(`${this.#name} is held`);
  }

  async unlock(): Promise<void> {
    if ((await this.#scripts.release(this.#name, this.#channel, this.#owner)) !== 1) {
      throw new Error(`${this.#name} was not held`);
    }
  }
}
