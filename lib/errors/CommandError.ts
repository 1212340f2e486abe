import { RedissonError } from './RedissonError';

/**
 * Redis refused a command: its own error reply is the `cause`. The script changed nothing.
 *
 * Source: `org.redisson.client.RedisException` around an error reply.
 */
export class CommandError extends RedissonError {
  readonly code = 'COMMAND';

  static {
    this.prototype.name = 'CommandError';
  }

  /**
   * @param what - what was being done, e.g. `acquire lock 'a'`
   * @param reply - the error reply of Redis; becomes `cause`
   */
  constructor(what: string, reply: Error) {
    super(`Redis refused to ${what}: ${reply.message}`, { cause: reply });
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
