import { Command, Redis, type Cluster, type RedisOptions, type SentinelConnector } from 'ioredis';
import type { NodeAddress } from '../../config/Topology';
import { ConfigError } from '../../errors';
import type { CommandArgs } from './Link';

/*
 * Everything that depends on the internals of ioredis, in one place: what is checked, and what happens where it
 * differs.
 *
 * - Commands that are filled after they were made, and join their own text (speed only): compared by their bytes;
 *   otherwise made the usual way.
 * - `sendCommand(command, stream)`: in its public types; without it nothing works, so it is refused.
 * - The start nodes of a user's own cluster client, and how it resolves them (`startupNodes`,
 *   `resolveStartupNodeHostnames`: private in ioredis 5.6 to 6.0). The public `nodes()` is empty before the client
 *   has connected, and has no SRV records. Otherwise the nodes that the client knows; where it knows none, an error
 *   says what to do.
 * - The connections to sentinels, which ioredis neither names nor closes before their time-out: otherwise that stays
 *   so.
 * - Texts of errors (speed of a reconnect only): one that is not recognized counts as "the connection was lost", which
 *   is the safe reading. `npm run test:matrix` shows when one has changed.
 */

/** Makes an ioredis command, which owns the arguments from then on: numbers among them become text. */
export type MakeCommand = (name: string, args: CommandArgs) => Command;

/** Sends a command. @param stream - where its bytes go */
export type Send = (name: string, args: CommandArgs, stream: CommandStream) => Promise<unknown>;

/** What ioredis writes a command to in place of its socket; part of its public types. */
export type CommandStream = NonNullable<Parameters<Redis['sendCommand']>[1]>;

/** A command was not written to any connection. */
export const UNSENT_TEXT = /isn't writeable/;
/**
 * ioredis 5 takes a server's own "you are unsubscribed" for an answer, and assigns later answers wrongly after that.
 */
export const OUT_OF_STEP_TEXT = 'Command queue state error';
/** How ioredis 5 prefixes the reply to the INFO of its ready check. */
export const READY_CHECK_TEXT = /^Ready check failed: (?=[A-Z][A-Z0-9]+ )/;

/** Whether an error of a connection is the reply to that INFO. ioredis 6 passes it on unchanged. */
export function isOfReadyCheck(error: Error): boolean {
  const { command } = error as { readonly command?: { readonly name?: unknown } };
  return READY_CHECK_TEXT.test(error.message) || command?.name === 'info';
}

/** The versions that are tested, and in words. */
const OLDEST: readonly [major: number, minor: number] = [5, 6];
const NEWEST_MAJOR = 6;
const SUPPORTED = '^5.6.0 or ^6.0.0';

const OPTIONS = Object.freeze({ replyEncoding: 'utf8' as const });
const NO_ARGS: [] = [];

/** How the commands of a `Command` class are made. */
const makers = new WeakMap<typeof Command, MakeCommand>();

let checked = false;

/**
 * Checks the installed ioredis, once per process.
 *
 * @throws ConfigError where it is too old, or lacks something that cannot be replaced; it names the version
 */
export function checkIoredis(): void {
  if (checked) return;
  const { name, version } = installed();
  refuseUnfit(version, Redis, name);
  checked = true;
}

/**
 * As {@link checkIoredis} for a user's own client, which may be of another copy of ioredis.
 *
 * @throws ConfigError
 */
export function checkClientsIoredis(client: Redis): void {
  for (const method of ['call', 'subscribe', 'duplicate', 'disconnect', 'on'] as const) {
    if (typeof client[method] === 'function') continue;
    throw new ConfigError(`The given client has no ${method}(). Give one of ioredis ${SUPPORTED}.`);
  }
  const { db = 0 } = client.options;
  // Where ioredis keeps the database of a connection. Where that field is missing, the options count.
  const { condition } = client as unknown as { readonly condition?: { readonly select?: unknown } | null };
  const selected = condition?.select;
  if (typeof selected !== 'number' || selected === db) return;
  throw new ConfigError(
    `The given client was sent to database ${selected} by select(), but its options say ${db}, where a copy of it would go: ` +
      `there are other locks. Give a client that was made with { db: ${selected} }.`,
  );
}

/**
 * Refuses an ioredis that this package cannot work with, and warns of one that is not tested.
 *
 * @param version - of that ioredis; `undefined` where it is not known
 * @param Type - its class `Redis`
 * @param name - of the package that is installed as ioredis: `iovalkey` has versions of its own
 * @throws ConfigError
 */
export function refuseUnfit(version: string | undefined, Type: typeof Redis, name = 'ioredis'): void {
  const which = version === undefined ? 'the ioredis at hand' : `${name} ${version}`;
  const isIoredis = name === 'ioredis';
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number);
  if (isIoredis && version !== undefined && (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))) {
    throw new ConfigError(`ioredisson needs ioredis ${SUPPORTED}, but found ${which}. Install one of those.`);
  }
  const lacks = missing(Type);
  if (lacks !== undefined) {
    throw new ConfigError(`${which} has no ${lacks}, which ioredisson needs. Install ioredis ${SUPPORTED}.`);
  }
  if (isIoredis && major > NEWEST_MAJOR) {
    process.emitWarning(`${which} is newer than what ioredisson is tested with (${SUPPORTED}).`, {
      code: 'IOREDISSON_IOREDIS_VERSION',
    });
  }
}

/** How commands are made: filled afterwards where the result is the same. @param Type - the class of the commands */
export function commandMaker(Type: typeof Command = Command): MakeCommand {
  let maker = makers.get(Type);
  if (maker === undefined) {
    maker = fillsAfterwards(Type) ? filled(Type) : constructed(Type);
    makers.set(Type, maker);
  }
  return maker;
}

/**
 * How commands are sent on a connection: by its `sendCommand`, as APM agents have wrapped it. A user's own client may
 * be of another copy of ioredis: there by its `call`, since that copy does not know our command class.
 *
 * @returns a function that sends one and gives the promise of `sendCommand`, which under tracing differs from the
 *   command's
 */
export function senderOf(redis: Redis): Send {
  if (!(redis instanceof Redis)) {
    const theirs = redis as Redis;
    return (name, args) => theirs.call(name, ...args);
  }
  const make = commandMaker();
  return (name, args, stream) => sendCommand(redis, make(name, args), stream);
}

/** See {@link senderOf}. */
export function sendCommand(redis: Redis, command: Command, stream: CommandStream): Promise<unknown> {
  try {
    const reply = redis.sendCommand(command, stream) as Promise<unknown> | undefined;
    // A wrapper may forget to return it.
    return typeof reply?.then === 'function' ? reply : command.promise;
  } catch (error) {
    // A wrapper may throw; it is unknown whether the command was written by then.
    command.promise.catch(() => undefined);
    return Promise.reject(error);
  }
}

/**
 * Resolves the start nodes of a user's own cluster client as that client would, with a copy that never connects (SRV
 * records, its own lookup). Where ioredis has no such method: the nodes that the client knows; rejects with
 * ConfigError if it knows none.
 */
export function startNodesOf(client: Cluster): () => Promise<readonly (NodeAddress & RedisOptions)[]> {
  const copy = client.duplicate([], { lazyConnect: true }) as unknown as {
    resolveStartupNodeHostnames?: () => Promise<(NodeAddress & RedisOptions)[]>;
  };
  if (typeof copy.resolveStartupNodeHostnames === 'function') {
    return () => copy.resolveStartupNodeHostnames!();
  }
  return async () => knownNodes(client);
}

/**
 * The start nodes of a user's own cluster client, as they were given to it. Where ioredis does not keep them: the nodes
 * that the client knows.
 *
 * @throws ConfigError if it knows none
 */
export function startupNodesOf(client: Cluster): readonly unknown[] {
  const { startupNodes } = client as unknown as { readonly startupNodes?: unknown };
  return Array.isArray(startupNodes) ? startupNodes : knownNodes(client);
}

/** The nodes that a client knows, by ioredis' public API. @throws ConfigError if it knows none */
function knownNodes(client: Cluster): readonly NodeAddress[] {
  const nodes = client.nodes().map(({ options }) => ({ host: options.host!, port: options.port! }));
  if (nodes.length > 0) return nodes;
  throw new ConfigError(
    'The given Cluster client does not say what its start nodes are. Wait until it is ready before you give it, or give ' +
      'their addresses (clusterServersConfig.nodeAddresses).',
  );
}

/**
 * Watches the connections that a connector makes to sentinels.
 *
 * @param options - more options for them
 * @param opened - called with each
 */
export function watchSentinels(
  connector: SentinelConnector,
  options: RedisOptions,
  opened: (sentinel: Redis) => void,
): void {
  const inside = connector as unknown as { connectToSentinel?: (endpoint: object, more?: object) => Redis };
  const make = inside.connectToSentinel;
  if (typeof make !== 'function') return;
  inside.connectToSentinel = (endpoint, more) => {
    const sentinel = make.call(connector, endpoint, { ...options, ...more });
    opened(sentinel);
    return sentinel;
  };
}

/** What is missing, in words. */
function missing(Type: typeof Redis): string | undefined {
  const { prototype, Command: Made = Command } = Type as Partial<typeof Redis>;
  for (const method of ['sendCommand', 'connect', 'disconnect', 'duplicate', 'subscribe', 'on'] as const) {
    if (typeof prototype?.[method] !== 'function') return `Redis.prototype.${method}`;
  }
  try {
    const command = constructed(Made)('evalsha', ['sha', 0]);
    if (typeof command.promise.then !== 'function') return 'command with a promise';
    const bytes = command.toWritable({}).toString();
    if (bytes !== '*3\r\n$7\r\nevalsha\r\n$3\r\nsha\r\n$1\r\n0\r\n') return 'Command that writes RESP';
  } catch {
    return 'usable class Command';
  }
  return undefined;
}

/**
 * The name of the package that is loaded as ioredis, which may be an alias of iovalkey; unknown in a bundle, for
 * example.
 */
function installed(): { readonly name?: string; readonly version?: string } {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return require('ioredis/package.json') as { name?: string; version?: string };
  } catch {
    return {};
  }
}

/** The usual way. */
function constructed(Type: typeof Command): MakeCommand {
  return (name, args) => new Type(name, args, OPTIONS);
}

/**
 * The same command in a third of the time: the constructor would flatten (and so copy) its arguments. Its text is
 * joined here, since that is the most expensive part of sending.
 */
function filled(Type: typeof Command): MakeCommand {
  return (name, args) => {
    const command = new Type(name, NO_ARGS, OPTIONS);
    command.args = args;
    if (textOnly(args)) command.toWritable = joined;
    else command.stringifyArguments();
    return command;
  };
}

/** Turns numbers into text, as ioredis does. @returns whether there are no buffers */
function textOnly(args: CommandArgs): boolean {
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    if (typeof arg === 'number') args[i] = String(arg);
    else if (typeof arg !== 'string') return false;
  }
  return true;
}

/** The start of the last EVALSHA of a script: the same each time, up to the number of keys. */
interface Head {
  readonly args: number;
  readonly keys: unknown;
  readonly text: string;
}

/** One for each script (by its sha), so never more than there are scripts. */
const heads = new Map<unknown, Head>();

/** What ioredis would write for a command, joined from fewer pieces. */
function joined(this: Command): string {
  const { name, args } = this;
  let text: string;
  let next = 0;
  if (name === 'evalsha') {
    text = headOf(args);
    next = 2;
  } else text = `*${args.length + 1}\r\n${bulk(name)}`;
  for (; next < args.length; next++) text += bulk(args[next] as string);
  return text;
}

function headOf(args: Command['args']): string {
  const [sha, keys] = args as [string, string];
  let head = heads.get(sha);
  if (head?.args !== args.length || head.keys !== keys) {
    const made = `*${args.length + 1}\r\n${bulk('evalsha')}${bulk(sha)}${bulk(keys)}`;
    // Through a buffer, so that it becomes one flat string.
    head = { args: args.length, keys, text: Buffer.from(made).toString() };
    heads.set(sha, head);
  }
  return head.text;
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

/** Whether a command that is filled afterwards is written like one that is made the usual way. */
function fillsAfterwards(Type: typeof Command): boolean {
  const samples: readonly [name: string, args: () => CommandArgs][] = [
    ['evalsha', () => ['0'.repeat(40), 1, 'näme', 30_000, '']],
    ['evalsha', () => ['key', Buffer.from([0, 255, 13, 10]), 7]],
    ['eval', () => ['return 1', 0, 'ä']],
    ['ping', () => []],
  ];
  try {
    return samples.every(([name, args]) => {
      const [ours, theirs] = [filled(Type), constructed(Type)].map((make) => make(name, args()).toWritable({}));
      return Buffer.from(ours!).equals(Buffer.from(theirs!));
    });
  } catch {
    return false;
  }
}
