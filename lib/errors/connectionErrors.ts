import { nameErrors, RedissonError } from './RedissonError';

/**
 * Redis cannot be reached, or the connection broke before the reply came.
 *
 * Source: `org.redisson.client.RedisConnectionException`.
 */
export class ConnectionError extends RedissonError {
  readonly code = 'CONNECTION';
  /**
   * Whether the server may have executed the command. `true` if the connection broke after the command was written to
   * it; `false` if there was no connection, so that it certainly did not run.
   */
  readonly mayHaveRun: boolean;

  /**
   * @param message - what could not be reached or broke, and what to check; never contains a password
   * @param mayHaveRun - whether the server may have executed the command
   * @param options - `cause`: the socket's error, if there is one
   */
  constructor(message: string, mayHaveRun: boolean, options?: ErrorOptions) {
    super(message, options);
    this.mayHaveRun = mayHaveRun;
  }
}

/** Error codes that Redis returns before a script's first write, or instead of running it: nothing was changed. */
const BEFORE_WRITES = new Set([
  ...['WRONGTYPE', 'OOM', 'MISCONF', 'READONLY', 'NOREPLICAS', 'BUSY', 'LOADING', 'MASTERDOWN'],
  ...['CLUSTERDOWN', 'TRYAGAIN', 'CROSSSLOT', 'MOVED', 'ASK', 'NOSCRIPT', 'NOAUTH'],
]);
/** Whether this error code says that the server has no room for what is acquired, but may have it later. */
export function isFull(reply: string): boolean {
  return reply === 'OOM' || reply === 'MISCONF';
}
/**
 * Whether this error code is that of a sound master which takes no acquisition for now: it has no room, or too few
 * replicas. No other server will come in its place.
 */
export function takesNone(reply: string): boolean {
  return isFull(reply) || reply === 'NOREPLICAS';
}

/** Redis before 7 wraps the error of a command in a script: `ERR Error running script (…): @user_script:3: -OOM …`. */
const CODE = /^(?:.*@user_script: ?\d+: )?-?([A-Z]+)\b/s;

/**
 * Redis refused a command: its own error reply is the `cause`.
 *
 * Source: `org.redisson.client.RedisException` around an error reply.
 */
export class CommandError extends RedissonError {
  readonly code = 'COMMAND';
  /** The code of Redis' error: its first word, e.g. `OOM`, `MISCONF`, `NOPERM`, `WRONGTYPE`; `ERR` if it has none. */
  readonly reply: string;
  /**
   * Whether the server may have executed a part of the command: a missing permission, or an error in a script, can
   * occur after the first write, and Redis does not roll back. `false` for errors that occur before: nothing was
   * changed.
   */
  readonly mayHaveRun: boolean;

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
   * The key of that name holds a value of another Redis type.
   *
   * @param name - the object's name as given by the user
   * @param reply - Redis' `WRONGTYPE` reply; becomes `cause`
   */
  static wrongType(name: string, reply: Error): CommandError {
    return new this(
      `use '${name}' as a lock or synchronizer, because that key holds a value of another type (choose another name)`,
      reply,
    );
  }
}

/**
 * Redis did not reply to a command within `timeout` (and, if the command may be repeated, within its retries).
 *
 * Source: `org.redisson.client.RedisResponseTimeoutException`.
 */
export class CommandTimeoutError extends RedissonError {
  readonly code = 'COMMAND_TIMEOUT';
  /**
   * Whether the server may have executed the command. `true` as soon as it was written to a socket: a missing reply
   * does not show what the server did, or will still do. `false` only if it certainly never left this process.
   */
  readonly mayHaveRun: boolean;

  /**
   * @param what - what was being done, e.g. `acquire lock 'a'`
   * @param timeoutMs - the time waited, in ms
   * @param mayHaveRun - whether the server may have executed the command
   * @param options - `cause`, if there is one
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

/**
 * No replica confirmed an acquisition within `slavesSyncTimeout`, so a failover could lose it. It was undone.
 *
 * Source: `org.redisson.client.RedisNoSyncedSlavesException` ("NoSyncedSlaves").
 */
export class NoSyncedReplicasError extends RedissonError {
  readonly code = 'NO_SYNCED_REPLICAS';

  /**
   * @param what - what was being done, e.g. `acquire lock 'a'`
   * @param timeoutMs - `slavesSyncTimeout`, in ms
   */
  constructor(what: string, timeoutMs: number) {
    super(
      `None of the replicas confirmed it within ${timeoutMs} ms (${what}); it was undone. ` +
        `Increase 'slavesSyncTimeout', or set 'checkLockSyncedSlaves' to false to accept that a failover may lose locks.`,
    );
  }
}

/**
 * A waiter without a time limit could not subscribe to the channel that would wake it. The acquisition is given up;
 * nothing is held. (A waiter with a limit retries after pauses until its time is up.)
 *
 * Source: the `RedisTimeoutException`s of `org.redisson.pubsub.PublishSubscribeService`.
 */
export class SubscriptionTimeoutError extends RedissonError {
  readonly code = 'SUBSCRIPTION_TIMEOUT';
  /** The channel (its name in Redis) that was to be subscribed. */
  readonly channel: string;

  /**
   * @param channel - the channel's name in Redis
   * @param timeoutMs - the time waited for the acknowledgement, in ms
   * @param options - `cause`: the last error of the subscriber connection, if there is one
   */
  constructor(channel: string, timeoutMs: number, options?: ErrorOptions) {
    super(
      `Not subscribed to channel '${channel}' after ${timeoutMs} ms. ` +
        `Check the connection to Redis, or increase 'subscriptionTimeout'.`,
      options,
    );
    this.channel = channel;
  }
}

nameErrors({ ConnectionError, CommandError, CommandTimeoutError, NoSyncedReplicasError, SubscriptionTimeoutError });
