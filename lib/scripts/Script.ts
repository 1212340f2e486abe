import { createHash } from 'node:crypto';
import { decodeRelease, UNHEARD_MARK } from './replies';

/**
 * Stands for the publish command of this deployment as a script argument: the executor replaces it with `PUBLISH`,
 * or with `SPUBLISH` on a cluster with sharded pub/sub.
 */
export const PUBLISH_COMMAND: unique symbol = Symbol('publish command');

/**
 * Tells a script whether it may have run before, as an argument: the executor replaces it with `0` on the first send
 * and with `1` on every later one. For the few scripts whose data cannot tell a repeat from a second call.
 */
export const RESEND_FLAG: unique symbol = Symbol('resend flag');

/**
 * Stands for the time at which the script is sent, in epoch ms by the clock of this client, as an argument. A command
 * may wait for its connection for long, and a lease that counts from before that could be over when it runs.
 */
export const SEND_TIME: unique symbol = Symbol('send time');

/** What a script argument may be; numbers travel as decimal text, Buffers as raw bytes. */
export type ScriptArg = string | number | Buffer | typeof PUBLISH_COMMAND | typeof RESEND_FLAG | typeof SEND_TIME;

/**
 * When a script may be sent a second time:
 *
 * - `always`: a repeat changes nothing that the first run did; sent again after a lost connection and after a time-out.
 * - `connection`: as `always`, but a time-out goes to the caller at once, which undoes what a late run may do.
 * - `never`: a repeat would count twice, so the caller gets an error where a reply is missing.
 */
export type Resend = 'always' | 'connection' | 'never';

/**
 * Marks a template as Lua, so that editors colour it. It joins the parts as they stand, and a backslash stays a
 * backslash. All Lua of the library is written with it, whole scripts and shared functions alike.
 */
export function lua(text: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw(text, ...values);
}

/** What a script file states of a script. */
export interface ScriptDefinition<K extends string, A extends string, R> {
  /** For errors and docs, e.g. `lock.acquire`. */
  readonly name: string;
  /** Names of the keys in order; the first one decides the slot. */
  readonly keys: readonly K[];
  /**
   * Those of {@link keys} that are channels. They are given like keys, so that all names of an object stand together,
   * but travel as arguments: a cluster that is moving a slot refuses commands of several keys unless it finds them all,
   * and a channel is never found. @default none
   */
  readonly channels?: readonly NoInfer<K>[];
  /** Names of the arguments in order; the {@link channels} follow them. */
  readonly args: readonly A[];
  /** The body, written with the tag {@link lua}; the named keys and args are local variables in it. */
  readonly lua: string;
  readonly resend: Resend;
  /**
   * Whether the executor waits for replicas to confirm it (WAIT), where there are any. A function names the results
   * that at least one replica must have confirmed: acquisitions, which a failover must not lose.
   * @default false
   */
  readonly synced?: boolean | ((value: NoInfer<R>) => boolean);
  /** Turns Redis' reply into the value of the script. It throws nothing. */
  readonly decode: (reply: unknown) => R;
}

/** A script as a value: what the executor needs to send it and to read its reply. */
export interface Script<K extends string, A extends string, R> extends Required<ScriptDefinition<K, A, R>> {
  /** Names of KEYS in order: {@link keys} without {@link channels}. */
  readonly realKeys: readonly K[];
  /** The body as the script file has it; {@link lua} is what is sent. */
  readonly body: string;
  /** SHA-1 of {@link lua}, for EVALSHA. */
  readonly sha: string;
}

/**
 * Makes a script of its definition: names become local variables, so that no body indexes KEYS or ARGV by number.
 * Elements beyond the named ones are at `KEYS[moreKeys + 1]` and `ARGV[moreArgs + 1]` onwards.
 */
export function defineScript<const K extends string, const A extends string, R>(
  definition: ScriptDefinition<K, A, R>,
): Script<K, A, R> {
  const { channels = [] } = definition;
  const realKeys = definition.keys.filter((key) => !channels.includes(key));
  const args = [...definition.args, ...channels];
  // A release says in its own reply that nobody was told.
  const watched = definition.args.includes('publish' as A) && (definition.decode as unknown) !== decodeRelease;
  const text = [
    bind(realKeys, 'KEYS'),
    bind(args, 'ARGV'),
    /\bmoreKeys\b/.test(definition.lua) ? `local moreKeys = ${realKeys.length}` : '',
    /\bmoreArgs\b/.test(definition.lua) ? `local moreArgs = ${args.length}` : '',
    watched ? watchPublish(definition.lua) : definition.lua,
  ]
    .join('\n')
    .trim()
    .replaceAll(/\n\s*\n/g, '\n');
  const sha = createHash('sha1').update(text).digest('hex');
  return Object.freeze({ synced: false, ...definition, channels, realKeys, body: definition.lua, lua: text, sha });
}

/**
 * The same script, which says so where its user may not publish: it then answers `{UNHEARD_MARK, answer}`, and the
 * executor takes that apart. A refusal must not stop a script in its middle, so it is not an error.
 */
function watchPublish(body: string): string {
  return lua`
local unheard = false
local function tellAll(publish, channel, message)
  local receivers = redis.pcall(publish, channel, message)
  if type(receivers) ~= 'number' then unheard = true end
  return receivers
end
local function body()
${body.replaceAll('redis.pcall(publish,', 'tellAll(publish,')}
end
local answer = body()
if unheard then return {'${UNHEARD_MARK}', answer} end
return answer
`;
}

function bind(names: readonly string[], table: 'KEYS' | 'ARGV'): string {
  if (names.length === 0) return '';
  return `local ${names.join(', ')} = ${names.map((_, i) => `${table}[${i + 1}]`).join(', ')}`;
}
