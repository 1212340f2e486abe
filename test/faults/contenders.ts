import type { LockHold, Redisson, RLock } from '../../lib';
import { monotonicNow, sleep } from '../support';
import type { Checker } from './Checker';
import { ENOUGH, isExpected } from './expected';
import type { Prize } from './prizes';
import type { Random } from './Random';
import { LONG_LEASE_MS } from './scene';

/** A wait with a limit ends so much after it at most: the machine may be busy, Redis may not matter. */
const OVERTIME_MS = 2_000;
/** When to stop. */
export interface Ending {
  stopping: boolean;
  /** What each contender is about, for the report on those who come to no end. */
  readonly doing: Set<string>;
}

/** One contender: takes one lock after the other, in all ways there are, and tells the checker what it sees. */
export async function compete(
  client: Redisson,
  all: readonly Prize[],
  random: Random,
  checker: Checker,
  ending: Ending,
): Promise<void> {
  while (!ending.stopping) {
    const prize = random.of(all);
    try {
      if (random.chance(15)) {
        await doing(ending, `branches in ${prize.name}`, client, () => branch(client, prize, random, checker));
        continue;
      }
      const hold = await doing(ending, `taking ${prize.name}`, client, () =>
        take(prize.of(client), prize, random, checker),
      );
      if (hold !== null) {
        await doing(ending, `in ${prize.name}`, client, () => stay(client, prize, hold, random, checker));
      }
    } catch (error) {
      if (!isExpected(error)) checker.violation(`${prize.name}: ${describe(error)}`);
      // Nobody tries on at once when Redis is away.
      await sleep(random.between(1, 50));
    }
  }
}

let tasks = 0;

/** Has it known for as long as it takes what is being done. */
export async function doing<T>(ending: Ending, what: string, client: Redisson, work: () => Promise<T>): Promise<T> {
  const entry = `${what} by ${client.getId()} (${++tasks})`;
  ending.doing.add(entry);
  try {
    return await work();
  } finally {
    ending.doing.delete(entry);
  }
}

async function take(lock: RLock, prize: Prize, random: Random, checker: Checker): Promise<LockHold | null> {
  // No test waits for the end of the long one: whoever leaves such a hold behind is found out.
  const leaseTime = random.of([-1, -1, LONG_LEASE_MS, LONG_LEASE_MS, random.between(150, 900)]);
  const way = random.below(4);
  if (way === 0) return lock.acquire({ leaseTime });
  if (way === 1) return lock.tryAcquireHold({ leaseTime });
  const startedAt = monotonicNow();
  const ms = random.between(1, 700);
  if (way === 2) {
    const hold = await lock.tryAcquireHold({ leaseTime, waitTime: ms });
    checker.woken(`tryLock of ${prize.name}`, monotonicNow() - startedAt, ms + OVERTIME_MS);
    return hold;
  }
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(ENOUGH), ms);
  try {
    return await lock.acquire({ leaseTime, signal: controller.signal });
  } finally {
    clearTimeout(timer);
    checker.woken(`abort of ${prize.name}`, monotonicNow() - startedAt, ms + OVERTIME_MS);
  }
}

async function stay(client: Redisson, prize: Prize, hold: LockHold, random: Random, checker: Checker): Promise<void> {
  const ms = random.chance(4) ? random.between(200, 1_200) : random.between(0, 12);
  const reenters = prize.reentrant && random.chance(15);
  const twins = prize.twin !== prize.name && random.chance(15);
  try {
    await checker.visit(prize.name, hold, prize.shared, async () => {
      if (reenters) await reenter(prize.of(client), hold.threadId, ms);
      else if (twins) await both(prize.of(client, prize.twin), prize, hold.threadId, checker, ms);
      else await sleep(ms);
    });
  } finally {
    await hold.unlock();
  }
}

/** Has the twin as well, for the same thread: the end of one must give nobody the other. */
async function both(twin: RLock, prize: Prize, threadId: number, checker: Checker, ms: number): Promise<void> {
  const hold = await twin.tryAcquireHold({ threadId, waitTime: 100, leaseTime: LONG_LEASE_MS });
  if (hold === null) return;
  try {
    await checker.visit(prize.twin, hold, prize.shared, () => sleep(ms));
  } finally {
    await hold.unlock();
  }
}

/** Branches of one thread, or of one section: each is inside alone, whatever its scope has. */
async function branch(client: Redisson, prize: Prize, random: Random, checker: Checker): Promise<void> {
  const lock = prize.of(client);
  const waitTime = random.between(100, 700);
  const count = random.between(2, 4);
  const visits = async (): Promise<void> => {
    const branches = Array.from({ length: count }, () =>
      lock.withLock((hold) => checker.visit(prize.name, hold, prize.shared, () => sleep(random.between(0, 5))), {
        waitTime,
      }),
    );
    const failed = (await Promise.allSettled(branches)).filter((branchResult) => branchResult.status === 'rejected');
    // An unexpected one first: it is the finding.
    const found = failed.find(({ reason }) => !isExpected(reason)) ?? failed[0];
    if (found !== undefined) throw found.reason;
  };
  const around = prize.reentrant && random.chance(50);
  if (around) await lock.withLock(visits, { waitTime });
  else await client.runInThread(visits);
}

async function reenter(lock: RLock, threadId: number, ms: number): Promise<void> {
  const inner = await lock.tryAcquireHold({ threadId, waitTime: 500, leaseTime: LONG_LEASE_MS });
  // Somebody else has it by now, or Redis said nothing in time.
  if (inner === null) return;
  await sleep(ms);
  await inner.unlock();
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? String(error)) : String(error);
}
