import type { LockEvent } from '../workload/Events';

/**
 * What kinds of small worlds there are: in some locks are passed on before Redis knows (`localHandOver`), in some the
 * server dies, and a replica that lacks some of what was written takes over, and in some holders change their leases
 * and clients shut down.
 */
export const WORLDS = ['plain', 'local', 'failover', 'leases'] as const;
export type WorldKind = (typeof WORLDS)[number];

export function isWorld(text: string): text is WorldKind {
  return (WORLDS as readonly string[]).includes(text);
}

/** What a small world has noted. */
export interface Trace {
  readonly seed: number;
  readonly events: readonly LockEvent[];
  /** Locks are passed on before Redis knows. */
  readonly local: boolean;
  /** How long it lasted, in ms. */
  readonly endedAt: number;
}
