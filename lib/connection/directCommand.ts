import { Command } from 'ioredis';

/** Who learns what became of a command. */
export interface ReplySink<C> {
  /** The server answered. */
  replied(call: C, reply: unknown): void;
  /** The server answered with an error, or nobody answers any more. @param writing - which writing of the call it is about */
  failed(call: C, writing: number, error: Error): void;
}

/** What ioredis' command has that its types keep to themselves. */
interface CommandInternals {
  initPromise(): void;
  stringifyArguments(): void;
  transformReply(reply: unknown): unknown;
  isTraced: boolean;
  resolve(reply: unknown): void;
  reject(error: Error): void;
}

// `initPromise` is private to ioredis' types, so it is overridden where they do not reach.
const IoredisCommand = Command as unknown as new (
  name: string,
  args: (string | number | Buffer)[],
  options: { replyEncoding: BufferEncoding },
) => CommandInternals;

/**
 * A command that tells its outcome to a sink instead of a promise. ioredis makes a promise and four closures for each
 * command, which costs about as much as all of a lock's own bookkeeping, and the executor has a promise for its caller
 * anyway. Wire format, queueing and reading of replies stay ioredis'. A subclass against the rule: made any other way
 * (Reflect.construct, a changed prototype) it costs ten times what it saves.
 */
class PromiseLessCommand extends IoredisCommand {
  override initPromise(): void {
    this.stringifyArguments();
  }
}

/** Whether the ioredis at hand lets a command do without its promise. */
export const directCommands: boolean = (() => {
  const internals = Command.prototype as unknown as Partial<CommandInternals>;
  const needed = [internals.initPromise, internals.stringifyArguments, internals.transformReply];
  return needed.every((one) => typeof one === 'function');
})();

/** Makes a command whose outcome goes to `sink`; only where {@link directCommands}. */
export function directCommand<C>(
  name: string,
  args: (string | number | Buffer)[],
  sink: ReplySink<C>,
  call: C,
  writing: number,
): Command {
  const command = new PromiseLessCommand(name, args, { replyEncoding: 'utf8' });
  command.resolve = (reply) => sink.replied(call, command.transformReply(reply));
  command.reject = (error) => sink.failed(call, writing, error);
  // The tracing of ioredis follows promises.
  command.isTraced = true;
  return command as unknown as Command;
}
