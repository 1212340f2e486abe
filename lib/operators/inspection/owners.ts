import type { HolderDraft, ObjectDraft, WaiterDraft } from './describe';
import type { ObjectReader } from './ObjectReader';
import { ofChanged } from './Processes';
import type { ProcessReport, Unjudged } from './reports';

type ProcessOf = (owner: HolderDraft | WaiterDraft) => ProcessReport;

/** A draft with the processes of its owners. */
export type Identified = Unjudged & { readonly readAt: number };

/**
 * Adds the processes of the owners to drafts. A holder counts as gone only if it still has the lock in a second read
 * after it was found not connected: it may just have released the lock and ended. Locks that no longer exist are left
 * out.
 */
export async function identify(
  drafts: readonly ObjectDraft[],
  processOf: ProcessOf,
  reader: ObjectReader,
): Promise<readonly Identified[]> {
  const first = drafts.map((draft) => identified(draft, processOf));
  const isDoubtful = first.map(({ holders }) => holders.some(({ process }) => process.connected === false));
  const again = new Map(
    (await reader.again(drafts.filter((_, i) => isDoubtful[i]))).map((draft) => [draft.key, draft]),
  );
  return drafts.flatMap((draft, i) => {
    if (!isDoubtful[i]) return first[i]!;
    const now = again.get(draft.key);
    if (now === undefined) return [];
    const holders = new Set(draft.holders.map(({ owner }) => owner));
    const waiters = new Set(draft.queue?.map(({ owner }) => owner));
    return identified(now, (one) =>
      ('holdCount' in one ? holders : waiters).has(one.owner) ? processOf(one) : ofChanged(processOf(one)),
    );
  });
}

function identified(draft: ObjectDraft, processOf: ProcessOf): Identified {
  const add = <T extends HolderDraft | WaiterDraft>(owner: T): T & { readonly process: ProcessReport } => {
    const process = processOf(owner);
    // A connection says more about the client than a thread id.
    const isNode = process.connected !== 'unknown' && !process.java;
    return { ...owner, ...(isNode && { client: 'node' as const }), process };
  };
  const { holders, queue } = draft;
  return {
    ...(draft as Omit<ObjectDraft, 'queue'>),
    holders: holders.map(add),
    ...(queue && { queue: queue.map(add) }),
  };
}

/** What is left of a ttl after `ms`. Negative values mean no ttl and stay as they are. */
export function aged(ttlMs: number, ms: number): number {
  return ttlMs < 0 ? ttlMs : Math.max(0, Math.round(ttlMs - ms));
}
