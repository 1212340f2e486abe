import type { ObjectKind } from '../../api';
import { type AcquireTrace, HoldTrace, traceAcquire } from '../../telemetry/tracing';
import type { AcquireRequest, AcquireResult, LockEngine } from './LockEngine';

/**
 * Takes a lock, and tells those who listen of the acquisition and of the hold.
 * @param take - as without listeners; the wait for a section of the thread is part of it
 */
export async function traceLock(
  { context, kind, name }: LockEngine,
  request: AcquireRequest,
  take: () => Promise<AcquireResult>,
): Promise<AcquireResult> {
  const subject = {
    clientId: context.clientId,
    kind: kind.name as ObjectKind,
    name,
    threadId: request.threadId,
    waitTime: Math.max(0, request.waitMs),
    leaseTime: request.leaseMs,
  };
  const run = (trace: AcquireTrace): Promise<AcquireResult> => {
    request.trace = trace;
    return take();
  };
  const isAcquired = ({ ok }: AcquireResult): boolean => ok;
  const taken = await traceAcquire(subject, request.signal, run, isAcquired, () => request.threadId);
  if (!taken.ok) return taken;
  const { hold, token } = taken;
  // Here and not where the hold is made: it belongs to the caller, and is no part of its acquisition.
  hold.trace = HoldTrace.begin({ ...subject, threadId: request.threadId }, token);
  if (hold.lost !== undefined) hold.trace?.lost(hold.lost);
  return taken;
}
