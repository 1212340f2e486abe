import { prefixName } from '../util/names';
import type { FAIR_ACQUIRE } from './fairQueue';
import {
  abandonFairLock,
  acquireFairLock,
  checkFairTurn,
  forceReleaseFairLock,
  releaseFairLock,
  tryAcquireFairLock,
} from './fairScripts';
import { lockDescriptor } from './Kind';
import { lockChannel } from './reentrant';
import { handOverLock } from './reentrantScripts';

/** `name`; `redisson_lock_queue`, `_timeout` and `_claim` with `:{name}`; the prefix of the waiters' channels. */
export function fairKeys(rawName: string): Readonly<Record<(typeof FAIR_ACQUIRE.keys)[number], string>> {
  return {
    name: rawName,
    queue: prefixName('redisson_lock_queue', rawName),
    timeouts: prefixName('redisson_lock_timeout', rawName),
    claims: prefixName('redisson_lock_claim', rawName),
    channelBase: lockChannel(rawName),
  };
}

/**
 * The fair lock (Redisson: RedissonFairLock): a queue in Redis, in which each waiter has its own channel. Redis decides
 * the order, so there is no hand-over within the process. Its data is described in `kinds/fairScripts.ts`.
 */
export const FAIR = lockDescriptor({
  name: 'fair',
  noun: 'fair lock',
  report: 'fair',
  data: 'owners',
  keysOf: fairKeys,
  channelOf: (rawName: string, owner: string) => `${lockChannel(rawName)}:${owner}`,
  waitOrder: 'shared',
  acquire: acquireFairLock,
  tryAcquire: tryAcquireFairLock,
  release: releaseFairLock,
  move: handOverLock,
  abandon: abandonFairLock,
  checkTurn: checkFairTurn,
  forceRelease: forceReleaseFairLock,
  commands: ['hget', 'hlen'],
  lockOf: (client, name) => client.getFairLock(name),
  forRun: true,
});
