import { Command, type Redis } from 'ioredis';

type Args = (string | number | Buffer)[];

/** Makes a command of ioredis. The arguments are the command's from then on: numbers among them become text. */
export type MakeCommand = (name: string, args: Args) => Command;

/** What ioredis writes a command to instead of its socket; part of its public types. */
export type CommandStream = NonNullable<Parameters<Redis['sendCommand']>[1]>;

const OPTIONS = Object.freeze({ replyEncoding: 'utf8' as const });
const NO_ARGS: [] = [];

/** How the commands of each `Command` class are made; a user's own client may come from another copy of ioredis. */
const makers = new WeakMap<typeof Command, MakeCommand>();

/** How commands for this connection are made: by the ioredis that the connection is of. */
export function commandMaker(redis: Redis): MakeCommand {
  const Type = (redis.constructor as Partial<typeof Redis>).Command ?? Command;
  let maker = makers.get(Type);
  if (maker === undefined) {
    maker = fillsAfterwards(Type) ? filled(Type) : constructed(Type);
    makers.set(Type, maker);
  }
  return maker;
}

/**
 * Has ioredis send a command: `sendCommand` of the connection, as APM agents have wrapped it.
 *
 * @param stream - where its bytes go
 * @returns the promise that `sendCommand` returns, which under tracing is another one than the command's
 */
export function sendCommand(redis: Redis, command: Command, stream: CommandStream): Promise<unknown> {
  try {
    const reply = redis.sendCommand(command, stream) as Promise<unknown> | undefined;
    // A wrapper may forget to return it.
    return typeof reply?.then === 'function' ? reply : command.promise;
  } catch (error) {
    // A wrapper may throw; whether the command was written by then nobody knows.
    command.promise.catch(() => undefined);
    return Promise.reject(error);
  }
}

/** The usual way. */
function constructed(Type: typeof Command): MakeCommand {
  return (name, args) => new Type(name, args, OPTIONS);
}

/** The same command in a third of the time: the constructor would flatten (and so copy) its arguments. */
function filled(Type: typeof Command): MakeCommand {
  return (name, args) => {
    const command = new Type(name, NO_ARGS, OPTIONS);
    command.args = args;
    command.stringifyArguments();
    return command;
  };
}

/** Whether a command that is filled afterwards is written as one that is made the usual way. */
function fillsAfterwards(Type: typeof Command): boolean {
  const sample = (): Args => ['0'.repeat(40), 1, 'näme', 30_000, ''];
  const binary = (): Args => ['key', Buffer.from([0, 255, 13, 10]), 7];
  try {
    return [sample, binary].every((args) => {
      const [ours, theirs] = [filled(Type), constructed(Type)].map((make) => make('evalsha', args()).toWritable({}));
      return Buffer.from(ours!).equals(Buffer.from(theirs!));
    });
  } catch {
    return false;
  }
}
