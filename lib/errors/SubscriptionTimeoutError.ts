import { RedissonError } from './RedissonError';

/**
 * A waiter without a time limit could not subscribe to the channel that would wake it. The acquisition is given up; nothing is
 * held. (One with a limit looks again now and then until its time is up.)
 *
 * Source: the `RedisTimeoutException`s of `org.redisson.pubsub.PublishSubscribeService`.
 */
export class SubscriptionTimeoutError extends RedissonError {
  readonly code = 'SUBSCRIPTION_TIMEOUT';
  /** The channel (as on the wire) that was to be subscribed. */
  readonly channel: string;

  static {
    this.prototype.name = 'SubscriptionTimeoutError';
  }

  /**
   * @param channel - the channel, as on the wire
   * @param timeoutMs - how long was waited for the acknowledgement, in ms
   * @param options - `cause`: the last error of the subscriber connection, where there is one
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
