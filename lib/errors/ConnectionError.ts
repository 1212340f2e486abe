import { RedissonError } from './RedissonError';

/**
 * Redis cannot be reached, or the connection broke before the answer came.
 *
 * Source: `org.redisson.client.RedisConnectionException`.
 */
export class ConnectionError extends RedissonError {
  readonly code = 'CONNECTION';
  /**
   * Whether the server may have executed the command. `true` when the connection broke after the command was written
   * to it; `false` when there was no connection to write it to, so that it certainly did not run.
   */
  readonly mayHaveRun: boolean;

  static {
    this.prototype.name = 'ConnectionError';
  }

  /**
   * @param message - what could not be reached or broke, and what to check; never with a password
   * @param mayHaveRun - whether the server may have executed the command
   * @param options - `cause`: the socket's error, where there is one
   */
  constructor(message: string, mayHaveRun: boolean, options?: ErrorOptions) {
    super(message, options);
    this.mayHaveRun = mayHaveRun;
  }
}
