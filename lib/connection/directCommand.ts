import { Command } from 'ioredis';

/** Who learns what became of a command. */
export interface ReplySink<C> {
  /** The server answered. */
  replied(call: C, reply: unknown): void;
  /** The server answered with an error, or nobody answers any more. @param writing - which writing of the call it is about */
  failed(call: C, writing: number, error: Error): void;
}

type Args = readonly (string | number | Buffer)[];

/** What ioredis' command has that its types keep to themselves. */
interface CommandInternals {
  args: Args;
  isTraced: boolean;
  initPromise(): void;
  stringifyArguments(): void;
  transformReply(reply: unknown): unknown;
  toWritable(socket: object): string | Buffer;
}

// `initPromise` is private to ioredis' types, so it is overridden where they do not reach.
const IoredisCommand = Command as unknown as new (
  name: string,
  args: Args,
  options: { replyEncoding: BufferEncoding },
) => CommandInternals;

const OPTIONS = Object.freeze({ replyEncoding: 'utf8' as const });
/** ioredis copies what it is given; nothing costs the least. */
const NO_ARGS: Args = [];

/**
 * A command that tells its outcome to a sink instead of a promise. ioredis makes a promise and four closures for each
 * command, which costs about as much as all of a lock's own bookkeeping, and the executor has a promise for its caller
 * anyway. Queueing and reading of replies stay ioredis'. A subclass against the rule: made any other way
 * (Reflect.construct, a changed prototype) it costs ten times what it saves.
 */
class DirectCommand<C> extends IoredisCommand {
  readonly #name: string;
  readonly #sink: ReplySink<C>;
  readonly #call: C;
  readonly #writing: number;

  constructor(name: string, args: Args, sink: ReplySink<C>, call: C, writing: number) {
    super(name, NO_ARGS, OPTIONS);
    this.args = args;
    // The tracing of ioredis follows promises.
    this.isTraced = true;
    this.#name = name;
    this.#sink = sink;
    this.#call = call;
    this.#writing = writing;
  }

  override initPromise(): void {
    // The one it inherits makes the promise.
  }

  override toWritable(socket: object): string | Buffer {
    const text = encode(this.#name, this.args);
    if (text !== undefined) return text;
    this.args = [...this.args];
    this.stringifyArguments();
    return super.toWritable(socket);
  }

  resolve(reply: unknown): void {
    const plain = reply === null || typeof reply === 'number';
    this.#sink.replied(this.#call, plain ? reply : this.transformReply(reply));
  }

  reject(error: Error): void {
    this.#sink.failed(this.#call, this.#writing, error);
  }
}

/** How the last EVALSHA of a script began: up to the number of keys it is the same each time. */
interface Head {
  readonly args: number;
  readonly keys: unknown;
  readonly text: string;
}

/** Of each script (its sha), and so never more than there are scripts. */
const heads = new Map<unknown, Head>();

/**
 * What is sent, as ioredis would write it. A string made of few pieces: joining them is the dearest part of sending.
 * @returns `undefined` where there are raw bytes among the arguments
 */
function encode(name: string, args: Args): string | undefined {
  let text: string;
  let first = 0;
  if (name === 'evalsha') {
    const [sha, keys] = args;
    let head = heads.get(sha);
    if (head?.args !== args.length || head.keys !== keys) {
      const made = `*${args.length + 1}\r\n${bulk(name)}${bulk(String(sha))}${bulk(String(keys))}`;
      // Through a buffer, so that it is one piece from now on.
      head = { args: args.length, keys, text: Buffer.from(made).toString('latin1') };
      heads.set(sha, head);
    }
    ({ text } = head);
    first = 2;
  } else text = `*${args.length + 1}\r\n${bulk(name)}`;
  for (let i = first; i < args.length; i++) {
    const arg = args[i]!;
    if (typeof arg === 'object') return undefined;
    text += bulk(typeof arg === 'string' ? arg : String(arg));
  }
  return text;
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

/** Whether the ioredis at hand takes such commands: one that writes other bytes, or makes promises elsewhere, does not. */
export const directCommands: boolean = (() => {
  const internals = Command.prototype as unknown as Partial<CommandInternals>;
  const needed = [internals.initPromise, internals.stringifyArguments, internals.transformReply, internals.toWritable];
  if (!needed.every((one) => typeof one === 'function')) return false;
  const args = ['0'.repeat(40), 1, 'näme', 30_000, ''];
  const sink = { replied: () => undefined, failed: () => undefined };
  const ours = new DirectCommand('evalsha', args, sink, undefined, 0);
  const theirs = new Command('evalsha', args) as unknown as CommandInternals;
  return !Object.hasOwn(ours, 'resolve') && ours.toWritable({}) === theirs.toWritable({});
})();

/** Makes a command whose outcome goes to `sink`; only where {@link directCommands}. */
export function directCommand<C>(name: string, args: Args, sink: ReplySink<C>, call: C, writing: number): Command {
  return new DirectCommand(name, args, sink, call, writing) as unknown as Command;
}
