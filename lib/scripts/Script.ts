import { createHash } from 'node:crypto';
import { decodeRelease, UNHEARD_MARK } from './replies';

/**
 * Stands for the publish command of this deployment as a script argument: the executor replaces it with `PUBLISH`,
 * or with `SPUBLISH` on a cluster with sharded pub/sub.
 */
export const PUBLISH_COMMAND: unique symbol = Symbol('publish command');

/**
 * A script argument for whether the script may have run before: the executor replaces it with `0` on the first send and
 * with `1` on every later one. For the few scripts whose data do not show whether a call is a repeat.
 */
export const RESEND_FLAG: unique symbol = Symbol('resend flag');

/** What a script argument may be; numbers are sent as decimal text, Buffers as raw bytes. */
export type ScriptArg = string | number | Buffer | typeof PUBLISH_COMMAND | typeof RESEND_FLAG;

/**
 * When a script may be sent a second time, although the first copy may have run. Others may have changed everything
 * between the two copies. So the second one must know whose call it is: it names an owner, a ticket or ids, finds what
 * the first one did for these, and leaves the others alone. Or it changes nothing.
 *
 * - `always`: sent again after a lost connection and after a time-out.
 * - `connection`: as `always`, but after a time-out the caller gets the error at once, and undoes what a late run may
 *   do.
 * - `never`: a repeat would count twice, or take what somebody else has got meanwhile. So the caller gets an error if
 *   the reply is missing, which says whether it may have run.
 *
 * A copy that certainly did not run (NOSCRIPT, a redirection, a refusal) is sent again in any case.
 */
export type Resend = 'always' | 'connection' | 'never';

/**
 * Marks a template as Lua, so that editors colour it. It joins the parts unchanged; a backslash stays a backslash. All
 * Lua of the library is written with this tag, whole scripts and shared functions alike.
 */
export function lua(text: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw(text, ...values);
}

/**
 * The first line of a script that compares times: `now` is the server's clock, in epoch ms. Only that clock is used:
 * the clocks of the clients differ, and a command may be late. (Redis replicates effects, so TIME may come before a
 * write.) It is rounded down. So a time that a script has made of it is over when `now` is past it, not when `now` has
 * come to it: otherwise a lease would be up to 1 ms shorter than asked, and its holder would still rely on it.
 */
export const SERVER_TIME = lua`
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** The rules of a script that releases. */
export const RELEASES = {
  args: ['message', 'owner', 'left', 'remaining', 'publish'],
  resend: 'always',
  synced: true,
  saysUnheard: true,
  decode: decodeRelease,
} as const;

/** The rules of a script that changes a number, and notifies the waiters. A repeat would count twice. */
export const COUNTS = { keys: ['name', 'channel'], resend: 'never', synced: true } as const;

/** The rules of a script that takes from whoever has it. A repeat could take from somebody who came meanwhile. */
export const TAKES = { resend: 'never', synced: true } as const;

/** The rules of a script that renews many holds. It is sent once: the next renewal follows soon. */
export const RENEWS = { keys: [], args: ['lease'], resend: 'never', synced: true } as const;

/** `NoInfer`, which TypeScript has from 5.4 on; the declarations are read by 5.2. */
type Uninferred<T> = [T][T extends unknown ? 0 : never];

/** The definition of a script. */
export interface ScriptDefinition<K extends string, A extends string, R> {
  /** For errors and docs, e.g. `lock.acquire`. */
  readonly name: string;
  /**
   * Names of the keys in order; the first one decides the slot. Channels (`channel`, `channelBase`) are given like
   * keys, so that all names of an object are together, but they are sent as arguments. A cluster that is migrating a
   * slot refuses a command with several keys unless all of them exist, and a channel never exists as a key.
   * @default `name`, the key of the object
   */
  readonly keys?: readonly K[];
  /** Names of the arguments in order; the channels are sent after them. @default none */
  readonly args?: readonly A[];
  /** What follows them, where that says whose call it is: `ids`. @default `` */
  readonly more?: string;
  /** The body, written with the tag {@link lua}; the named keys and args are local variables in it. */
  readonly lua: string;
  /**
   * When it may be sent again. Tests check what it says, and send each script again that may be.
   * @default `never`; `always` if it only asks
   */
  readonly resend?: Resend;
  /**
   * Whether the executor waits until the replicas, if any, have confirmed it (WAIT). A function selects the results
   * that at least one replica must have confirmed: acquisitions, which a failover must not lose.
   * @default false
   */
  readonly synced?: boolean | { selects(value: Uninferred<R>): boolean }['selects'];
  /**
   * Whether its caller only wants to know something, though it may tidy up on the way. Such a call takes no longer than
   * the command time-out. @default false
   */
  readonly query?: boolean;
  /**
   * Whether a script that publishes (it has the argument `publish`) replies itself that its user may not. Any other one
   * publishes by `tellAll(publish, channel, message)`, and {@link defineScript} adds to its reply. @default false
   */
  readonly saysUnheard?: boolean;
  /** Turns Redis' reply into the value of the script. It must not throw. */
  readonly decode: (reply: unknown) => R;
}

/** A script as a value: what the executor needs to send it and to read its reply. */
export interface Script<K extends string, A extends string, R> extends Required<ScriptDefinition<K, A, R>> {
  /** Those of {@link keys} that are channels. */
  readonly channels: readonly K[];
  /** Names of the real KEYS in order: {@link keys} without {@link channels}. */
  readonly realKeys: readonly K[];
  /** The body as defined; {@link lua} is the text that is sent, made at its first use. */
  readonly body: string;
  /** SHA-1 of {@link lua}, for EVALSHA; made at its first use. */
  readonly sha: string;
}

/**
 * Makes a script from its definition: names become local variables, so that no body indexes KEYS or ARGV by number.
 * Elements after the named ones start at `KEYS[moreKeys + 1]` and `ARGV[moreArgs + 1]`.
 */
export function defineScript<const K extends string = 'name', const A extends string = never, R = unknown>(
  definition: ScriptDefinition<K, A, R>,
): Script<K, A, R> {
  const { keys = ['name' as K], args = [], lua: body, ...rules } = definition;
  const channels = keys.filter((key) => key.startsWith('channel'));
  const realKeys = keys.filter((key) => !channels.includes(key));
  const usual = { resend: rules.query === true ? 'always' : 'never', more: '', synced: false, query: false };
  const made = { ...usual, saysUnheard: false, ...rules, keys, args, channels, realKeys, body };
  return Object.assign(Object.create(MADE_LATE) as Script<K, A, R>, made);
}

/** A client uses few of its scripts, so text and hash are no work for whoever loads the library. */
const MADE_LATE = {
  get lua(): string {
    return withText(this).lua;
  },
  get sha(): string {
    return withText(this).sha;
  },
};

/** From now on both are values: an accessor would be one function more in each command. */
function withText(made: object): Pick<Script<string, string, never>, 'lua' | 'sha'> {
  const script = made as Script<string, string, never>;
  const { realKeys, channels, args: named, body } = script;
  const args = [...named, ...channels];
  const publishes = named.includes('publish') && !script.saysUnheard;
  const parts = [
    bind(realKeys, 'KEYS'),
    bind(args, 'ARGV'),
    /\bmoreKeys\b/.test(body) ? `local moreKeys = ${realKeys.length}` : '',
    /\bmoreArgs\b/.test(body) ? `local moreArgs = ${args.length}` : '',
    publishes ? reportUnheard(body) : body,
  ];
  const text = shortened(parts.join('\n')).trim();
  const sha = createHash('sha1').update(text).digest('hex');
  return Object.freeze(
    Object.defineProperties(script, { lua: { value: text, enumerable: true }, sha: { value: sha, enumerable: true } }),
  );
}

/**
 * Lua without comments, empty lines and indentation, which Redis does not need. The build does the same, since they
 * would be a part of every bundle; to shorten twice changes nothing.
 */
export function shortened(text: string): string {
  return text.replaceAll(/^\s*(?:--.*)?\n|^[ \t]+/gm, '');
}

/**
 * Wraps a script so that it reports when its user may not publish: it then returns `{UNHEARD_MARK, answer}`, which the
 * executor unwraps. A refused publish must not stop a script half-way, so it is not an error.
 */
function reportUnheard(body: string): string {
  return lua`
local unheard = false
local function tellAll(publish, channel, message)
  local receivers = redis.pcall(publish, channel, message)
  if type(receivers) ~= 'number' then unheard = true end
  return receivers
end
local function body()
${body}
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
