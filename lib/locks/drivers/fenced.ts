import type { CommandExecutor } from '../../connection/CommandExecutor';
import type { RenewalKind } from '../../renewal/RenewalKind';
import { acquireFencedLock, handOverFencedLock } from '../../scripts/fencedLock';
import { prefixName } from '../../util/names';
import type { LockDriver } from './LockDriver';
import { lockChannel, NOT_HANDED, reentrantDriver } from './reentrant';

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
    attempt: ({ rawName, owner, leaseMs, count, name, token }) =>
      executor.run(
        acquireFencedLock,
        { name: rawName, token: tokenKey(rawName) },
        { lease: leaseMs, owner, count },
        { what: 'acquire fenced lock', name, token },
      ),
    handOver: (from, { rawName, owner, leaseMs, name }) => {
      const released = executor.run(
        handOverFencedLock,
        { name: rawName, token: tokenKey(rawName) },
        { owner: from.owner, heir: owner, lease: leaseMs },
        { what: 'hand over fenced lock', name, token: from.token },
      );
      const acquired = released.then((reply) =>
        reply.kind === 'handed' && reply.token !== undefined
          ? ({ acquired: true, token: reply.token } as const)
          : NOT_HANDED,
      );
      return { released, acquired };
    },
  };
}

/** GET of the last token. @returns 0n when there never was one */
export async function readToken(executor: CommandExecutor, rawName: string, name: string): Promise<bigint> {
  const token = await executor.call('get', [tokenKey(rawName)], { what: 'read the token of fenced lock', name });
  return typeof token === 'string' ? BigInt(token) : 0n;
}
