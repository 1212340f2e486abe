/**
 * Told of the end of an object's key. What it throws or rejects with is a warning of the process
 * (`IOREDISSON_LISTENER`). It runs in no caller's async context.
 *
 * Source: `ExpiredObjectListener` and `DeletedObjectListener`, in one.
 */
export interface ObjectListener {
  /** The key has expired: a lease ran out. @param name - of the object, as given to `getX` */
  onExpired?(name: string): unknown;
  /** The key was deleted: released for the last time, forced open, or by hand. @param name - as given to `getX` */
  onDeleted?(name: string): unknown;
}

/**
 * The members of every lock and synchronizer. A handle is cheap: making one uses neither Redis nor any shared state.
 *
 * Source: `org.redisson.api.RObject`.
 */
export interface RObject {
  /** The name as given to `getX`, before the name mapper. */
  readonly name: string;
  /**
   * The name as given to `getX`.
   *
   * @throws UnsupportedOperationError on a MultiLock or RedLock, which has no name
   */
  getName(): string;

  /**
   * Adds a listener, called when this object's key expires or is deleted, by any client and for any reason: the
   * last release of a lock deletes it, too. Events that happen while there is no connection are lost, and an expiry is
   * told when the server removes the key, which may be later: do not build mutual exclusion on it.
   *
   * Each server must have its setting `notify-keyspace-events` contain `E`, with `g` for deleted and `x` for expired
   * (`Egx`). Then it sends the name of every key of the database that ends. Where the setting may not be read it is
   * taken to be right, and the `logger` gets one line.
   *
   * @param listener - has `onExpired`, `onDeleted` or both
   * @returns the id for {@link removeListener}, as soon as events arrive
   * @throws ConfigError for what is no listener
   * @throws UnsupportedOperationError if the server sends no such events; on a MultiLock or RedLock
   * @throws SubscriptionTimeoutError if the events could not be subscribed within `subscriptionTimeout`
   * @throws ConnectionError, CommandTimeoutError if Redis does not reply. Safe to repeat
   * @throws CommandError, ShutdownError if Redis refuses the subscription, or the client is shut down.
   *
   * Source: `RObject.addListener(ObjectListener)`.
   */
  addListener(listener: ObjectListener): Promise<number>;

  /**
   * Removes a listener of this object, through any handle of its name. An id that is not known (any more) is no error.
   * The connection for events is closed with the last listener of the client.
   *
   * @param listenerId - what {@link addListener} gave
   * @throws ConfigError for what is no id
   * @throws UnsupportedOperationError on a MultiLock or RedLock
   * Source: `RObject.removeListener(int)`.
   */
  removeListener(listenerId: number): Promise<void>;
}
