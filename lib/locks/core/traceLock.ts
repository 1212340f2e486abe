import { type AcquireTrace, HoldTrace, traceAcquire } from '../../telemetry/tracing';
import type { AcquireRequest } from './calls';
import type { AcquireResult, LockEngine } from './LockEngine';

/**
 * Acquires a lock, and publishes the acquisition and the hold to telemetry subscribers.
 * @param take - acquires, as without subscribers; it includes the wait for a section of the thread
 */
export async function traceLock(
  { context, kind, name }: LockEngine,
  request: AcquireRequest,
  take: () => Promise<AcquireResult>,
): Promise<AcquireResult> {
  const subject = {
    clientId: context.clientId,
    kind: kind.name,
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
  // Begun here and not where the hold is made: the trace of the hold belongs to the caller, not to the acquisition.
  hold.trace = HoldTrace.begin({ ...subject, threadId: request.threadId }, token);
  if (hold.lost !== undefined) hold.trace?.lost(hold.lost);
  return taken;
}
