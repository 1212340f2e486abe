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
}
