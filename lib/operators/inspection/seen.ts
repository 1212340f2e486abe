import type { ObjectReport } from './reports';
import type { Servers } from './servers';

/** What several scans have shown of an object. Times in ms since 1970 by our clock. */
export interface History {
  /** Since when the same owners hold it. */
  readonly heldSince: number | undefined;
  /** Since when somebody waits for it. */
  readonly waitedSince: number | undefined;
  /** The ttl after a renewal that was seen, in ms. `undefined`: none was seen, or the lease was changed since. */
  readonly renewedTo: number | undefined;
  /** When its expiry was last seen to have moved on, whoever did that. */
  readonly renewedAt: number | undefined;
}

/** An object as the last scans have seen it. */
export interface Sighting extends History {
  /** The last report that was a change, and when it was made. */
  readonly at: number;
  readonly report: ObjectReport;
  /** The address of its server. */
  readonly address: string;
  /** How many scans have seen these owners. */
  readonly scans: number;
  /** How much its server had written after the first of these scans. */
  readonly offset: number;
}

/** The results of the last complete scan, by key. */
export type LastSeen = ReadonlyMap<string, Sighting>;

/** One complete scan. */
export interface Scan {
  readonly reports: readonly ObjectReport[];
  /** The address of the server of each key. */
  readonly addresses: ReadonlyMap<string, string>;
  /** How the servers were when it had ended. */
  readonly servers: Servers;
  /** Goes up when the connection is lost. */
  readonly connection: number;
}
