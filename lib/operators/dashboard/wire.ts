import type { ForcedAction } from '../inspection/remedies';
import type {
  CircleLink,
  HolderReport,
  LossReport,
  ObjectReport,
  OwnerReport,
  ProcessReport,
  Verdict,
} from '../inspection';

// Messages of the page and the JSON API. Times are ms since 1970 by the clock of the process that serves the page.
// Each message has that clock's `now`, so that a page with a wrong clock shows the right times.

/** A holder of a lock, or a waiter in a queue. */
export interface OwnerView extends Omit<OwnerReport, 'process'> {
  readonly process: Omit<ProcessReport, 'connectedForMs' | 'watchdogIdleMs'> & { readonly connectedSince?: number };
}

/** A holder of a lock. */
export interface HolderView
  extends OwnerView, Pick<HolderReport, 'holdCount' | 'mode' | 'hold' | 'waitsFor' | 'silent' | 'silentSince'> {
  /** For a reader: when each of its holds ends; `null`: without expiry. */
  readonly endsAt?: readonly (number | null)[];
  /** The line of code that took the lock, as its client last reported it. Not in lists. */
  readonly callSite?: string;
}

/** A waiter in the queue of a fair lock. */
export interface QueuedView extends OwnerView {
  /** When its place in the queue expires; `null`: unknown. */
  readonly keptUntil: number | null;
  readonly listening: boolean;
}

/** A permit that is in use. */
export interface PermitView {
  readonly id: string;
  readonly endsAt: number | null;
}

/** One row of the list. */
export interface LockRow extends Pick<ObjectReport, 'kind' | 'mode' | 'token' | 'value' | 'acquired'> {
  readonly name: string;
  /** The length of a name that is too long to show: `name` has only its beginning. */
  readonly fullLength?: number;
  readonly verdict: Omit<Verdict, 'circle'>;
  /** When the key expires; `null`: it has no expiry, or does not exist. */
  readonly expiresAt: number | null;
  /** The full lease that ends at `expiresAt`, as far as scans have seen it, in ms: the length of the bar. */
  readonly leaseMs: number | null;
  /** Since when its holders have held it. Without `exact`, they may have held it longer. */
  readonly heldSince?: number;
  /** `heldSince` is no estimate: this process took the lock, or its holder reported the time. */
  readonly exact?: true;
  /** Listening connections, or the queue of a fair lock; callers, if their processes reported how many. */
  readonly waiters: number;
  /** Since when there have been waiters. Without `exactWait`, they may have waited longer. */
  readonly waitedSince?: number;
  /** `waitedSince` is no estimate: a waiter reported it. */
  readonly exactWait?: true;
  /** Only the first few. */
  readonly holders: readonly HolderView[];
  readonly holderCount: number;
}

/** An event of a lock. */
export interface LockEvent {
  readonly at: number;
  /** `process`: in the process that serves the page; `seen`: found by a scan of Redis; `page`: by a user of a page. */
  readonly source: 'process' | 'seen' | 'page';
  readonly level: 'info' | 'warning' | 'error';
  readonly text: string;
  /** The owner it is about. */
  readonly owner?: string;
}

/** All details of one lock. */
export interface LockDetail extends LockRow, Pick<ObjectReport, 'key' | 'waiting' | 'channels'> {
  readonly queue?: readonly QueuedView[];
  /** Who waits for whom, in a dead-lock. */
  readonly circle?: readonly CircleLink[];
  readonly permits?: readonly PermitView[];
  /** What can be done about it by force. */
  readonly actions: readonly ForcedAction[];
  /** The newest first. */
  readonly events: readonly LockEvent[];
}

/** Which Redis a page shows. */
export interface TargetView {
  /** Addresses, as configured. */
  readonly server: string;
  readonly database: number;
  /** Empty if it may change. */
  readonly user: string;
  /** For a command line, without a password; only if there is one server. */
  readonly url?: string;
  /** The option `label`: production, staging. */
  readonly label?: string;
  readonly color?: 'red' | 'amber' | 'green' | 'blue' | 'purple';
}

/** The health of Redis. */
export interface HealthView {
  /** `silent`: the connection is open, but Redis does not reply; `refused`: it replies, but refuses every lock. */
  readonly state: 'ok' | 'connecting' | 'down' | 'silent' | 'slow' | 'refused' | 'denied' | 'error' | 'closed';
  /** A message for the user; empty when all is well. */
  readonly message: string;
  readonly since: number;
  /** Round trip of the last PING, in ms. */
  readonly pingMs?: number;
  /** What the last restart or failover has lost; shown for a while. */
  readonly lost?: LossReport;
}

/** How many locks there are, whatever the search. */
export interface Counts {
  readonly all: number;
  readonly held: number;
  readonly waited: number;
  readonly trouble: number;
  readonly free: number;
}

/** What all messages about a part of the list share. */
export interface WindowHead {
  readonly now: number;
  readonly counts: Counts;
  /** How many locks match the search and the filter. */
  readonly matched: number;
  /** Whether all keys have been scanned once. */
  readonly complete: boolean;
  /** Whether there are more locks than the watch keeps. */
  readonly truncated: boolean;
}

/** A part of the list, as in `api/locks` and in the first message of a stream. */
export interface WindowView extends WindowHead {
  readonly rows: readonly LockRow[];
}

/** Changes of a part of the list: new rows, and rows that have changed. */
export interface WindowChange extends WindowView {
  /** The names in order, if the order has changed. */
  readonly order?: readonly string[];
}

/** The answer of `api/session`. */
export interface SessionView {
  readonly readOnly: boolean;
  readonly now: number;
  readonly target: TargetView;
  /** The URL of the runbook, which has a section for each verdict. */
  readonly runbook: string;
  /** Required with each change, in the header `x-ioredisson-token`. */
  readonly token?: string;
}

/** The messages of a stream, by their event names. */
export interface StreamMessages {
  readonly window: WindowView;
  readonly change: WindowChange;
  /** `null`: nothing has that name. */
  readonly lock: { readonly now: number; readonly name: string; readonly lock: LockDetail | null };
  readonly health: HealthView & { readonly now: number };
}
