import { RedissonError } from './RedissonError';

/**
 * Redis did not answer a command within `timeout` (and, where the command may be repeated, within its retries).
 *
 * Source: `org.redisson.client.RedisResponseTimeoutException`.
 */
export class CommandTimeoutError extends RedissonError {
  readonly code = 'COMMAND_TIMEOUT';
  /**
   * Whether the server may have executed the command. `true` as soon as it was written to a socket: no answer says
   * nothing about what the server did, or will still do. `false` only when it certainly never left this process.
   */
  readonly mayHaveRun: boolean;

  static {
    this.prototype.name = 'CommandTimeoutError';
  }

  /**
   * @param what - what was being done, e.g. `acquire lock 'a'`
   * @param timeoutMs - how long was waited, in ms
   * @param mayHaveRun - whether the server may have executed the command
   * @param options - `cause`, where there is one
   */
  constructor(what: string, timeoutMs: number, mayHaveRun: boolean, options?: ErrorOptions) {
    super(
      `No answer from Redis within ${timeoutMs} ms (${what}). ` +
        `Check the load of the server and the network, or increase 'timeout'.`,
      options,
    );
    this.mayHaveRun = mayHaveRun;
  }
}
