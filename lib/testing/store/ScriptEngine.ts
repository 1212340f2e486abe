import { createHash } from 'node:crypto';
import { type CompiledScript, compileLua } from './luaCompiler';
import { formatG, LuaError, LuaTable, type LuaValue, Multi } from './luaRuntime';
import { needsMemory, runCommand, writes } from './commands';
import { RedisError, type Reply, Status } from './replies';
import type { Store } from './Store';

/** What a script may do besides reading and writing keys. */
export interface ScriptHost {
  store(): Store;
  /** Whether there is no memory left. */
  full(): boolean;
  /** @param sharded - whether by SPUBLISH */
  publish(channel: string, message: string, sharded: boolean): number;
  /** Told of each write. */
  wrote(): void;
}

/** A compiled text is the same for every server. */
const compiled = new Map<string, { readonly sha: string; readonly run: CompiledScript }>();

/** The scripts of one server. */
export class ScriptEngine {
  readonly #host: ScriptHost;
  readonly #known = new Map<string, CompiledScript>();
  /** Whether the script under way has written. */
  #dirty = false;
  #full = false;
  readonly #redis = new LuaTable();

  constructor(host: ScriptHost) {
    this.#host = host;
    this.#redis.set('call', (...args) => {
      const reply = this.#command(args);
      if (reply instanceof RedisError) throw new LuaError(reply.message, true);
      return toLua(reply);
    });
    this.#redis.set('pcall', (...args) => toLua(this.#command(args)));
    this.#redis.set('error_reply', (text) => errorTable(text as string));
    this.#redis.set('status_reply', (text) => {
      const table = new LuaTable();
      table.set('ok', text);
      return table;
    });
  }

  /** SCRIPT LOAD. @returns the sha */
  load(text: string): string {
    let script = compiled.get(text);
    if (script === undefined) {
      const sha = createHash('sha1').update(Buffer.from(text, 'latin1')).digest('hex');
      script = { sha, run: compileLua(text) };
      compiled.set(text, script);
    }
    this.#known.set(script.sha, script.run);
    return script.sha;
  }

  /** SCRIPT FLUSH. */
  forget(): void {
    this.#known.clear();
  }

  knows(sha: string): boolean {
    return this.#known.has(sha);
  }

  /** EVAL and EVALSHA. @param args - text or sha, number of keys, keys, args */
  evaluate(command: 'eval' | 'evalsha', [script = '', count = '0', ...given]: readonly string[]): Reply {
    const sha = command === 'eval' ? this.load(script) : script;
    return this.run(sha, given.slice(0, Number(count)), given.slice(Number(count)));
  }

  /** EVALSHA. */
  run(sha: string, keys: readonly string[], args: readonly string[]): Reply {
    const script = this.#known.get(sha);
    if (script === undefined) return new RedisError('NOSCRIPT No matching script. Please use EVAL.');
    this.#dirty = false;
    this.#full = this.#host.full();
    try {
      const result = script(this.#redis, LuaTable.of(keys), LuaTable.of(args));
      return fromLua(result instanceof Multi ? result.values[0] : result);
    } catch (error) {
      if (!(error instanceof LuaError)) throw error;
      return new RedisError(error.reply ? error.message : `ERR ${error.message}`);
    } finally {
      if (this.#dirty) this.#host.wrote();
    }
  }

  #command(values: readonly LuaValue[]): Reply {
    const [name = '', ...args] = values.map(argument);
    const command = name.toLowerCase();
    try {
      if (command === 'publish') return this.#host.publish(args[0]!, args[1]!, false);
      if (command === 'spublish') return this.#host.publish(args[0]!, args[1]!, true);
      if (this.#full && !this.#dirty && needsMemory(command)) {
        return new RedisError("OOM command not allowed when used memory > 'maxmemory'.");
      }
      const reply = runCommand(this.#host.store(), command, args);
      if (writes(command)) this.#dirty = true;
      return reply;
    } catch (error) {
      if (error instanceof RedisError) return error;
      throw error;
    }
  }
}

/** A Lua value as an argument of a command. */
function argument(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatG(value, 17);
  throw new LuaError('ERR Lua redis lib command arguments must be strings or integers', true);
}

function errorTable(text: string): LuaTable {
  const table = new LuaTable();
  table.set('err', text);
  return table;
}

function toLua(reply: Reply): LuaValue {
  if (reply === null) return false;
  if (reply instanceof RedisError) return errorTable(reply.message);
  if (reply instanceof Status) {
    const table = new LuaTable();
    table.set('ok', reply.text);
    return table;
  }
  return typeof reply === 'object' ? LuaTable.of(reply.map(toLua)) : reply;
}

function fromLua(value: LuaValue): Reply {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Math.trunc(value);
  if (value === true) return 1;
  if (!(value instanceof LuaTable)) return null;
  const error = value.get('err');
  if (error !== undefined) return new RedisError(error as string);
  const ok = value.get('ok');
  if (ok !== undefined) return new Status(ok as string);
  const list: Reply[] = [];
  for (const item of value.list) {
    if (item === undefined) break;
    list.push(fromLua(item));
  }
  return list;
}
