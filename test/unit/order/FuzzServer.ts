import { runCommand } from '../../../lib/testing/store/commands';
import { compiledScripts } from '../../../lib/testing/store/compiledScripts';
import { RedisError, type Reply, Status } from '../../../lib/testing/store/replies';
import { ScriptEngine } from '../../../lib/testing/store/ScriptEngine';
import { Store } from '../../../lib/testing/store/Store';
import { fromBytes, toBytes } from '../../../lib/testing/bytes';

/** The wall clock when a seed begins. */
const EPOCH = 1_800_000_000_000;

const GROWS = new Set(['hset', 'hincrby', 'set', 'incr', 'decr', 'incrby', 'decrby', 'zadd', 'rpush']);
const SHRINKS = new Set([
  ...['del', 'hdel', 'pexpire', 'persist', 'lpop', 'lrem', 'zrem', 'zremrangebyrank', 'zremrangebyscore'],
]);

/** What the server refuses for a while, as Redis does: a script that has written is not stopped by it. */
export interface Refusal {
  readonly reply: string;
  /** `all`: each script before it begins; `writes`: its first write; `growth`: its first write that needs memory. */
  readonly what: 'all' | 'writes' | 'growth';
}

export type Listener = (channel: string, message: string) => void;

/** One Redis in this process: the store of `ioredisson/testing`, which can refuse and hang. */
export class FuzzServer {
  readonly store = new Store(() => EPOCH + Math.floor(performance.now()), { goneAtDeadline: true });
  refusal: Refusal | undefined;
  /** Decides for each script whether it is refused, and how. */
  refuses: (() => string | false) | undefined;
  /** Until when it hangs (monotonic). */
  frozenUntil = 0;
  readonly #listeners = new Map<string, Set<Listener>>();
  #wrote = false;
  readonly #scripts = new ScriptEngine({
    compiler: compiledScripts,
    command: (name, args) => (name === 'publish' ? this.#publish(args[0]!, args[1]!) : this.#write(name, args)),
  });

  /** @param args - as bytes @returns also errors */
  run(name: string, args: readonly string[]): Reply {
    const command = name.toLowerCase();
    this.#wrote = false;
    try {
      if (command === 'eval' || command === 'evalsha') {
        const refused = this.refusal?.what === 'all' ? this.refusal.reply : (this.refuses?.() ?? false);
        if (refused !== false) throw new RedisError(refused);
        return this.#scripts.evaluate(command, args);
      }
      if (command === 'publish') return this.#publish(args[0]!, args[1]!);
      return command === 'ping' ? new Status('PONG') : this.#write(command, args);
    } catch (error) {
      return error instanceof RedisError ? error : new RedisError(`ERR ${(error as Error).message}`);
    }
  }

  listen(channel: string, listener: Listener): void {
    const key = toBytes(channel);
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
  }

  ignore(channel: string, listener: Listener): void {
    const key = toBytes(channel);
    const listeners = this.#listeners.get(key);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(key);
  }

  get channels(): string[] {
    return [...this.#listeners.keys()].map(fromBytes);
  }

  get keys(): string[] {
    return [...this.store.entries.keys()].filter((key) => this.store.entry(key) !== undefined);
  }

  #write(name: string, args: readonly string[]): Reply {
    const grows = GROWS.has(name);
    const writes = grows || SHRINKS.has(name);
    const refused = this.refusal?.what === 'growth' ? grows : writes;
    if (this.refusal !== undefined && refused && !this.#wrote) throw new RedisError(this.refusal.reply);
    if (writes) this.#wrote = true;
    return runCommand(this.store, name, args);
  }

  #publish(channel: string, message: string): number {
    const listeners = this.#listeners.get(channel);
    if (listeners === undefined) return 0;
    for (const listener of [...listeners]) listener(fromBytes(channel), fromBytes(message));
    return listeners.size;
  }
}
