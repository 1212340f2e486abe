import type { Patient, ServerFacts } from './facts';

/** How bad it is. `unknown`: it could not be checked. */
export type FindingStatus = 'ok' | 'warning' | 'error' | 'unknown';

/** The result of a check, without its name and its server. */
export interface Diagnosis {
  readonly status: FindingStatus;
  /** What was found. */
  readonly found: string;
  /** What to do; empty if there is nothing to do. */
  readonly advice: string;
}

/** All is well. */
export function ok(found: string): Diagnosis {
  return { status: 'ok', found, advice: '' };
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

/** A check of one server. */
export interface ServerCheck {
  /** Why it matters to locks. */
  readonly why: string;
  examine(server: ServerFacts, patient: Patient): Diagnosis | Promise<Diagnosis>;
}
