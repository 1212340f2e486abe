import type { ClientAnswer, ClientHold } from '../../introspection/wire';

/** What an object is, as far as its data tell. */
export type ObjectKind =
  /** A re-entrant, spin or non-reentrant lock, or a fair one that nobody waits for: they look alike. */
  | 'lock'
  | 'fair'
  | 'fenced'
  | 'readWrite'
  /** `getMultiLock(group, values)`: the values of a group, each with an owner of its own. */
  | 'group'
  | 'semaphore'
  | 'permitExpirableSemaphore'
  | 'countDownLatch'
  /** A number: a semaphore or a latch that nobody waits for, or any counter. */
  | 'number'
  /** Data that are no lock or synchronizer. */
  | 'other'
  /** Nothing by that name. */
  | 'none';

/** Why it is not known whether an owner is connected. */
export type UnknownReason =
  /** Our user may not ask for `CLIENT LIST`, or a server did not answer it. */
  | 'denied'
  /**
   * No connection of this package has its client id, and its thread id is one of Java, or one that a caller gave. There
   * are connections that may be Java's: Redisson for Java does not tell which client they belong to.
   */
  | 'java'
  /** No connection has its client id, but some have a name of the user's own (`clientName`): they may be it. */
  | 'other-names'
  /** No connection has its client id, but some have no name: one of them may be it, if its user may not set names. */
  | 'unnamed'
  /** Connections of several processes claim its client id. */
  | 'ambiguous'
  /** The lock changed hands while we looked. */
  | 'just-changed'
  /**
   * It was detached: no process has it. Its ticket has not been used yet, or there is none: `run --at-least` leaves the
   * lock of a command that has ended so.
   */
  | 'detached'
  /** It is no owner as Redisson writes them. */
  | 'foreign';

/**
 * The process of an owner, as the names of connections in `CLIENT LIST` tell. Anybody who may use the server can name
 * a connection: these are hints for a person, and no proof.
 */
export interface ProcessReport {
  /**
   * Whether a connection of the client is open: `true`: there is one; `false`: there is none, so the process has ended
   * or is cut off; `unknown`: see {@link unknownBecause}.
   */
  readonly connected: boolean | 'unknown';
  /**
   * Whether it is probably Redisson for Java: its thread id is none that this package gives by itself, and no
   * connection of this package has its client id.
   */
  readonly java: boolean;
  /** The host name that the process gave. Of a process that has gone: where this Inspector saw it before. */
  readonly host?: string;
  /** The process id on that host. */
  readonly pid?: number;
  /** Address and port as the server sees them: `10.0.0.7:51234`. Behind a proxy that of the proxy. */
  readonly address?: string;
  /** How long its oldest connection has been open, in ms, to the second. */
  readonly connectedForMs?: number;
  /** Present exactly when `connected` is `unknown`. */
  readonly unknownBecause?: UnknownReason;
}

/** What a person wants to know of an object. */
export type VerdictKind =
  /** Nobody holds it; a semaphore has permits, a latch is open. */
  | 'free'
  /** Held, by a watchdog or with a lease, and nothing is known to be wrong; no permit is left; a latch is closed. */
  | 'held'
  /** Held by a client that is not connected any more: it ends at `endsAt`. */
  | 'holder-gone'
  /**
   * Its holder is connected, and does not answer; or, from `watch`: it was renewed before, and is no more. It ends at
   * `endsAt`.
   */
  | 'not-renewed'
  /**
   * Held and renewed by a live process for 30 s and longer, while somebody has waited as long: it will not end by itself.
   */
  | 'stuck'
  /** Its holder waits for something that, in the end, waits for this: see {@link Verdict.circle}. */
  | 'dead-lock'
  /** Held without expiry: it does not end unless somebody releases it. */
  | 'no-expiry'
  /** The key holds data that are no lock or synchronizer. */
  | 'wrong-type';

/** The verdict on an object. */
export interface Verdict {
  readonly kind: VerdictKind;
  /** One sentence for a person, in plain English. It quotes no name. */
  readonly sentence: string;
  /** When the hold ends unless it is renewed or released before, in ms since 1970 by our clock. */
  readonly endsAt?: number;
  /** Of a dead-lock: who waits for whom; the last waits for the first. */
  readonly circle?: readonly CircleLink[];
}

/** One link of a dead-lock: a client that has one lock and waits for the next. */
export interface CircleLink extends Omit<WaitingProcess, 'callers'> {
  /** The lock that it has. */
  readonly name: string;
  /** Its owner on the wire. */
  readonly owner: string;
  /** The object that it waits for. */
  readonly waitsFor: string;
}

/** What the client of a hold says of it, where it was asked. Times in ms. */
export interface HoldReport
  extends
    Pick<ClientHold, 'leaseMs' | 'renewals' | 'callSite'>,
    Pick<ClientAnswer['eventLoop'], 'delayMs' | 'utilization'> {
  /** Since when, in ms since 1970 by our clock. */
  readonly since: number;
}

/** A process that waits for an object, as it says itself. */
export interface WaitingProcess {
  readonly clientId: string;
  readonly host: string;
  readonly pid: number;
  /** How many callers wait in it. */
  readonly callers: number;
  /** Since when the longest of them has waited, in ms since 1970 by our clock. */
  readonly since: number;
  /** The line of that caller, where the client records that. */
  readonly callSite?: string;
}

/** Somebody who holds a lock, or waits in a queue. */
export interface OwnerReport {
  /** As on the wire, `<clientId>:<threadId>`, with `:write` for a writer. */
  readonly owner: string;
  /** The id of the client, a UUID. */
  readonly clientId: string;
  /** The thread, as text: Java's are 64 bits wide. */
  readonly threadId: string;
  /** `node` where the thread id is one that only this package gives; `unknown`: Java, or an explicit thread id. */
  readonly client: 'node' | 'unknown';
  /** Its process. */
  readonly process: ProcessReport;
}

/** Somebody who holds a lock. */
export interface HolderReport extends OwnerReport {
  readonly holdCount: number;
  /** What its client says of the hold. Absent: it was not asked, does not know of it, or is of another kind (Java). */
  readonly hold?: HoldReport;
  /** What its holder waits for meanwhile, and since when, in ms since 1970; as far as its client knows. */
  readonly waitsFor?: { readonly name: string; readonly since: number };
  /** Present if its client listens for questions, and has not answered within a second. */
  readonly silent?: true;
  /** Since when it has not answered, in ms since 1970 by our clock: since the first question that was in vain. */
  readonly silentSince?: number;
  /** Of a read/write lock. */
  readonly mode?: 'read' | 'write';
  /** Of a group: how many of its values the owner has; `holdCount` is then that of the value held most often. */
  readonly values?: number;
  /** Of a reader: what is left of the lease of each hold, in ms; -1 without expiry, -2 over. */
  readonly leasesMs?: readonly number[];
}

/** Somebody who waits in the queue of a fair lock. */
export interface WaiterReport extends OwnerReport {
  /** How long the place is kept, in ms by our clock; `null` where nothing says it. */
  readonly remainingMs: number | null;
  /** Whether somebody listens on the channel of the waiter. */
  readonly listening: boolean;
}

/** A permit that is out. */
export interface PermitReport {
  /** 32 hex characters. */
  readonly id: string;
  /** In ms by our clock; `null` without lease. */
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
  /** Until the key expires; -1 without expiry, -2 when there is no key. */
  readonly ttlMs: number;
  /** What it comes to. */
  readonly verdict: Verdict;
  /**
   * Since when it has been held, in ms since 1970 by our clock: as its holder says, else, from `watch`, since when the
   * same owners have been seen. Redis does not tell when a lock was taken.
   */
  readonly heldSince?: number;
  /**
   * Who holds it; empty for what has no owners. Of a semaphore those who have had permits for 5 s and can be asked, if
   * somebody waits for it or it is inspected: there may be others.
   */
  readonly holders: readonly HolderReport[];
  /** Who waits: the length of a fair lock's queue, else the number of connections that listen for its release. */
  readonly waiters: number;
  /** The processes that wait, as they say themselves: those that have waited for 5 s, and can be asked. */
  readonly waiting?: readonly WaitingProcess[];
  /** Of a fair lock, in order. */
  readonly queue?: readonly WaiterReport[];
  /** Of a fenced lock: the last token given, as decimal text. */
  readonly token?: string;
  /** Of a semaphore: permits left; of a latch: its count; else the number. Beyond 2^53 as decimal text: exact. */
  readonly value?: number | string;
  /** Of a permit-expirable semaphore: how many permits are out. */
  readonly acquired?: number;
  /** Of a permit-expirable semaphore, when it is inspected: the first 1000 that are out. */
  readonly permits?: readonly PermitReport[];
  /** The channels that wake its waiters, and how many connections listen on each. */
  readonly channels: readonly { readonly name: string; readonly subscribers: number }[];
}

/** What `watch` tells of changes. The first of a listener has everything that is known so far as `added`. */
export interface ChangesEvent {
  readonly kind: 'changes';
  /** When it was seen, in ms since 1970 by our clock. */
  readonly at: number;
  /** Objects that were not there before. */
  readonly added: readonly ObjectReport[];
  /**
   * Objects of which something has changed: owners, holds, waiters, values, the verdict's kind, or an expiry that has
   * moved. A ttl that only runs down is no change.
   */
  readonly changed: readonly ObjectReport[];
  /** Objects that are gone. */
  readonly removed: readonly { readonly name: string; readonly key: string }[];
  /** Whether all keys have been looked at by now at least once: before that there may be more. */
  readonly complete: boolean;
  /** Whether there are more objects than are watched (50 000). */
  readonly truncated: boolean;
}

/** What `watch` tells of trouble. It goes on trying; what was told before stays as it is until it can look again. */
export interface OutageEvent {
  readonly kind: 'outage';
  readonly at: number;
  /** Why Redis cannot be looked at: `ConnectionError`, `CommandTimeoutError`, `CommandError`. */
  readonly error: Error;
}

/** Told once when `watch` can look again after an outage. */
export interface RecoveredEvent {
  readonly kind: 'recovered';
  readonly at: number;
}

/** What `watch` tells. */
export type WatchEvent = ChangesEvent | OutageEvent | RecoveredEvent;

/** Told what `watch` sees. What it throws is a warning of the process. */
export type WatchListener = (event: WatchEvent) => void;

/** How to watch. */
export interface WatchOptions {
  /**
   * The pause between the beginnings of two looks, in ms, at least 50. All listeners share one poll, at the shortest
   * interval of theirs; a look that takes long is followed by a pause as long.
   */
  readonly interval: number;
}
