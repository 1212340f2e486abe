import { runCommand } from '../../../lib/testing/store/commands';
import type { ScriptCompiler } from '../../../lib/testing/store/luaRuntime';
import { RedisError, type Reply } from '../../../lib/testing/store/replies';
import { ScriptEngine } from '../../../lib/testing/store/ScriptEngine';
import type { Store } from '../../../lib/testing/store/Store';

/** Commands that need memory: refused when there is none. */
const NEED_MEMORY = new Set(['hset', 'hincrby', 'set', 'incr', 'incrby', 'decr', 'decrby', 'zadd', 'rpush']);
const WRITES = new Set([
  ...NEED_MEMORY,
  ...['del', 'hdel', 'lpop', 'lrem', 'pexpire', 'persist', 'zrem', 'zremrangebyrank', 'zremrangebyscore'],
]);

/** Whether a command changes keys. */
export function writes(command: string): boolean {
  return WRITES.has(command);
}

/** The server around the scripts. */
export interface ScriptServer {
  readonly compiler: ScriptCompiler;
  store(): Store;
  /** Whether there is no memory left. */
  full(): boolean;
  /** @param sharded - whether by SPUBLISH */
  publish(channel: string, message: string, sharded: boolean): number;
  /** Told of each script that has written, at its end. */
  wrote(): void;
}

/** The scripts of a server that may be full, and that has replicas. */
export class ServerScripts {
  readonly #server: ScriptServer;
  #engine: ScriptEngine;
  /** Whether the script under way has written. */
  #dirty = false;
  #full = false;

  constructor(server: ScriptServer) {
    this.#server = server;
    this.#engine = this.#newEngine();
  }

  /** SCRIPT LOAD. @returns the sha */
  load(text: string): string {
    return this.#engine.load(text);
  }

  /** SCRIPT FLUSH. */
  forget(): void {
    this.#engine = this.#newEngine();
  }

  /** EVAL and EVALSHA. @param args - text or sha, number of keys, keys, args */
  evaluate(command: 'eval' | 'evalsha', args: readonly string[]): Reply {
    return this.#script(() => this.#engine.evaluate(command, args));
  }

  /** EVALSHA. */
  run(sha: string, keys: readonly string[], args: readonly string[]): Reply {
    return this.#script(() => this.#engine.run(sha, keys, args));
  }

  #newEngine(): ScriptEngine {
    const { compiler } = this.#server;
    return new ScriptEngine({ compiler, command: (name, args) => this.#command(name, args) });
  }

  #script(run: () => Reply): Reply {
    this.#dirty = false;
    this.#full = this.#server.full();
    try {
      return run();
    } finally {
      if (this.#dirty) this.#server.wrote();
    }
  }

  #command(name: string, args: readonly string[]): Reply {
    if (name === 'publish' || name === 'spublish') return this.#server.publish(args[0]!, args[1]!, name === 'spublish');
    if (this.#full && !this.#dirty && NEED_MEMORY.has(name)) {
      return new RedisError("OOM command not allowed when used memory > 'maxmemory'.");
    }
    const reply = runCommand(this.#server.store(), name, args);
    if (writes(name)) this.#dirty = true;
    return reply;
  }
}
