import type { CircleLink, HolderReport, ObjectReport, OwnerReport, ProcessReport, Verdict } from '../inspection';

// What the page and the JSON API are told. Times are ms since 1970 by the clock of the process that serves the page;
// each message has that clock's `now`, so that a page whose own clock is wrong counts right.

/** Somebody who holds a lock, or waits in a queue. */
export interface OwnerView extends Omit<OwnerReport, 'process'> {
  readonly process: Omit<ProcessReport, 'connectedForMs'> & { readonly connectedSince?: number };
}

/** Somebody who holds a lock. */
export interface HolderView
  extends OwnerView, Pick<HolderReport, 'holdCount' | 'mode' | 'hold' | 'waitsFor' | 'silent' | 'silentSince'> {
  /** Of a reader: when each of its holds ends; `null`: without expiry. */
  readonly endsAt?: readonly (number | null)[];
  /** The line that has taken it, as its client says, or has said while it could. Not in lists. */
  readonly callSite?: string;
}

/** Somebody in the queue of a fair lock. */
export interface QueuedView extends OwnerView {
  /** Until when its place is kept; `null`: unknown. */
  readonly keptUntil: number | null;
  readonly listening: boolean;
}

/** A permit that is out. */
export interface PermitView {
  readonly id: string;
  readonly endsAt: number | null;
}

/** One line of the list. */
export interface LockRow extends Pick<ObjectReport, 'kind' | 'mode' | 'token' | 'value' | 'acquired'> {
  readonly name: string;
  /** The length of a name that is too long to be shown: `name` is its beginning. */
  readonly fullLength?: number;
  readonly verdict: Omit<Verdict, 'circle'>;
  /** When the key expires; `null`: without expiry, or no key. */
  readonly expiresAt: number | null;
  /** The whole of the lease that `expiresAt` ends, as far as it was seen, in ms: the length of the bar. */
  readonly leaseMs: number | null;
  /** Since when its holders have it; at least, unless `exact`. */
  readonly heldSince?: number;
  /** This process took it, or its holder has said since when: `heldSince` is no estimate. */
  readonly exact?: true;
  /** Connections that listen, or the queue of a fair lock; callers, where their processes have said how many. */
  readonly waiters: number;
  /** Since when somebody has waited; at least, unless `exactWait`. */
  readonly waitedSince?: number;
  /** A waiter has said since when: `waitedSince` is no estimate. */
  readonly exactWait?: true;
  /** The first few. */
  readonly holders: readonly HolderView[];
  readonly holderCount: number;
}

/** What happened to a lock. */
export interface LockEvent {
  readonly at: number;
  /** `process`: in the process that serves the page; `seen`: by looking at Redis; `page`: by a user of a page. */
  readonly source: 'process' | 'seen' | 'page';
  readonly level: 'info' | 'warning' | 'error';
  readonly text: string;
  /** The owner it is about. */
  readonly owner?: string;
}

/** All about one lock. */
export interface LockDetail extends LockRow, Pick<ObjectReport, 'key' | 'waiting' | 'channels'> {
  readonly queue?: readonly QueuedView[];
  /** Who waits for whom, in a dead-lock. */
  readonly circle?: readonly CircleLink[];
  readonly permits?: readonly PermitView[];
  /** The newest first. */
  readonly events: readonly LockEvent[];
}

/** Locks that a restart or a failover has lost. */
export interface LossView {
  /** When Redis came back. */
  readonly at: number;
  /** How many locks that were held are gone. */
  readonly locks: number;
  /** Some of them. */
  readonly names: readonly string[];
}

/** Which Redis a page shows. */
export interface TargetView {
  /** Addresses, as they are configured. */
  readonly server: string;
  readonly database: number;
  /** Empty where it may change. */
  readonly user: string;
  /** For a command, without a password; not where there are several servers. */
  readonly url?: string;
  /** As `label` has it: production, staging. */
  readonly label?: string;
  readonly color?: 'red' | 'amber' | 'green' | 'blue' | 'purple';
}

/** How Redis is. */
export interface HealthView {
  /** `silent`: the connection stands, and nothing is answered. */
  readonly state: 'ok' | 'connecting' | 'down' | 'silent' | 'slow' | 'denied' | 'error' | 'closed';
  /** For a person; empty when all is well. */
  readonly message: string;
  readonly since: number;
  /** Round trip of the last PING, in ms. */
  readonly pingMs?: number;
  /** What the last restart or failover has lost, for a while. */
  readonly lost?: LossView;
}

/** How many locks there are, of all, whatever is searched for. */
export interface Counts {
  readonly all: number;
  readonly held: number;
  readonly waited: number;
  readonly trouble: number;
  readonly free: number;
}

/** What is common to a part of the list. */
export interface WindowHead {
  readonly now: number;
  readonly counts: Counts;
  /** How many match the search and the filter. */
  readonly matched: number;
  /** Whether all of Redis has been seen once. */
  readonly complete: boolean;
  /** Whether there are more than are watched. */
  readonly truncated: boolean;
}

/** A part of the list, as `api/locks` and the first message of a stream have it. */
export interface WindowView extends WindowHead {
  readonly rows: readonly LockRow[];
}

/** What has changed in it: new rows, and rows with something new. */
export interface WindowChange extends WindowView {
  /** The names in their order, when that has changed. */
  readonly order?: readonly string[];
}

/** What `api/session` tells. */
export interface SessionView {
  readonly readOnly: boolean;
  readonly now: number;
  readonly target: TargetView;
  /** The page that says what to do, with a section for each verdict. */
  readonly runbook: string;
  /** To be sent with each change, in the header `x-ioredisson-token`. */
  readonly token?: string;
}

/** The messages of a stream, by their event names. */
export interface StreamMessages {
  readonly window: WindowView;
  readonly change: WindowChange;
  /** `null`: there is nothing by that name. */
  readonly lock: { readonly now: number; readonly name: string; readonly lock: LockDetail | null };
  readonly health: HealthView & { readonly now: number };
}
