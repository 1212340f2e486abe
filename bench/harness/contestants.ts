import { type Contestant, type ContestantKind } from './contestant';

function entry(
  id: string,
  kind: ContestantKind,
  module: string,
  about: string,
  abilities: Partial<Pick<Contestant, 'waits' | 'renews' | 'pollMs'>> = {},
): Contestant {
  return { id, kind, module, about, waits: true, renews: false, pollMs: 0, ...abilities };
}

/** Everybody who can be measured, in the order of the report. */
export const contestants: readonly Contestant[] = [
  entry('ioredisson', 'library', 'library/ioredisson', 'this package', { renews: true }),
  entry('ioredisson-local', 'library', 'library/local', 'this package with localHandOver', { renews: true }),
  entry('ioredisson-beside', 'library', 'library/beside', 'another build of this package: --beside', { renews: true }),
  entry('floor', 'reference', 'references/floor', 'two bare EVALSHA on ioredis: lock, unlock + PUBLISH', {
    waits: false,
  }),
  entry('raw-pubsub', 'reference', 'references/rawPubSub', 'the floor plus the smallest possible pub/sub waiting'),
  entry('seed-hash-50ms', 'baseline', 'baselines/pollingHash', 'reentrant hash, polled every 50 ms, renewed once', {
    renews: true,
    pollMs: 50,
  }),
  entry('seed-setnx-del', 'baseline', 'baselines/setnxDel', 'SETNX, then DEL; polled every 50 ms', { pollMs: 50 }),
  entry(
    'seed-compare-del',
    'baseline',
    'baselines/compareDelete',
    'SET NX PX, compare-and-delete; polled every 50 ms',
    {
      pollMs: 50,
    },
  ),
  entry('seed-renewal-map', 'baseline', 'baselines/renewalMap', 'SET NX PX, a timer per lock, renewals capped', {
    renews: true,
    pollMs: 50,
  }),
  entry('seed-thread-10ms', 'baseline', 'baselines/renewalThread', 'polled every 10 ms, one global 3 s renewal timer', {
    pollMs: 10,
  }),
  entry('node-redisson', 'peer', 'peers/nodeRedisson', 'npm node-redisson: pub/sub, a timer per lock', {
    renews: true,
  }),
  entry('redlock', 'peer', 'peers/redlock', 'npm redlock: SET NX PX in Lua, polled every 200 ms +- 100', {
    pollMs: 300,
  }),
  entry('redis-semaphore', 'peer', 'peers/redisSemaphore', 'npm redis-semaphore (Mutex): polled every 10 ms, renews', {
    renews: true,
    pollMs: 10,
  }),
  entry(
    'redlock-universal',
    'peer',
    'peers/redlockUniversal',
    'npm redlock-universal: SET NX PX, polled every 100 ms',
    {
      pollMs: 100,
    },
  ),
  entry('simple-redis-mutex', 'peer', 'peers/simpleRedisMutex', 'npm simple-redis-mutex: one pub/sub channel for all'),
];

/** The contestant of that id. Throws an `Error` that lists the known ones when there is none. */
export function contestantById(id: string): Contestant {
  const found = contestants.find((contestant) => contestant.id === id);
  if (found === undefined) {
    throw new Error(`unknown contestant "${id}"; known: ${contestants.map((contestant) => contestant.id).join(', ')}`);
  }
  return found;
}
