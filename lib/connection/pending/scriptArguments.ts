import { PUBLISH_COMMAND, type Script, type ScriptArg } from '../../scripts/Script';
import type { Fresh, RunOptions } from './CommandExecutor';

/**
 * The arguments of EVALSHA or EVAL: sha or text, number of keys, keys, args. Named ones become positions here and
 * nowhere else.
 */
export function scriptArguments<K extends string, A extends string, R>(
  script: Script<K, A, R>,
  keys: Readonly<Record<K, string>>,
  args: Fresh<Readonly<Record<A, ScriptArg>>>,
  options: RunOptions<R> | undefined,
): ScriptArg[] {
  const { realKeys, args: argNames, channels } = script;
  const named = typeof args === 'function' ? args() : args;
  const moreArgs = typeof options?.moreArgs === 'function' ? options.moreArgs() : options?.moreArgs;
  const flat: ScriptArg[] = [script.sha, 0];
  // By index: a wake-up runs this cold, and code that is not compiled yet pays for each step of an iterator.
  for (let i = 0; i < realKeys.length; i++) flat.push(keys[realKeys[i]!]);
  if (options?.moreKeys !== undefined) for (const key of options.moreKeys) flat.push(key);
  flat[1] = flat.length - 2;
  for (let i = 0; i < argNames.length; i++) flat.push(named[argNames[i]!]);
  for (let i = 0; i < channels.length; i++) flat.push(keys[channels[i]!]);
  if (moreArgs !== undefined) for (const arg of moreArgs) flat.push(arg);
  return flat;
}

/** The arguments of a command, and how often it was written. */
interface Written {
  readonly args: readonly ScriptArg[];
  readonly sends: number;
}

/** The arguments as they are sent, with the placeholders replaced; a copy where there are any. */
export function travelling(pending: Written, publishCommand: string): (string | number | Buffer)[] {
  const { args } = pending;
  let filled = args as ScriptArg[];
  for (let i = 0; i < args.length; i++) {
    if (typeof args[i] !== 'symbol') continue;
    if (filled === args) filled = [...args];
    if (args[i] === PUBLISH_COMMAND) filled[i] = publishCommand;
    else filled[i] = pending.sends > 1 ? '1' : '0';
  }
  return filled as (string | number | Buffer)[];
}

/**
 * The scripts that each server knows from this connection. The first command of a script sends its text, which the
 * server then caches: no second round trip, and no NOSCRIPT that monitoring would show as an error.
 */
export class KnownScripts {
  readonly #servers = new Map<string, Set<string>>();
  #connectionNumber = -1;

  /**
   * A command is about to be sent; from then on the server knows its script.
   * @param server - see `Link.serverOf`
   * @returns whether it knew the script before
   */
  learn(sha: string, server: string, connectionNumber: number): boolean {
    if (connectionNumber !== this.#connectionNumber) this.#servers.clear();
    this.#connectionNumber = connectionNumber;
    let scripts = this.#servers.get(server);
    if (scripts === undefined) this.#servers.set(server, (scripts = new Set()));
    if (scripts.has(sha)) return true;
    scripts.add(sha);
    return false;
  }
}
