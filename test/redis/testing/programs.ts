import type { Random } from '../../simulation/engine/Random';

/** The objects of a program, by name. Each is used by two clients. */
export const LOCKS = [
  'lock',
  'fair',
  'fenced',
  'spin',
  'nonReentrant',
  'nonReentrantFair',
  'read',
  'write',
  'multi',
  'red',
  'group',
] as const;

/** What several calls may wait for in an order that both worlds have to keep, whoever calls. */
const FAIR: readonly string[] = ['fair', 'nonReentrantFair'];

/** One call of a program. */
export interface Step {
  readonly kind: (typeof LOCKS)[number] | 'semaphore' | 'permits' | 'latch' | 'time' | 'abort';
  readonly what: string;
  readonly client: 0 | 1;
  readonly threadId: number;
  /** How long it waits, in ms. Unlike any sum of leases, modulo {@link PACE_MS}. */
  readonly wait: number;
  /** In ms, or -1. */
  readonly lease: number;
  readonly count: number;
}

/** What passes between two groups of calls. */
export const PACE_MS = 100_000;

const ON_LOCK = [
  ...['lock', 'lock', 'acquire', 'acquire', 'withLock', 'tryLock', 'tryLock', 'waitLock', 'waitLock', 'waitHold'],
  ...['tryAcquire', 'unlock', 'unlock', 'unlock', 'unlock', 'release', 'release', 'release', 'finish', 'finish'],
  ...['isLocked', 'isHeld', 'holdCount', 'ttl', 'force', 'scope', 'token'],
];
const ON_SEMAPHORE = [
  ...['set', 'set', 'add', 'acquire', 'acquire', 'try', 'try', 'wait', 'release', 'release', 'release'],
  ...['releaseIfExists', 'available', 'drain', 'delete'],
];
const ON_PERMITS = [
  ...['set', 'set', 'add', 'acquire', 'acquire', 'acquire', 'try', 'wait', 'many', 'release', 'release', 'release'],
  ...['releaseWrong', 'available', 'acquired', 'permits', 'setAll', 'update', 'leaseOf', 'delete'],
];
const ON_LATCH = ['set', 'set', 'count', 'count', 'count', 'await', 'await', 'awaitFor', 'get', 'delete'];

/** Those that may wait. */
const WAITING: readonly string[] = ['lock', 'acquire', 'withLock', 'waitLock', 'waitHold', 'wait', 'many', 'scope'];

/** So many calls, which look random and are the same for the same seed. */
export function program(random: Random, calls: number): Step[] {
  const steps: Step[] = [];
  for (let i = 0; i < calls; i++) {
    const base = {
      client: random.of([0, 1] as const),
      threadId: 1 + random.below(3),
      wait: 53_000,
      lease: random.of([-1, 37_000, 137_000]),
      count: 1 + random.below(2),
    };
    const kind = random.chance(12) ? 'time' : random.chance(4) ? 'abort' : random.of([...LOCKS, ...OTHERS]);
    const what = random.of(callsOf(kind));
    // Who of two processes is the first to come after a message, nobody promises: only one of them waits.
    const client = WAITING.includes(what) && !FAIR.includes(kind) ? 0 : base.client;
    steps.push({ ...base, kind, what, client });
  }
  return steps;
}

const OTHER_CALLS = {
  semaphore: ON_SEMAPHORE,
  permits: ON_PERMITS,
  latch: ON_LATCH,
  time: ['passes'],
  abort: ['waits'],
} as const;

const OTHERS = ['semaphore', 'semaphore', 'permits', 'permits', 'latch', 'latch'] as const;

function callsOf(kind: Step['kind']): readonly string[] {
  return kind in OTHER_CALLS ? OTHER_CALLS[kind as keyof typeof OTHER_CALLS] : ON_LOCK;
}
