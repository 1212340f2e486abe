/** How bad it is. `unknown`: it could not be checked. */
export type FindingStatus = 'ok' | 'warning' | 'error' | 'unknown';

/** What the doctor looks at, in this order. */
export const CHECKS = [
  'reachable',
  'lock',
  'version',
  'memory',
  'persistence',
  'replicas',
  'pubsub',
  'rights',
  'clock',
  'buffers',
  'timeouts',
  'provider',
] as const;

/** One of {@link CHECKS}. */
export type CheckName = (typeof CHECKS)[number];

/** One result of the doctor. The fields are stable: `--json` prints them. */
export interface Finding {
  /** What was looked at. */
  readonly check: CheckName;
  readonly status: FindingStatus;
  /** The server that it is about: `host:port`; `-` where it is about the client or there is only one server. */
  readonly server: string;
  /** What was found. */
  readonly found: string;
  /** Why it matters to locks. */
  readonly why: string;
  /** What to do; empty where nothing is to be done. */
  readonly advice: string;
}

/** A finding without what its place says. */
export type Diagnosis = Pick<Finding, 'status' | 'found'> & { readonly advice?: string };

/** All is well. */
export function ok(found: string): Diagnosis {
  return { status: 'ok', found };
}

/** Locks work, but less well than they seem to. */
export function warning(found: string, advice: string): Diagnosis {
  return { status: 'warning', found, advice };
}

/** Locks break, now or some day. */
export function error(found: string, advice: string): Diagnosis {
  return { status: 'error', found, advice };
}

/** It could not be checked. */
export function unknown(found: string, advice: string): Diagnosis {
  return { status: 'unknown', found, advice };
}
