import { prefixName, remembered } from '../util/names';
import { type Kind, lockDescriptor } from './Kind';
import { acquireLock, forceReleaseLock, handOverLock, releaseLock } from './reentrantScripts';

/** The channel of plain, fenced and non-reentrant locks: `redisson_lock__channel:{name}`. */
export const lockChannel = remembered((rawName) => prefixName('redisson_lock__channel', rawName));

/** The message of an unlock. */
export const UNLOCK_MESSAGE = '0';

/** The reentrant lock (Redisson: RedissonLock). Its data is described in `kinds/reentrantScripts.ts`. */
export const LOCK = lockDescriptor({
  name: 'lock',
  noun: 'lock',
  report: 'lock',
  data: 'owners',
  keysOf: (rawName: string) => ({ name: rawName, channel: lockChannel(rawName) }),
  channelOf: lockChannel,
  waitOrder: 'fifo',
  acquire: acquireLock,
  release: releaseLock,
  handOver: handOverLock,
  move: handOverLock,
  forceRelease: forceReleaseLock,
  commands: ['hget', 'hlen'],
  lockOf: (client, name) => client.getLock(name),
  forRun: true,
});

/** Several locks as one: in Redis there are only its members. */
const COMPOSITION = { report: 'lock', data: 'owners', keysOf: () => ({}), scripts: () => [], commands: [] } as const;
export const MULTI = { name: 'multi', noun: 'multi-lock', ...COMPOSITION } as const satisfies Kind;
/** As {@link MULTI}, where the majority counts. */
export const RED = { name: 'red', noun: 'red lock', ...COMPOSITION } as const satisfies Kind;
