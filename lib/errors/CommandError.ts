import { RedissonError } from './RedissonError';

/** Error codes that Redis gives before a script's first write, or instead of running it: nothing was changed. */
const BEFORE_WRITES = new Set([
  ...['WRONGTYPE', 'OOM', 'MISCONF', 'READONLY', 'NOREPLICAS', 'BUSY', 'LOADING', 'MASTERDOWN'],
  ...['CLUSTERDOWN', 'TRYAGAIN', 'CROSSSLOT', 'MOVED', 'ASK', 'NOSCRIPT', 'NOAUTH'],
]);
/** Redis before 7 wraps what a command said to a script: `ERR Error running script (…): @user_script:3: -OOM …`. */
const CODE = /^(?:.*@user_script: ?\d+: )?-?([A-Z]+)\b/s;

/**
 * Redis refused a command: its own error reply is the `cause`.
 *
 * Source: `org.redisson.client.RedisException` around an error reply.
 */
export class CommandError extends RedissonError {
  readonly code = 'COMMAND';
  /** The code of Redis' error: its first word, e.g. `OOM`, `MISCONF`, `NOPERM`, `WRONGTYPE`; `ERR` where it has none. */
  readonly reply: string;
  /**
   * Whether the server may have done a part of it: a right that is missing, or an error of a script, can show itself after
   * the first write, and Redis takes nothing back. `false` for the errors that come before: nothing was changed.
   */
  readonly mayHaveRun: boolean;

  static {
    this.prototype.name = 'CommandError';
  }

  /**
   * @param what - what was being done, e.g. `acquire lock 'a'`
   * @param reply - the error reply of Redis; becomes `cause`
   */
  constructor(what: string, reply: Error) {
    super(`Redis refused to ${what}: ${reply.message}`, { cause: reply });
    this.reply = CODE.exec(reply.message)?.[1] ?? 'ERR';
    this.mayHaveRun = !BEFORE_WRITES.has(this.reply);
  }

  /**
   * The name is taken by a value of another Redis type.
   *
   * @param name - the object's name as given by the user
   * @param reply - Redis' `WRONGTYPE` reply; becomes `cause`
   */
  static wrongType(name: string, reply: Error): CommandError {
    return new CommandError(
      `use '${name}' as a lock or synchronizer, because that key holds a value of another type (choose another name)`,
      reply,
    );
  }
}
