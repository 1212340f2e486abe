/** The reply of an acquisition script. */
export type AcquireReply =
  /**
   * Acquired. `holds` is set if the count differs from the requested one (earlier holds were lost); `gone` if a group
   * lock found that some values had been lost.
   */
  | { readonly acquired: true; readonly holds?: number; readonly token?: bigint; readonly gone?: readonly string[] }
  /**
   * Held by another owner for so many ms more; -1 = without expiry. `unheard`: an unlock may notify other waiters, but
   * never this one. `reentry`: this owner holds it already, and the kind is not reentrant; nothing was changed.
   */
  | { readonly acquired: false; readonly ttl: number; readonly unheard?: true; readonly reentry?: true };

/** The reply of a release script. */
export type ReleaseReply =
  /** The owner held nothing; for a group lock: it did not hold the values in `gone`. */
  | { readonly kind: 'notHeld'; readonly gone?: readonly string[] }
  /** The owner still has holds. */
  | { readonly kind: 'kept' }
  /**
   * Free now. `receivers`: how many subscribers got the wake-up message; `queued`: how many waiters are queued in Redis
   * (fair locks). `unheard`: this user may not publish, so no waiter was notified.
   */
  | { readonly kind: 'released'; readonly receivers: number; readonly queued?: number; readonly unheard?: boolean }
  /** Now held by the heir; `token` is its fencing token (fenced locks). */
  | { readonly kind: 'handed'; readonly token?: bigint };

/** The reply of a script that handed the lock over. */
export const RELEASED_HANDED = -1;
/** The reply of a script that freed the lock, but whose user may not publish the wake-up. */
export const RELEASED_UNHEARD = -2;

/** First element of a reply, before the real reply, when the user may not publish; see `Script.ts`. */
export const UNHEARD_MARK = 'ioredisson:unheard';

/** The usual reply of an acquisition, one shared object: this is the hot path. */
export const ACQUIRED: AcquireReply = Object.freeze({ acquired: true });

/** Others have it, for an unknown time. */
export const REFUSED: AcquireReply = Object.freeze({ acquired: false, ttl: -1 });

/** See {@link ReleaseReply}. */
export const NOT_HELD: ReleaseReply = Object.freeze({ kind: 'notHeld' });
const KEPT: ReleaseReply = Object.freeze({ kind: 'kept' });
/** See {@link ReleaseReply}. */
export const HANDED: ReleaseReply = Object.freeze({ kind: 'handed' });
const UNHEARD: ReleaseReply = Object.freeze({ kind: 'released', receivers: 0, unheard: true });

/** Reads nil / 0 / -1 / -2 / 1 + receivers. */
export function decodeRelease(reply: unknown): ReleaseReply {
  if (reply === null) return NOT_HELD;
  const code = Number(reply);
  if (code === 0) return KEPT;
  if (code === RELEASED_HANDED) return HANDED;
  if (code === RELEASED_UNHEARD) return UNHEARD;
  return { kind: 'released', receivers: code - 1 };
}

/** Reads 1 as yes, everything else as no. */
export function decodeFlag(reply: unknown): boolean {
  return reply === 1;
}

/** Reads a list of 1 and 0. */
export function decodeFlags(reply: unknown): boolean[] {
  return Array.isArray(reply) ? reply.map(decodeFlag) : [];
}

/** Reads a number; nil = nothing there. */
export function decodeNumber(reply: unknown): number | null {
  return reply === null ? null : Number(reply);
}
