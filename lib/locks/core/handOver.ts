import { CommandError, NoSyncedReplicasError } from '../../errors';
import type { Subscriptions } from '../../waiters/Subscriptions';
import type { Turns } from '../../waiters/Turns';
import type { WaitQueue } from '../../waiters/WaitQueue';
import { NOTICE_MS } from '../../scripts/shortenLease';
import { ACQUIRED, type AcquireReply, REFUSED, type ReleaseReply } from '../../scripts/replies';
import type { Heir, LockKind, ReleaseRequest } from '../../kinds/LockKind';

/**
 * Releases with one command: a plain unlock, or a hand-over to the next waiter of this process, the heir.
 * @param kind - the kind of the lock that is released
 * @param maxHandOvers - the client's setting
 * @param deadline - monotonic time until which Redis would have kept the lock; `Infinity` if unknown
 * @throws what the kind's release throws
 */
export function releaseOrHandOver(
  kind: LockKind,
  subscriptions: Subscriptions<Heir>,
  request: ReleaseRequest,
  deadline: number,
  maxHandOvers: number,
): Promise<ReleaseReply> {
  // A kind with a queue in Redis has its own order.
  if (request.left > 0 || subscriptions.idle || kind.abandon !== undefined) return kind.release(request);
  const channel = kind.channelOf(request.rawName, request.owner);
  const queue = subscriptions.queue(channel, request.rawName);
  const turns = queue?.turns ?? subscriptions.turns(channel, request.rawName);
  if (turns === undefined) return kind.release(request);
  const heir = findHeir(queue, request, deadline, maxHandOvers);
  if (heir !== undefined) {
    turns.handedOver(deadline);
    const { released, acquired } = heir.kind.handOver!(request, heir);
    heir.receiveHandOver(acquired, request.sendRecord.connectionNumber);
    return released.catch((error: unknown) => handOverFailed(error, kind, turns, request));
  }
  return releaseToAll(kind, turns, request);
}

const HANDED: ReleaseReply = Object.freeze({ kind: 'handed' });

/**
 * What the holder gets when its hand-over has failed. If no replica confirmed it, the hand-over took place all the
 * same: the heir gets that error, and rolls its acquisition back. If Redis refused it (no memory for another owner, a
 * token that is not a number), a plain release follows, which needs no memory; the heir keeps waiting.
 */
function handOverFailed(
  error: unknown,
  kind: LockKind,
  turns: Turns,
  request: ReleaseRequest,
): ReleaseReply | Promise<ReleaseReply> {
  if (error instanceof NoSyncedReplicasError) return HANDED;
  // Such a server would refuse a plain release, too, and the executor has retried for long enough.
  if (!(error instanceof CommandError) || UNABLE.has(error.reply)) throw error;
  return releaseToAll(kind, turns, request);
}

/** Error replies of a server that would refuse a plain release as well. */
const UNABLE = new Set([
  'MISCONF',
  'READONLY',
  'NOREPLICAS',
  'LOADING',
  'BUSY',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'TRYAGAIN',
]);

/** A release with a message: it notifies every waiting process, and this process gives way to the others. */
async function releaseToAll(kind: LockKind, turns: Turns, request: ReleaseRequest): Promise<ReleaseReply> {
  turns.releasing();
  let receivers = 0;
  try {
    const reply = await kind.release(request);
    if (reply.kind === 'released') receivers = reply.receivers;
    else if (reply.kind === 'kept') receivers = -1;
    return reply;
  } finally {
    turns.released(receivers);
  }
}

/**
 * The waiter of this process that gets the lock without a message: the sleeping head of the FIFO queue, a limited
 * number of times in a row.
 */
function findHeir(
  queue: WaitQueue<Heir> | undefined,
  request: ReleaseRequest,
  deadline: number,
  maxHandOvers: number,
): Heir | undefined {
  const heir = queue?.heir;
  if (queue === undefined || heir?.kind.handOver === undefined) return undefined;
  // Every queue guarantees the same key. It is checked all the same: the heir's script writes to the heir's key, and
  // with another key there would be two holders. Kinds that share key and channel (plain, fenced, non-reentrant, spin)
  // may hand over to one another.
  if (heir.rawName !== request.rawName || heir.owner === request.owner) return undefined;
  // A release of the heir's thread may be sent again, and would then release what is handed over.
  if (heir.releasing) return undefined;
  const now = performance.now();
  if (!queue.turns.mayHandOver(now, maxHandOvers)) return undefined;
  // Waiters of other processes sleep until the latest deadline of this turn, and only an unlock would notify them of a
  // lease that ends sooner.
  if (queue.turns.toldUntil(deadline) - now - heir.leaseMs > NOTICE_MS) return undefined;
  return heir;
}

/**
 * A kind of lock that is not acquired but taken over from the owner `from`. An acquisition in doubt is undone by giving
 * it back to that owner, so that the ticket stays valid.
 */
export function takingOver(kind: LockKind, from: string): LockKind {
  let taken = false;
  let leaseMs = 0;
  return {
    ...kind,
    attempt: async (request): Promise<AcquireReply> => {
      ({ leaseMs } = request);
      // It has getters, which a spread would not copy.
      const { name, rawName, sendRecord } = request;
      const reply = await kind.move!({ name, rawName, sendRecord, owner: from }, request.owner, leaseMs);
      if (reply.kind !== 'handed') return REFUSED;
      taken = true;
      return reply.token === undefined ? ACQUIRED : { acquired: true, token: reply.token };
    },
    release: (request) => {
      if (taken || request.left > 0) return kind.release(request);
      return kind.move!(request, from, leaseMs);
    },
  };
}
