import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { LockHold, Redisson } from '../../../lib';
import { groupValues } from '../../../lib/kinds/group';
import { uniqueName } from '../../support';
import { Random } from '../../faults/Random';
import { bareClient, newClient } from '../synchronizers/support';

const VALUES = ['a', 'b', 'c', 'd'];
const FIELDS = new Map(VALUES.map((value) => [value, groupValues([value]).fields[0]!]));
const RUNS = 40;
const STEPS = 14;

/** Random calls of two threads for sets that overlap, against how often each of them must have each value. */
describe('the values of a group, against an oracle', () => {
  let client: Redisson;
  let redis: Redis;

  beforeEach(() => {
    client = newClient({ lockWatchdogTimeout: 60_000 });
    redis = bareClient();
  });

  /** The owner and the count of each value, as Redis has them. */
  async function inRedis(group: string): Promise<Record<string, string>> {
    const hash = await redis.hgetall(group);
    const entries = VALUES.flatMap((value) => {
      const owner = hash[FIELDS.get(value)!];
      return owner === undefined ? [] : [[value, `${owner} ${hash[`${FIELDS.get(value)}:${owner}:lock_count`]}`]];
    });
    return Object.fromEntries(entries) as Record<string, string>;
  }

  for (let run = 0; run < RUNS; run++) {
    it(`sequence ${run}`, async () => {
      const random = new Random(run);
      const group = uniqueName('oracle');
      const held: { readonly threadId: number; readonly values: readonly string[]; readonly hold: LockHold }[] = [];
      const expected = (): Record<string, string> => {
        const all: Record<string, string> = {};
        for (const value of VALUES) {
          const holders = held.filter(({ values }) => values.includes(value));
          if (holders.length === 0) continue;
          all[value] = `${client.getId()}:${holders[0]!.threadId} ${holders.length}`;
        }
        return all;
      };
      const steps: string[] = [];
      for (let step = 0; step < STEPS; step++) {
        // Some calls at once: of one thread only sets that share nothing, so that the order does not matter.
        const calls: Promise<unknown>[] = [];
        const touched = new Set<string>();
        for (let i = random.below(3); i >= 0; i--) {
          const threadId = 1 + random.below(2);
          if (held.length > 0 && random.chance(45)) {
            const index = random.below(held.length);
            const one = held[index]!;
            if (one.values.some((value) => touched.has(value))) continue;
            one.values.forEach((value) => touched.add(value));
            held.splice(index, 1);
            steps.push(`${one.threadId} releases ${one.values.join('+')}`);
            calls.push(one.hold.unlock());
            continue;
          }
          const values = VALUES.filter(() => random.chance(45));
          if (values.length === 0 || values.some((value) => touched.has(value))) continue;
          values.forEach((value) => touched.add(value));
          const free = !held.some((one) => one.threadId !== threadId && one.values.some((v) => values.includes(v)));
          const lock = client.getMultiLock(group, values);
          const leaseTime = random.chance(50) ? -1 : 30_000;
          if (random.chance(25)) {
            const controller = new AbortController();
            steps.push(`${threadId} aborts ${values.join('+')}`);
            const call = lock.acquire({ threadId, leaseTime, signal: controller.signal });
            const turns = random.below(4);
            calls.push(
              (async () => {
                for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
                controller.abort(new Error('aborted'));
                const hold = await call.catch(() => undefined);
                if (hold !== undefined) held.push({ threadId, values, hold });
              })(),
            );
          } else {
            steps.push(`${threadId} ${free ? 'acquires' : 'tries'} ${values.join('+')}`);
            const taking = lock.tryAcquireHold({ threadId, leaseTime }).then((hold) => {
              expect(hold !== null, steps.join(', ')).to.equal(free);
              if (hold !== null) held.push({ threadId, values, hold });
            });
            calls.push(taking);
          }
        }
        await Promise.all(calls);
        // What was aborted is undone behind it, on the same connection: this one is the first to come after that.
        await client.getMultiLock(group, ['z']).isLocked();
        expect(await inRedis(group), steps.join(', ')).to.deep.equal(expected());
        for (const { hold } of held) expect(hold.isHeld, steps.join(', ')).to.equal(true);
      }
      for (const { hold } of held.splice(0)) await hold.unlock();
      expect(await redis.exists(group), steps.join(', ')).to.equal(0);
    });
  }
});
