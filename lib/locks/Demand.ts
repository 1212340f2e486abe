import type { CommandTimeoutError } from '../errors';
import type { Grip } from '../renewal/Hold';
import type { LogicalThread } from '../thread/threadScope';
import { ENDLESS_PATIENCE, Patience } from '../wait/Patience';
import type { CallingThread } from './HandleThread';

/** How a lock is wanted by a thread. */
export interface Demand {
  threadId: number;
  /** The same, where the lock decided it. */
  thread?: LogicalThread | undefined;
  readonly call: CallingThread;
  /** In ms; -1 = the watchdog keeps it. */
  readonly leaseMs: number;
  /** In ms; `Infinity` = without limit; 0 or less: a single attempt. */
  waitMs: number;
  /** `false`: a single attempt that queues nowhere; a positive `waitMs` then limits the wait for its answer. */
  readonly queues: boolean;
  readonly signal: AbortSignal | undefined;
  /** Whether a re-entry is suspicious: the thread is a handle's, or what it has was taken by `acquire`. */
  viaHandle: boolean;
  /** @default the client's setting */
  maxRenewals?: number | undefined;
  /** What the watchdog extends to, in ms. @default the client's setting */
  watchdogMs?: number | undefined;
}

/** What came of a demand. */
export type Taken =
  | { readonly ok: true; readonly grip: Grip; readonly token: bigint | undefined }
  /** Not acquired; `ttl` as the last attempt read it. `silence`: the last attempt got no answer. */
  | { readonly ok: false; readonly ttl: number; readonly silence: CommandTimeoutError | undefined };

/** How long a demand waits. */
export function patienceOf({ waitMs, signal }: Demand): Patience {
  const timed = waitMs > 0 && waitMs !== Infinity;
  if (!timed && signal === undefined) return ENDLESS_PATIENCE;
  return new Patience(timed ? performance.now() + waitMs : Infinity, signal);
}
