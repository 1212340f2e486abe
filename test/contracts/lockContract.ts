import type { Redisson, RedissonOptions, RLock } from '../../lib';
import { lockAborts } from './lockAborts';
import { lockBadInput } from './lockBadInput';
import { lockBattery } from './lockBattery';
import { lockConcurrency } from './lockConcurrency';
import { lockHolds } from './lockHolds';
import { lockTickets } from './lockTickets';
import { lockThreads } from './lockThreads';
import { lockWaits } from './lockWaits';
import { lockWatchdog } from './lockWatchdog';

/** The shared battery of test/README.md: what the contract runs, and which ids a kind of lock names. */
export type Battery =
  | 'B-ISLOCKED'
  | 'B-ISLOCKED-OTHER'
  | 'B-HELD'
  | 'B-HELD-OTHER'
  | 'B-HOLDCOUNT'
  | 'B-LOCKUNLOCK'
  | 'B-REENTRANT'
  | 'B-UNLOCKFAIL'
  | 'B-FORCE'
  | 'B-EXPIRE'
  | 'B-TRYWAIT'
  | 'B-AUTOEXPIRE'
  | 'B-CONC-1'
  | 'B-CONC-LOOP'
  | 'B-CONC-N'
  | 'B-REDISFAIL'
  | 'B-UNINT'
  | 'B-INTTRY'
  | 'B-SUBS'
  | 'B-ONESUB';

/** In what kinds of lock differ, as far as the contract can see. */
export interface LockTraits {
  /** Its holder may take it once more. */
  readonly reentrant: boolean;
  /** Several owners hold it at once; what excludes it is {@link LockUnderTest.blocker}. Default: false. */
  readonly shared?: boolean;
  /** Waiters are served in the order of asking. Default: false. */
  readonly fair?: boolean;
  /** Waiters listen to a channel, and are woken by it. */
  readonly pubsub: boolean;
  /** `LockHold.detach` works. Default: false. */
  readonly detachable?: boolean;
  /** `LockHold.token` is there. Default: false. */
  readonly fenced?: boolean;
  /**
   * One key: `name`, `getHoldCount`, `isLocked`, `remainTimeToLive`, `forceUnlock`, `tryAcquire` say something.
   * Default: true; false for a multi-lock, which rejects them.
   */
  readonly single?: boolean;
  /** `getHoldCount` and `remainTimeToLive` say something. Default: `single`; false for a group lock. */
  readonly counted?: boolean;
}

/** A kind of lock under test. */
export interface LockUnderTest {
  /** A fresh handle. */
  make(client: Redisson, name: string): RLock;
  readonly traits: LockTraits;
  /** The ids (test/README.md), as `{ 'B-ISLOCKED': 'L-18' }`; they begin the names of the tests. */
  readonly ids?: Partial<Record<Battery, string>>;
  /** A lock that excludes the one under test, where it does not exclude itself. Default: {@link make}. */
  blocker?(client: Redisson, name: string): RLock;
  /** What the i-th of many contenders takes, where they are of two kinds. Default: {@link make}, exclusive. */
  contender?(client: Redisson, name: string, i: number): { readonly lock: RLock; readonly exclusive: boolean };
  /** Of all clients. Default: none of its own. */
  readonly settings?: Pick<RedissonOptions, 'localHandOver'>;
  /** The keys that are there while it is held. Default: the name itself. */
  keys?(name: string): string[];
  /** Keys that stay when nobody holds it (a fencing token). Default: none. */
  persistentKeys?(name: string): string[];
}

/** Begins a test's name with its id. */
export function titled(kind: LockUnderTest, battery: Battery, text: string): string {
  const id = kind.ids?.[battery];
  return `${id === undefined ? '' : `${id} `}${battery}: ${text}`;
}

/** What every lock of the package has to keep, whatever its kind. Needs the shared server. */
export function lockContract(name: string, kind: LockUnderTest): void {
  describe(name, () => {
    lockBattery(kind);
    lockWaits(kind);
    lockHolds(kind);
    lockThreads(kind);
    lockTickets(kind);
    lockAborts(kind);
    lockBadInput(kind);
    lockWatchdog(kind);
    lockConcurrency(kind);
  });
}
