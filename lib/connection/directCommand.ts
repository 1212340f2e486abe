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

/** A constructor whose commands have no promise: `initPromise` is private to ioredis' types, so types do not reach it. */
function PromiseLess(): void {
  // only its prototype matters
}
PromiseLess.prototype = Object.create(Command.prototype, {
  initPromise: {
    value(this: CommandInternals): void {
      this.stringifyArguments();
    },
  },
});

/** Whether the ioredis at hand lets a command do without its promise. */
export const directCommands: boolean = (() => {
  const internals = Command.prototype as unknown as Partial<CommandInternals>;
  const needed = [internals.initPromise, internals.stringifyArguments, internals.transformReply];
  return needed.every((one) => typeof one === 'function');
})();

/**
 * Makes a command that tells its outcome to a sink instead of a promise; only where {@link directCommands}. ioredis makes
 * a promise and four closures for each command, which costs about as much as all of a lock's own bookkeeping, and the
 * executor has a promise for its caller anyway. Wire format, queueing and reading of replies stay ioredis'.
 */
export function directCommand<C>(
  name: string,
  args: (string | number | Buffer)[],
  sink: ReplySink<C>,
  call: C,
  writing: number,
): Command {
  const made: unknown = Reflect.construct(Command, [name, args, { replyEncoding: 'utf8' }], PromiseLess);
  const command = made as CommandInternals;
  command.resolve = (reply) => sink.replied(call, command.transformReply(reply));
  command.reject = (error) => sink.failed(call, writing, error);
  // The tracing of ioredis follows promises.
  command.isTraced = true;
  return made as Command;
}
