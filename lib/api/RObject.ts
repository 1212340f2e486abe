/**
 * What every lock and synchronizer has. A handle is cheap: making one touches neither Redis nor any shared state.
 *
 * Source: `org.redisson.api.RObject`.
 */
export interface RObject {
  /** The name as given to `getX`, before the name mapper. */
  readonly name: string;
  /**
   * The name as given to `getX`.
   *
   * @throws UnsupportedOperationError on a MultiLock or RedLock, which has none
   */
  getName(): string;
}
