import { prefixName, suffixName } from '../util/names';

/** The keys of a synchronizer by their names in its scripts, and the channel its waiters listen to. */
export interface ObjectKeys {
  readonly name: string;
  readonly channel: string;
}

/** The keys of a semaphore with leased permits. */
export interface PermitKeys extends ObjectKeys {
  /** The zset of the permits that are out. */
  readonly permits: string;
}

/** The keys of a semaphore. */
export function semaphoreKeys(rawName: string): ObjectKeys {
  return { name: rawName, channel: prefixName('redisson_sc', rawName) };
}

/** The keys of a semaphore with leased permits; both kinds share the form of the channel. */
export function permitKeys(rawName: string): PermitKeys {
  return { ...semaphoreKeys(rawName), permits: suffixName(rawName, 'timeout') };
}

/** The keys of a latch. Its channel puts any name in braces, so a name with braces of its own cannot work on a cluster. */
export function latchKeys(rawName: string): ObjectKeys {
  return { name: rawName, channel: `redisson_countdownlatch__channel__{${rawName}}` };
}
