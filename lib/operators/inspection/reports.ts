import type { ClientAnswer, ClientHold } from '../../introspection/wire';

/** What an object is, as far as its data show. */
export type ObjectKind =
  /** A re-entrant, spin or non-reentrant lock, or a fair lock without waiters: their data have the same form. */
  | 'lock'
  | 'fair'
  | 'fenced'
  | 'readWrite'
  /** `getMultiLock(group, values)`: the values of a group, each with an owner of its own. */
  | 'group'
  | 'semaphore'
  | 'permitExpirableSemaphore'
  | 'countDownLatch'
  /** A number: a semaphore or a latch without waiters, or any counter. */
  | 'number'
  /** Data of something other than a lock or synchronizer. */
  | 'other'
  /** No object has that name. */
  | 'none';

/** Why it is unknown whether an owner is connected. */
export type UnknownReason =
  /** Our user may not run `CLIENT LIST`, or a server did not answer it. */
  | 'denied'
  /**
   * No connection of this package has its client id, and its thread id comes from Java or from a caller. Some
   * connections may belong to Redisson for Java, which does not put the client id in their names.
   */
  | 'java'
  /** No connection has its client id, but some have a name set by the user (`clientName`): one may belong to it. */
  | 'other-names'
  /** No connection has its client id, but some have no name: one may belong to it, if its user may not set names. */
  | 'unnamed'
  /** Connections of several processes claim its client id. */
  | 'ambiguous'
  /** The lock changed hands during the scan. */
  | 'just-changed'
  /**
   * The hold was detached: no process has it. Its ticket has not been attached yet, or it never had one: after the
   * command of `run --at-least` has ended, its lock stays like this.
   */
  | 'detached'
  /** The owner is not in Redisson's format. */
  | 'foreign';

/**
 * The process of an owner, taken from the names of connections in `CLIENT LIST`. Any user of the server can give a
 * connection any name: this is a hint for a person, not proof.
 */
export interface ProcessReport {
  /**
   * Whether the client has an open connection. `false`: the process has ended or is cut off. `unknown`: see
   * {@link unknownBecause}.
   */
  readonly connected: boolean | 'unknown';
  /**
   * Whether it is probably Redisson for Java: this package never generates such thread ids, and no connection of this
   * package has its client id.
   */
  readonly java: boolean;
  /** The host name that the process reported. If it is not connected: where this Inspector saw it before. */
  readonly host?: string;
  /** The process id on that host. */
  readonly pid?: number;
  /** Address and port as the server sees them: `10.0.0.7:51234`. Behind a proxy, those of the proxy. */
  readonly address?: string;
  /** How long its oldest connection has been open, in ms, to the second. */
  readonly connectedForMs?: number;
  /** How long its watchdog thread has sent nothing, in ms, to the second. Absent: it has none. */
  readonly watchdogIdleMs?: number;
  /** Present exactly when `connected` is `unknown`. */
  readonly unknownBecause?: UnknownReason;
}

/** The state of an object, for a person. */
export type VerdictKind =
  /** Not held; a semaphore has permits; a latch is open. */
  | 'free'
  /** Held, by a watchdog or with a lease, without a known problem; no permit is left; a latch is closed. */
  | 'held'
  /** Its holder is no longer connected: the hold ends at `endsAt`. */
  | 'holder-gone'
  /**
   * Its holder is connected, but does not answer, and nothing shows that the lock is renewed or has a lease of its own;
   * or, only from `watch`: it was renewed before, but no longer is. The hold ends at `endsAt`.
   */
  | 'not-renewed'
  /**
   * A live process has held and renewed it for 30 s or longer, and a caller has waited as long. The hold will not end
   * by itself. Not for names where waits are expected.
   */
  | 'stuck'
  /** Its holder waits, directly or through others, for a client that waits for this: see {@link Verdict.circle}. */
  | 'dead-lock'
  /** Held without expiry: it ends only when it is released. */
  | 'no-expiry'
  /** The key holds data of something other than a lock or synchronizer. */
  | 'wrong-type';

/** The verdict on an object. */
export interface Verdict {
  readonly kind: VerdictKind;
  /** One sentence for a person, in plain English. It quotes no name. */
  readonly sentence: string;
  /** When the hold ends if it is not renewed or released before, in ms since 1970 by our clock. */
  readonly endsAt?: number;
  /**
   * Present if somebody has waited for 30 s for a permit or a latch. Nobody can tell whether that is trouble: Redis
   * does not store who holds the permits.
   */
  readonly amber?: true;
  /** Of a dead-lock: each client waits for the next; the last waits for the first. */
  readonly circle?: readonly CircleLink[];
}

/** One link of a dead-lock: a client that holds one lock and waits for the next. */
export interface CircleLink extends Omit<WaitingProcess, 'callers'> {
  /** The lock that it holds. */
  readonly name: string;
  /** Its owner on the wire. */
  readonly owner: string;
  /** The object that it waits for. */
  readonly waitsFor: string;
}

/** What the client reports about its hold, if it was asked. Times in ms. */
export interface HoldReport
  extends
    Pick<ClientHold, 'leaseMs' | 'renewals' | 'callSite'>,
    Pick<ClientAnswer['eventLoop'], 'delayMs' | 'utilization'> {
  /** Since when it is held, in ms since 1970 by our clock. */
  readonly since: number;
}

/** A process that waits for an object, by its own report. */
export interface WaitingProcess {
  readonly clientId: string;
  readonly host: string;
  readonly pid: number;
  /** How many callers in it wait. */
  readonly callers: number;
  /** Since when the longest of them has waited, in ms since 1970 by our clock. */
  readonly since: number;
  /** The line of that caller, if the client records call sites. */
  readonly callSite?: string;
}

/** The holder of a lock, or a waiter in a queue. */
export interface OwnerReport {
  /** As on the wire, `<clientId>:<threadId>`, with `:write` for a writer. */
  readonly owner: string;
  /** The id of the client, a UUID. */
  readonly clientId: string;
  /** The thread, as text: Java's are 64 bits wide. */
  readonly threadId: string;
  /** `node` if only this package generates such thread ids; `unknown`: Java, or an explicit thread id. */
  readonly client: 'node' | 'unknown';
  /** Its process. */
  readonly process: ProcessReport;
}

/** A holder of a lock. */
export interface HolderReport extends OwnerReport {
  readonly holdCount: number;
  /**
   * The client's own report; if it is silent now, the last one. Absent: it was not asked, does not know the hold, or is
   * of another kind (Java).
   */
  readonly hold?: HoldReport;
  /** What the holder waits for meanwhile and since when, in ms since 1970, as far as its client knows. */
  readonly waitsFor?: { readonly name: string; readonly since: number };
  /** Present if its client listens for questions, but did not answer within a second. */
  readonly silent?: true;
  /** When it was asked the first question that it did not answer, in ms since 1970 by our clock. */
  readonly silentSince?: number;
  /** Of a read/write lock. */
  readonly mode?: 'read' | 'write';
  /** Of a group: how many values the owner holds. `holdCount` is then that of the value held most often. */
  readonly values?: number;
  /** Of a reader: the time left of the lease of each hold, in ms; -1: no expiry, -2: expired. */
  readonly leasesMs?: readonly number[];
}

/** A waiter in the queue of a fair lock. */
export interface WaiterReport extends OwnerReport {
  /** How long its place is kept, in ms by our clock; `null` if Redis has no time for it. */
  readonly remainingMs: number | null;
  /** Whether a connection listens on the channel of the waiter. */
  readonly listening: boolean;
}

/** An acquired permit. */
export interface PermitReport {
  /** 32 hex characters. */
  readonly id: string;
  /** Until it expires, in ms by our clock; `null` without lease. */
  readonly remainingMs: number | null;
}

/** An object in Redis. The fields are stable: `--json` prints them. Times in ms. */
export interface ObjectReport {
  /** As given to `getLock` and the others. */
  readonly name: string;
  /** The key in Redis. */
  readonly key: string;
  readonly kind: ObjectKind;
  /** Of a read/write lock. */
  readonly mode?: 'read' | 'write';
  /** Until the key expires; -1 without expiry, -2 if the key does not exist. */
  readonly ttlMs: number;
  /** The verdict on it. */
  readonly verdict: Verdict;
  /**
   * Since when it has been held, in ms since 1970 by our clock. Reported by its holder; else, only from `watch`, since
   * when the same owners have been seen. Redis does not store when a lock was taken.
   */
  readonly heldSince?: number;
  /**
   * Since when somebody waits, in ms since 1970 by our clock. Reported by the longest waiter; else, only from `watch`,
   * since when waiters have been seen.
   */
  readonly waitedSince?: number;
  /**
   * Who holds it; empty for objects without owners. Of a semaphore that has waiters or is inspected: the clients that
   * have had permits for 5 s and can be asked. There may be other holders.
   */
  readonly holders: readonly HolderReport[];
  /** How many wait: the length of a fair lock's queue, else the number of connections that listen for its release. */
  readonly waiters: number;
  /** The processes that wait, by their own report: those that have waited for 5 s and can be asked. */
  readonly waiting?: readonly WaitingProcess[];
  /** Of a fair lock, in order. */
  readonly queue?: readonly WaiterReport[];
  /** Of a fenced lock: the last token given, as decimal text. */
  readonly token?: string;
  /** Of a semaphore: permits left; of a latch: its count; else the number. Beyond 2^53 as decimal text, to be exact. */
  readonly value?: number | string;
  /** Of a permit-expirable semaphore: how many permits are acquired. */
  readonly acquired?: number;
  /** Of a permit-expirable semaphore, only from `inspect`: the first 1000 acquired permits. */
  readonly permits?: readonly PermitReport[];
  /** The channels that wake its waiters, each with the number of connections that listen on it. */
  readonly channels: readonly { readonly name: string; readonly subscribers: number }[];
}

/** A report without its verdict. */
export type Unjudged = Omit<ObjectReport, 'verdict' | 'heldSince' | 'waitedSince'>;

/** Changes that `watch` reports. A listener's first event has all objects known so far as `added`. */
export interface ChangesEvent {
  readonly kind: 'changes';
  /** When the changes were seen, in ms since 1970 by our clock. */
  readonly at: number;
  /** New objects. */
  readonly added: readonly ObjectReport[];
  /**
   * Objects with a change: of owners, holds, waiters, values, the verdict's kind, or an expiry that moved. A ttl that
   * only runs down is not a change.
   */
  readonly changed: readonly ObjectReport[];
  /** Objects that are gone. */
  readonly removed: readonly { readonly name: string; readonly key: string }[];
  /** Whether all keys have been scanned at least once. Before that, there may be more objects. */
  readonly complete: boolean;
  /** Whether there are more objects than are watched (50 000). */
  readonly truncated: boolean;
}

/** An outage that `watch` reports. It keeps trying. Earlier reports stay valid until the next successful scan. */
export interface OutageEvent {
  readonly kind: 'outage';
  readonly at: number;
  /** Why the scan failed: `ConnectionError`, `CommandTimeoutError`, `CommandError`. */
  readonly error: Error;
}

/** Reported once after an outage, when a scan of `watch` succeeds again. */
export interface RecoveredEvent {
  readonly kind: 'recovered';
  readonly at: number;
}

/** Locks that a restart or a failover has lost. */
export interface LossReport {
  /** When Redis could be read again, in ms since 1970 by our clock. */
  readonly at: number;
  /** How many locks that were held are gone. */
  readonly locks: number;
  /** The names of some of them. */
  readonly names: readonly string[];
  /** `false`: some or all of them may have been released meanwhile; Redis cannot tell. */
  readonly certain: boolean;
}

/** How Redis is for locks, beyond whether it answers. */
export interface HealthReport {
  /** Redis answers, but refuses every lock, at least on one master: why, and what to do. */
  readonly refuses?: string;
  /** Our user may not read any key, so that no lock is shown: why. */
  readonly denied?: string;
  /** What the last restart or failover has lost, as far as scans have seen it. */
  readonly lost?: LossReport;
}

/**
 * Reported when the health of Redis for locks has changed. A listener gets one after its first event, unless empty.
 */
export interface HealthEvent {
  readonly kind: 'health';
  readonly at: number;
  readonly health: HealthReport;
}

/** An event of `watch`. */
export type WatchEvent = ChangesEvent | OutageEvent | RecoveredEvent | HealthEvent;

/** Receives the events of `watch`. An error that it throws becomes a warning of the process. */
export type WatchListener = (event: WatchEvent) => void;

/** Options of `watch`. */
export interface WatchOptions {
  /**
   * The time between the starts of two scans, in ms, at least 50. All listeners share the scans, at their shortest
   * interval. After a slow scan, `watch` pauses for as long as Redis worked for it.
   */
  readonly interval: number;
}
