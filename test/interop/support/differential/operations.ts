import { at, type Path } from '../paths';
import { type Random, seededRandom } from './random';

/** Stands for the id of a permit acquired earlier: the n-th, counted round and round. */
export interface PermitReference {
  readonly permit: number;
}

/** One step of a sequence: a call on one of two threads, or an object whose time has run out. */
export type Operation =
  | { readonly thread: string; readonly object: Path; readonly method: string; readonly args: readonly unknown[] }
  | { readonly expire: string };

type Call = readonly [method: string, ...args: unknown[]];

const MS = 'MILLISECONDS';

/**
 * Leases are multiples of this, in ms, so that what is left of them tells which one it was, however slow the machine.
 */
export const LEASE_STEP_MS = 300_000;
/** Of locks without a lease. */
export const WATCHDOG_MS = 3 * LEASE_STEP_MS;

/** One lease for each lock, because Redisson keeps the last one in the lock object: see docs/interop.md. */
const LEASES = [-1, 2 * LEASE_STEP_MS, 6 * LEASE_STEP_MS] as const;

const LOCKS: readonly ((name: string) => Path)[] = [
  at.lock,
  at.fair,
  at.fenced,
  at.read,
  at.write,
  at.spin,
  at.nonReentrant,
  at.nonReentrantFair,
];

/** A random sequence of calls that never wait for anybody. */
export function randomOperations(seed: number, length: number): Operation[] {
  const random = seededRandom(seed);
  const objects = chooseObjects(random);
  return Array.from({ length }, () => {
    const { object, calls } = random.pick(objects);
    if (random.chance(4)) return { expire: String(object[0]?.[1]) };
    const [method, ...args] = calls(random);
    return { thread: random.pick(['t1', 't2']), object, method, args };
  });
}

interface Choice {
  readonly object: Path;
  readonly calls: (random: Random) => Call;
}

/** A few objects, so that their calls meet; the read and the write lock of a name come together. */
function chooseObjects(random: Random): Choice[] {
  const locks = LOCKS.filter(() => random.chance(50)).map((path) => {
    const lease = random.pick(LEASES);
    const name = path === at.read || path === at.write ? 'rw' : `n${LOCKS.indexOf(path)}`;
    return { object: path(name), calls: (r: Random) => lockCall(r, lease) };
  });
  const others = [
    { object: at.semaphore('s'), calls: semaphoreCall },
    { object: at.permits('p'), calls: permitCall },
    { object: at.latch('l'), calls: latchCall },
  ].filter(() => random.chance(60));
  return [...locks, ...others, { object: at.lock('x'), calls: (r: Random) => lockCall(r, -1) }];
}

function lockCall(random: Random, lease: number): Call {
  return random.pick<Call>([
    ['tryLock', 0, lease, MS],
    ['tryLock', 0, lease, MS],
    lease === -1 ? ['tryLock'] : ['tryLock', 0, lease, MS],
    ['unlock'],
    ['unlock'],
    ['isLocked'],
    ['getHoldCount'],
    ['isHeldByCurrentThread'],
    ['remainTimeToLive'],
    random.chance(30) ? ['forceUnlock'] : ['unlock'],
  ]);
}

function semaphoreCall(random: Random): Call {
  return random.pick<Call>([
    ['trySetPermits', random.below(5)],
    ['tryAcquire', random.below(3)],
    ['tryAcquire'],
    ['release'],
    ['release', random.below(3)],
    ['releaseIfExists', random.below(3)],
    ['addPermits', random.pick([-2, -1, 1, 2])],
    ['drainPermits'],
    ['availablePermits'],
    random.chance(30) ? ['delete'] : ['trySetPermits', 2, { durationMs: 6 * LEASE_STEP_MS }],
  ]);
}

function permitCall(random: Random): Call {
  const permit = (): PermitReference => ({ permit: random.below(10) });
  return random.pick<Call>([
    ['trySetPermits', random.below(4)],
    ['tryAcquire'],
    ['tryAcquire', 1 + random.below(3)],
    ['tryAcquire', 0, 3 * LEASE_STEP_MS, MS],
    ['tryRelease', permit()],
    ['release', permit()],
    ['tryRelease', [permit(), permit()]],
    ['availablePermits'],
    ['acquiredPermits'],
    ['getPermits'],
    ['setPermits', random.below(5)],
    ['addPermits', random.pick([-1, 1, 2])],
    ['updateLeaseTime', permit(), 5 * LEASE_STEP_MS, MS],
    ['getLeaseTime', permit()],
    random.chance(20) ? ['delete'] : ['availablePermits'],
  ]);
}

function latchCall(random: Random): Call {
  return random.pick<Call>([
    ['trySetCount', random.below(4)],
    ['countDown'],
    ['countDown'],
    ['getCount'],
    random.chance(30) ? ['delete'] : ['getCount'],
  ]);
}
