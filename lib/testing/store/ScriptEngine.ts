import { createHash } from 'node:crypto';
import {
  type CompiledScript,
  formatG,
  library,
  LuaError,
  LuaTable,
  type LuaValue,
  Multi,
  operators,
  type RedisModule,
  type ScriptCompiler,
} from './luaRuntime';
import { RedisError, type Reply, Status } from './replies';

/** Where scripts run. */
export interface ScriptHost {
  readonly compiler: ScriptCompiler;
  /** Runs a command of a script. @param name - in lower case @throws RedisError */
  command(name: string, args: readonly string[]): Reply;
}

/** The scripts of one server. */
export class ScriptEngine {
  readonly #host: ScriptHost;
  readonly #known = new Map<string, CompiledScript>();
  readonly #compiled: ReturnType<ScriptCompiler>;

  constructor(host: ScriptHost) {
    this.#host = host;
    const redis: RedisModule = {
      call: (...args) => {
        const reply = this.#command(args);
        if (reply instanceof RedisError) throw new LuaError(reply.message, true);
        return toLua(reply);
      },
      pcall: (...args) => toLua(this.#command(args)),
      error_reply: (text) => operators.table([], [['err', text]]),
    };
    this.#compiled = host.compiler(redis, operators, library);
  }

  /** SCRIPT LOAD. @returns the sha */
  load(text: string): string {
    const sha = createHash('sha1').update(Buffer.from(text, 'latin1')).digest('hex');
    if (!this.#known.has(sha)) this.#known.set(sha, this.#compiled(text, sha));
    return sha;
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
    try {
      const result = script(LuaTable.of(keys), LuaTable.of(args));
      return fromLua(result instanceof Multi ? result.values[0] : result);
    } catch (error) {
      if (!(error instanceof LuaError)) throw error;
      return new RedisError(error.reply ? error.message : `ERR ${error.message}`);
    }
  }

  #command(values: readonly LuaValue[]): Reply {
    const [name = '', ...args] = values.map(argument);
    try {
      return this.#host.command(name.toLowerCase(), args);
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

function toLua(reply: Reply): LuaValue {
  if (reply === null) return false;
  if (reply instanceof RedisError) return operators.table([], [['err', reply.message]]);
  if (reply instanceof Status) return operators.table([], [['ok', reply.text]]);
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
