import type { Redis } from 'ioredis';
import type { Redisson, RPermitExpirableSemaphore } from '../../lib';
import { monotonicNow, sleep } from '../support';
import type { Checker } from './Checker';
import { doing, type Ending } from './contenders';
import { isExpected } from './expected';
import type { Random } from './Random';
import { LONG_LEASE_MS } from './scene';

const PERMITS = 3;
const GIVE_BACK_MS = 10_000;

/** A semaphore with permits that have ids, and who competes for them. */
export interface Permits {
  compete(client: Redisson, random: Random, ending: Ending): Promise<void>;
  /** Nobody competes any more: every permit has to be back. */
  end(): Promise<void>;
}

/** Makes one with three permits: never four inside, and all of them back in the end. */
export async function permitsOf(direct: Redis, name: string, checker: Checker): Promise<Permits> {
  // As `trySetPermits` does it, past every client under test.
  await direct.set(name, PERMITS);
  let inside = 0;

  async function visit(semaphore: RPermitExpirableSemaphore, random: Random): Promise<void> {
    const id = random.chance(50)
      ? await semaphore.acquire(LONG_LEASE_MS)
      : await semaphore.tryAcquire(random.between(0, 500), LONG_LEASE_MS);
    if (id === null) return;
    inside++;
    if (inside > PERMITS) checker.violation(`${name}: ${inside} inside, with ${PERMITS} permits`);
    await sleep(random.between(0, 20));
    inside--;
    await giveBack(semaphore, id);
  }

  /** It is known by its id, so it can be given back as often as that takes. */
  async function giveBack(semaphore: RPermitExpirableSemaphore, id: string): Promise<void> {
    const endsAt = monotonicNow() + GIVE_BACK_MS;
    for (;;) {
      try {
        await semaphore.tryRelease(id);
        return;
      } catch (error) {
        if (!isExpected(error) || monotonicNow() > endsAt) throw error;
      }
    }
  }

  return {
    async compete(client, random, ending) {
      const semaphore = client.getPermitExpirableSemaphore(name);
      while (!ending.stopping) {
        try {
          await doing(ending, `visiting ${name}`, client, () => visit(semaphore, random));
        } catch (error) {
          if (!isExpected(error)) checker.violation(`${name}: ${String(error)}`);
          await sleep(random.between(1, 50));
        }
      }
    },
    async end() {
      const endsAt = monotonicNow() + GIVE_BACK_MS;
      while ((await direct.get(name)) !== String(PERMITS) && monotonicNow() < endsAt) await sleep(20);
      const left = await direct.get(name);
      if (left !== String(PERMITS)) checker.violation(`${name}: ${String(left)} permits left of ${PERMITS}`);
      await direct.del(name);
    },
  };
}
