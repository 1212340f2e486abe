import type { CommandExecutor } from '../../connection/CommandExecutor';
import { IllegalMonitorStateError } from '../../errors';
import type { RenewalKind } from '../../renewal/RenewalKind';
import { acquireNonReentrantLock } from '../../scripts/nonReentrantLock';
import type { AcquireReply, NonReentrantReply } from '../../scripts/replies';
import type { AttemptRequest, LockDriver } from './LockDriver';
import { reentrantDriver } from './reentrant';

/**
 * The non-reentrant lock (Redisson: RedissonNonReentrantLock): the lock of `reentrant.ts`, which its holder cannot take
 * again. Data and messages are the same.
 */
export function nonReentrantDriver(executor: CommandExecutor, clientId: string, renewal: RenewalKind): LockDriver {
  return {
    ...reentrantDriver(executor, clientId, renewal),
    kind: 'nonReentrant',
    reentrant: false,
    attempt: async (request) => {
      const { rawName, owner, leaseMs, count, name, token } = request;
      const reply = await executor.run(
        acquireNonReentrantLock,
        { name: rawName },
        { lease: leaseMs, owner, count },
        { what: 'acquire non-reentrant lock', name, token },
      );
      return refuseReentry(reply, request);
    },
  };
}

/** @throws IllegalMonitorStateError when the script found that the thread holds the lock already */
export function refuseReentry(reply: NonReentrantReply, { rawName, threadId }: AttemptRequest): AcquireReply {
  if ('reentry' in reply) throw IllegalMonitorStateError.nonReentrant(rawName, threadId);
  return reply;
}
