import { CommandError, NoSyncedReplicasError } from '../../errors';
import type { Subscriptions } from '../../waiters/Subscriptions';
import type { WaitQueue } from '../../waiters/WaitQueue';
import { NOTICE_MS } from '../../scripts/shortenLease';
import type { ReleaseReply } from '../../scripts/replies';
import type { Heir, LockKind, ReleaseRequest } from '../kinds/LockKind';

/**
 * One command: the unlock, or the hand-over to the process's own next waiter.
 * @param kind - of the lock that is released
 * @param maxHandOvers - the client's setting
 * @param deadline - monotonic time until which Redis would have kept it; `Infinity` where that is not known
 */
export function releaseOrHandOver(
  kind: LockKind,
  subscriptions: Subscriptions<Heir>,
  request: ReleaseRequest,
  deadline: number,
  maxHandOvers: number,
): Promise<ReleaseReply> {
  const contended = request.left === 0 && subscriptions.size > 0;
  const queue = contended
    ? subscriptions.queue(kind.channelOf(request.rawName, request.owner), request.rawName)
    : undefined;
  if (queue === undefined || queue.head === undefined) return kind.release(request);
  const heir = findHeir(queue, request, deadline, maxHandOvers);
  if (heir !== undefined) {
    queue.handedOver();
    const { released, acquired } = heir.kind.handOver!(request, heir);
    heir.receiveHandOver(acquired, request.sendRecord.connectionNumber);
    return released.catch((error: unknown) => handOverFailed(error, kind, queue, request));
  }
  return releaseToAll(kind, queue, request);
}

const HANDED: ReleaseReply = Object.freeze({ kind: 'handed' });

/**
 * What the holder is told when its hand-over has failed. One that no replica confirmed was done all the same: it is the
 * heir who is told and takes it back. One that Redis refuses (no memory for another owner, a token that is no number)
 * becomes a plain release, which takes only away; the heir goes on waiting.
 */
function handOverFailed(
  error: unknown,
  kind: LockKind,
  queue: WaitQueue<Heir>,
  request: ReleaseRequest,
): ReleaseReply | Promise<ReleaseReply> {
  if (error instanceof NoSyncedReplicasError) return HANDED;
  // A server that cannot serve now will not serve that one either: it has been asked for long enough.
  if (!(error instanceof CommandError) || UNABLE.has(error.reply)) throw error;
  return releaseToAll(kind, queue, request);
}

/** Why a server would refuse a plain release as well. */
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

/** A real unlock: every process that waits is told, and this one gives way to the others. */
async function releaseToAll(kind: LockKind, queue: WaitQueue, request: ReleaseRequest): Promise<ReleaseReply> {
  queue.releasing();
  let receivers = 0;
  try {
    const reply = await kind.release(request);
    if (reply.kind === 'released') receivers = reply.receivers;
    else if (reply.kind === 'kept') receivers = -1;
    return reply;
  } finally {
    queue.released(receivers);
  }
}

/**
 * Who gets the lock without Redis being asked to wake anybody: the sleeping head of the FIFO queue, a few times in a
 * row.
 */
function findHeir(
  queue: WaitQueue<Heir>,
  request: ReleaseRequest,
  deadline: number,
  maxHandOvers: number,
): Heir | undefined {
  const { heir } = queue;
  if (heir?.kind.handOver === undefined) return undefined;
  // The queue says so already. It is asserted, since the heir's kind writes to the heir's key: were it another lock, it
  // would have two holders. Kinds that share key and channel (plain, fenced, non-reentrant, spin) may inherit from each other.
  if (heir.rawName !== request.rawName || heir.owner === request.owner) return undefined;
  // What a release of the heir's takes away, if it is repeated, must not be this.
  if (heir.releasing) return undefined;
  const now = performance.now();
  if (!queue.mayHandOver(now, maxHandOvers)) return undefined;
  // Waiters of other processes sleep until then, and nothing but an unlock tells them of a lease that ends sooner.
  if (deadline - now - heir.leaseMs > NOTICE_MS) return undefined;
  return heir;
}
