// Ids in titles: test/README.md
import { expect } from 'chai';
import { Random } from '../../faults/Random';
import { client, connection, within } from '../../faults/scene';
import { redisUrl, sleep, sleepUntil, trackClient, uniqueName } from '../../support';
import { FairQueue } from '../locks/fairQueue';
import { LockProcess } from './LockProcess';

/** What is promised: a live waiter is in so long after the lock has become free. */
const BOUND_MS = 5_000;
const HANG_MS = 60_000;

/** One stay in the lock; times in ms of the machine's monotonic clock, which all its processes share. */
interface Stay {
  readonly threadId: number;
  readonly enteredAt: number;
  readonly releasedAt: number;
}

const now = (): number => Number(process.hrtime.bigint()) / 1e6;

/** FAIR_SEED repeats the choices of an earlier run. */
const seed = Number(process.env['FAIR_SEED'] ?? Date.now() % 1_000_000);

describe('A2: random contenders at a fair lock', function () {
  this.timeout(4 * HANG_MS);
  const processes: LockProcess[] = [];
  afterEach(() => Promise.all(processes.splice(0).map((one) => one.kill())));

  it(`live waiters get in in their order, each within 5 s, whoever leaves, dies or freezes (seed ${seed})`, async () => {
    const random = new Random(seed);
    const redis = connection();
    const name = uniqueName('fair');
    const queue = new FairQueue(redis, name);
    const clients = [client(redisUrl()), client(redisUrl())];
    for (let i = 0; i < 3; i++) processes.push(trackClient(await LockProcess.start(redisUrl())));
    const [dying, freezing, living] = processes as [LockProcess, LockProcess, LockProcess];
    const holder = clients[0]!.getFairLock(name);
    await holder.lock(60_000, undefined, 1);

    /** The oracle: who joined, lives and did not leave, in the order of joining. */
    const expected: number[] = [];
    const stays: Stay[] = [];
    let inside = 0;
    const leaving: { threadId: number; stop: AbortController }[] = [];
    const ends: Promise<void>[] = [];
    let length = 0;
    let nextThread = 10;

    const joinHere = (): void => {
      const threadId = nextThread++;
      const stop = new AbortController();
      const lock = clients[random.below(2)]!.getFairLock(name);
      expected.push(threadId);
      if (random.below(4) === 0) leaving.push({ threadId, stop });
      const pass = async (): Promise<void> => {
        await lock.lock(-1, undefined, { threadId, signal: stop.signal });
        const enteredAt = now();
        expect((inside += 1)).to.equal(1);
        await sleep(random.below(20));
        inside -= 1;
        await lock.unlock(threadId);
        stays.push({ threadId, enteredAt, releasedAt: now() });
      };
      ends.push(
        pass().catch((error: unknown) => {
          if (!stop.signal.aborted) throw error;
        }),
      );
    };
    for (let step = 0; step < 40; step++) {
      const who = random.below(6);
      if (who < 3) joinHere();
      else {
        const one = [dying, freezing, living][who - 3]!;
        const task = { kind: 'queue', name, reentrant: true, waiters: 1, insideMs: random.below(20) } as const;
        if (one === living) expected.push(1_000 + step);
        await one.do({ ...task, firstThread: 1_000 + step });
      }
      await queue.untilLength((length += 1));
    }
    for (const { threadId, stop } of leaving) {
      stop.abort(new Error('left'));
      expected.splice(expected.indexOf(threadId), 1);
    }
    await queue.untilLength(length - leaving.length);
    await dying.kill();
    freezing.freeze();
    const releasedAt = now();
    await holder.unlock(1);
    await within(2 * HANG_MS, 'all live waiters get in', Promise.all(ends));
    const elsewhere = expected.length - stays.length;
    await sleepUntil(async () => (await redis.llen(`${name}:stays`)) === elsewhere, { timeout: HANG_MS });
    for (const line of await redis.lrange(`${name}:stays`, 0, -1)) {
      const [threadId, entered, released] = line.split(' ').map(Number) as [number, number, number];
      stays.push({ threadId, enteredAt: entered / 1e6, releasedAt: released / 1e6 });
    }
    stays.sort((a, b) => a.enteredAt - b.enteredAt);
    expect(stays.map(({ threadId }) => threadId)).to.deep.equal(expected);
    const gaps = stays.map(({ enteredAt }, i) => enteredAt - (stays[i - 1]?.releasedAt ?? releasedAt));
    expect(Math.max(...gaps), 'longest time that a free lock was kept from a live waiter').to.be.below(BOUND_MS);
    await redis.del(...['', ':order', ':stays'].map((suffix) => name + suffix));
    await redis.del(
      `redisson_lock_queue:{${name}}`,
      `redisson_lock_timeout:{${name}}`,
      `redisson_lock_claim:{${name}}`,
    );
  });
});
