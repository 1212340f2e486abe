import type { HolderDraft, OwnerDraft, WaiterDraft } from './describe';
import type { ObjectDraft, ObjectReader } from './ObjectReader';
import { ofChanged } from './Processes';
import type { ProcessReport } from './reports';
import type { Unjudged } from './verdict';

type ProcessOf = (owner: OwnerDraft) => ProcessReport;

/** A draft whose owners have their processes. */
export type Identified = Unjudged & { readonly readAt: number };

/**
 * A draft with the processes of its owners. That a holder is gone is only said of one that still has the lock after it
 * was seen not to be connected: who gives a lock back and ends is not gone.
 *
 * @returns `undefined` where it is gone itself
 */
export async function confirmed(
  draft: ObjectDraft,
  processOf: ProcessOf,
  reader: ObjectReader,
): Promise<Identified | undefined> {
  const first = identified(draft, processOf);
  if (first.holders.every(({ process }) => process.connected !== false)) return first;
  const second = await reader.again(draft);
  if (second === undefined) return undefined;
  const before = new Set(draft.holders.map(({ owner }) => owner));
  return identified(second, (owner) => (before.has(owner.owner) ? processOf(owner) : ofChanged(processOf(owner))));
}

function identified({ holders, queue, ...draft }: ObjectDraft, processOf: ProcessOf): Identified {
  const add = <T extends HolderDraft | WaiterDraft>(owner: T): T & { readonly process: ProcessReport } => {
    const process = processOf(owner);
    // Its connection tells more than its thread id.
    return { ...owner, ...(process.connected !== 'unknown' && { client: 'node' as const }), process };
  };
  const found = holders.map(add);
  const { waiters, token, value, acquired, permits, channels, ...head } = draft;
  return {
    ...head,
    holders: found,
    waiters,
    ...(queue && { queue: queue.map(add) }),
    ...(token !== undefined && { token }),
    ...(value !== undefined && { value }),
    ...(acquired !== undefined && { acquired }),
    ...(permits && { permits }),
    channels,
  };
}

/** What is left of a ttl after so many ms. */
export function aged(ttlMs: number, ms: number): number {
  return ttlMs < 0 ? ttlMs : Math.max(0, Math.round(ttlMs - ms));
}
