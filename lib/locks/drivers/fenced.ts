import type { CommandExecutor } from '../../connection/CommandExecutor';
import type { RenewalKind } from '../../renewal/RenewalKind';
import { acquireFencedLock, handOverFencedLock } from '../../scripts/fencedLock';
import { RESEND_FLAG } from '../../scripts/Script';
import { prefixName } from '../../util/names';
import type { AttemptRequest, LockDriver } from './LockDriver';
import { handedTo, lockChannel, reentrantDriver } from './reentrant';

/** Where the last token is: `redisson_lock_token:{name}`. */
export function tokenKey(rawName: string): string {
  return prefixName('redisson_lock_token', rawName);
}

/**
 * The fenced lock (Redisson: RedissonFencedLock): the lock of `reentrant.ts` with a token for each acquisition; an heir
 * gets one of its own. Its data is drawn in `scripts/fencedLock.ts`.
 */
export function fencedDriver(executor: CommandExecutor, clientId: string, renewal: RenewalKind): LockDriver {
  return {
    ...reentrantDriver(executor, clientId, renewal),
    kind: 'fenced',
    keysOf: (rawName) => [rawName, tokenKey(rawName), lockChannel(rawName)],
    attempt: (request) => {
      const { rawName, owner, leaseMs, count, name, token } = request;
      return executor.run(
        acquireFencedLock,
        { name: rawName, token: tokenKey(rawName) },
        { lease: leaseMs, owner, count, repeated: repeatFlag(request) },
        { what: 'acquire fenced lock', name, token },
      );
    },
    handOver: (from, heir) => {
      const { rawName, owner, leaseMs, name } = heir;
      const released = executor.run(
        handOverFencedLock,
        { name: rawName, token: tokenKey(rawName) },
        { owner: from.owner, heir: owner, lease: leaseMs, repeated: heir.leftover ? '0' : RESEND_FLAG },
        { what: 'hand over fenced lock', name, token: from.token },
      );
      return handedTo(released);
    },
  };
}

/**
 * Whether a hold that the script finds may come from this very acquisition, and from nothing else: only then its token is
 * the one of this acquisition.
 */
function repeatFlag({ repeated, leftover }: AttemptRequest): '0' | '1' | typeof RESEND_FLAG {
  if (leftover) return '0';
  return repeated ? '1' : RESEND_FLAG;
}

/** GET of the last token. @returns 0n when there never was one */
export async function readToken(executor: CommandExecutor, rawName: string, name: string): Promise<bigint> {
  const token = await executor.call('get', [tokenKey(rawName)], { what: 'read the token of fenced lock', name });
  return typeof token === 'string' ? BigInt(token) : 0n;
}
