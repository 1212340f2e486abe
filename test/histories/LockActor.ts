import type { LockHold, Redisson, RLock } from '../../lib';
import { ENOUGH } from '../faults/expected';
import { type Prize, prizes } from '../faults/prizes';
import type { Random } from '../faults/Random';
import { sleep, turn } from '../../tools/realTimers';
import { historyNow } from './history';
import type { Recorder } from './Recorder';

/** How long names live, in ms: then all processes go on with others, and what was left behind hinders nobody. */
const ROUND_MS = 15_000;
/** Far more than a visit takes, so that what is left behind is in somebody's way. */
const LONG_LEASE_MS = 3_000;
/** Redis and the clients count in ms, and a client leaves a margin of 2 ms and a thousandth. */
const MARGIN_MS = 4;
/** A thread id of a caller, which nobody takes anything with. */
const STRANGER = 4_000_000_000;
const DEEPEST = 3;
/** Multi-locks do not say how often they are held. */
const UNCOUNTED = /multi-lock|red-lock|group-lock/;

/** What an actor needs. */
export interface Stage {
  readonly client: Redisson;
  readonly recorder: Recorder;
  readonly random: Random;
  /** `lockWatchdogTimeout` of the client, in ms. */
  readonly watchdogMs: number;
}

/** There is so much of everything at a time, that many actors do not all wait for the same. */
const LANES = 4;

/** For so long, in ms, a part of all actors want one of two locks with the same channel: then many wait for them. */
const HOT_MS = 500;
const HOT_PERCENT = 40;

let threads = 0;
let round = -1;
let current: readonly Prize[] = [];

/** What the names of now begin with, one of them; the same in all processes. */
export function roundPrefix(lane: number): string {
  return `r${Math.floor(monotonicSinceBoot() / ROUND_MS)}n${lane % LANES}`;
}

/** Until when a lease can be relied on that was asked for at some time, in µs: it began then at the earliest. */
export function reliable(askedAt: number, leaseMs: number): number {
  return askedAt + Math.floor((leaseMs * 0.999 - MARGIN_MS) * 1_000);
}

function monotonicSinceBoot(): number {
  return historyNow() / 1_000;
}

function locks(): readonly Prize[] {
  const now = Math.floor(monotonicSinceBoot() / ROUND_MS);
  if (now !== round) {
    round = now;
    current = Array.from({ length: LANES }, (_, lane) => prizes(roundPrefix(lane))).flat();
  }
  return current;
}

/** The one that all processes compete for now, or its twin, which stands beside it. */
function hot(random: Random): Prize {
  const all = locks();
  const pairs = all.length / 2;
  // Far from one another, so that every kind has its turn in a round or two.
  const pair = (Math.floor(monotonicSinceBoot() / HOT_MS) * 17) % pairs;
  return all[2 * pair + random.below(2)]!;
}

/** Takes one lock, in one of the ways there are, does something inside, and gives it back. */
export class LockActor {
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Once. */
  async act(): Promise<void> {
    const { random, client } = this.#stage;
    const prize = random.chance(HOT_PERCENT) ? hot(random) : random.of(locks());
    const way = random.below(100);
    if (way < 50) await this.#byHold(prize);
    else if (way < 75) await client.runInThread(() => this.#javaStyle(prize, undefined, 1));
    else if (way < 90) await this.#section(prize, undefined, 1);
    else if (way < 96) await this.#branches(prize);
    else await this.#asStranger(prize);
  }

  /** `acquire` or `tryAcquireHold`, with a thread of its own. */
  async #byHold(prize: Prize): Promise<void> {
    const { random } = this.#stage;
    const threadId = ++threads;
    const taken = await this.#takeHold(prize, prize.of(this.#stage.client), threadId, undefined);
    if (taken === undefined) return;
    const { hold, op } = taken;
    await this.#stay();
    this.#stage.recorder.look(op, hold);
    let inner: { hold: LockHold; op: number } | undefined;
    if (random.chance(15)) {
      const again = this.#innerOf(prize);
      // A non-reentrant lock does not let its own thread in: that is no re-entry.
      const within = prize.reentrant ? op : undefined;
      inner = await this.#takeHold({ ...prize, shared: again.shared }, again.lock, threadId, within, 100);
      await this.#stay();
    } else if (random.chance(15) && prize.twin !== prize.name) {
      const twin = { ...prize, name: prize.twin };
      const both = await this.#takeHold(twin, prize.of(this.#stage.client, prize.twin), threadId, undefined, 50);
      await this.#stay();
      if (both !== undefined) await this.#release(twin, both.op, both.hold);
    } else if (random.chance(10)) await this.#isHeld(prize, op, threadId);
    if (inner !== undefined && random.chance(70)) {
      await this.#release(prize, inner.op, inner.hold);
      inner = undefined;
    }
    const released = await this.#release(prize, op, hold);
    // Given back in the other order; of a writer that reads, the reader stays.
    if (inner !== undefined) {
      await this.#stay();
      await this.#release(prize, inner.op, inner.hold);
    } else if (released && random.chance(10)) await this.#isHeld(prize, op, threadId);
  }

  /** `lock`, `tryLock`, `unlock` and `getHoldCount` of a thread, nested. */
  async #javaStyle(prize: Prize, within: number | undefined, depth: number): Promise<void> {
    const { client, recorder, random } = this.#stage;
    const lock = prize.of(client);
    const leaseTime = this.#lease();
    const waitTime = random.chance(20) ? 0 : random.between(1, 700);
    const op = this.#invokeTake(prize, leaseTime, prize.reentrant ? within : undefined);
    const askedAt = historyNow();
    const asked = leaseTime === -1 ? this.#stage.watchdogMs : leaseTime;
    try {
      if (random.chance(20) && within === undefined) await lock.lock(leaseTime);
      else if (!(await lock.tryLock(waitTime, leaseTime))) return recorder.end(op, 'fail');
      recorder.end(op, 'ok', { until: reliable(askedAt, asked) });
    } catch (error) {
      return recorder.failed(op, error);
    }
    await this.#stay();
    if (prize.reentrant && depth < DEEPEST && random.chance(20)) await this.#javaStyle(prize, op, depth + 1);
    if (!UNCOUNTED.test(prize.name) && random.chance(20)) await this.#count(prize, lock, op);
    const released = await this.#unlock(prize, lock, op);
    if (within !== undefined || !released) return;
    if (random.chance(10)) await this.#unlock(prize, lock, undefined);
    else if (random.chance(10) && !UNCOUNTED.test(prize.name)) await this.#count(prize, lock, op);
  }

  /** `withLock`, nested. */
  async #section(prize: Prize, within: number | undefined, depth: number, waitMs = 700): Promise<void> {
    const { client, recorder, random } = this.#stage;
    const lock = prize.of(client);
    const leaseTime = this.#lease();
    const op = this.#invokeTake(prize, leaseTime, within);
    let release: number | undefined;
    try {
      await lock.withLock(
        async (hold) => {
          recorder.got(op, hold);
          await this.#stay();
          if (prize.reentrant && depth < DEEPEST && random.chance(25)) {
            if (random.chance(50)) await this.#section(prize, op, depth + 1);
            else await Promise.all([1, 2].map(() => this.#section(prize, op, DEEPEST)));
          }
          if (!UNCOUNTED.test(prize.name) && random.chance(15)) await this.#count(prize, lock, op);
          recorder.look(op, hold);
          release = recorder.invoke({ call: 'release', kind: kindOf(prize), name: prize.name, of: op });
        },
        { leaseTime, waitTime: random.between(50, waitMs) },
      );
      if (release !== undefined) recorder.end(release, 'ok');
    } catch (error) {
      recorder.failed(release ?? op, error);
    }
  }

  /** `withLock` side by side in one thread: each is inside alone. */
  async #branches(prize: Prize): Promise<void> {
    const { client, random } = this.#stage;
    const count = random.between(2, 3);
    await client.runInThread(() =>
      Promise.all(Array.from({ length: count }, () => this.#section(prize, undefined, DEEPEST))),
    );
  }

  /** `unlock` by a thread that has nothing. */
  async #asStranger(prize: Prize): Promise<void> {
    const { client, recorder } = this.#stage;
    const op = recorder.invoke({ call: 'release', kind: kindOf(prize), name: prize.name });
    try {
      await prize.of(client).unlock({ threadId: STRANGER });
      recorder.end(op, 'ok');
    } catch (error) {
      recorder.failed(op, error);
    }
  }

  async #takeHold(
    prize: Prize,
    lock: RLock,
    threadId: number,
    within: number | undefined,
    mostMs = 700,
  ): Promise<{ hold: LockHold; op: number } | undefined> {
    const { recorder, random } = this.#stage;
    const leaseTime = this.#lease();
    const op = this.#invokeTake(prize, leaseTime, within);
    const ms = random.between(1, mostMs);
    const way = random.below(mostMs < 700 ? 3 : 4);
    const controller = new AbortController();
    const timer = way === 2 ? setTimeout(() => controller.abort(ENOUGH), ms) : undefined;
    try {
      const options = { leaseTime, threadId };
      const hold = await (way === 3
        ? lock.acquire(options)
        : way === 2
          ? lock.acquire({ ...options, signal: controller.signal })
          : lock.tryAcquireHold(way === 1 ? { ...options, waitTime: ms } : options));
      if (hold === null) return void recorder.end(op, 'fail');
      recorder.got(op, hold);
      return { hold, op };
    } catch (error) {
      if (error === ENOUGH) recorder.end(op, 'fail');
      else recorder.failed(op, error);
    } finally {
      clearTimeout(timer);
    }
    return undefined;
  }

  async #release(prize: Prize, of: number, hold: LockHold): Promise<boolean> {
    const { recorder } = this.#stage;
    recorder.look(of, hold);
    const op = recorder.invoke({ call: 'release', kind: kindOf(prize), name: prize.name, of });
    try {
      await hold.unlock();
      recorder.end(op, 'ok');
      return true;
    } catch (error) {
      recorder.failed(op, error);
      return false;
    }
  }

  /** @param of - what is given back; nothing: the thread has nothing left */
  async #unlock(prize: Prize, lock: RLock, of: number | undefined): Promise<boolean> {
    const { recorder } = this.#stage;
    const details = of === undefined ? {} : { of };
    const op = recorder.invoke({ call: 'release', kind: kindOf(prize), name: prize.name, ...details });
    try {
      await lock.unlock();
      recorder.end(op, 'ok');
      return true;
    } catch (error) {
      recorder.failed(op, error);
      return false;
    }
  }

  async #count(prize: Prize, lock: RLock, within: number): Promise<void> {
    const { recorder } = this.#stage;
    const op = recorder.invoke({ call: 'count', kind: kindOf(prize), name: prize.name, within });
    try {
      recorder.end(op, 'ok', { value: await lock.getHoldCount() });
    } catch (error) {
      recorder.failed(op, error);
    }
  }

  async #isHeld(prize: Prize, within: number, threadId: number): Promise<void> {
    const { recorder, client } = this.#stage;
    if (UNCOUNTED.test(prize.name)) return;
    const op = recorder.invoke({ call: 'count', kind: kindOf(prize), name: prize.name, within });
    try {
      recorder.end(op, 'ok', { value: Number(await prize.of(client).isHeldByThread(threadId)), some: true });
    } catch (error) {
      recorder.failed(op, error);
    }
  }

  /** A writer may read as well. */
  #innerOf(prize: Prize): { readonly lock: RLock; readonly shared: boolean } {
    const { client, random } = this.#stage;
    if (!isReadWrite(prize) || prize.shared || random.chance(50))
      return { lock: prize.of(client), shared: prize.shared };
    return { lock: client.getReadWriteLock(prize.name).readLock(), shared: true };
  }

  #invokeTake(prize: Prize, leaseTime: number, within: number | undefined): number {
    return this.#stage.recorder.invoke({
      call: 'take',
      kind: kindOf(prize),
      name: prize.name,
      lease: leaseTime === -1 ? this.#stage.watchdogMs : leaseTime,
      ...(leaseTime === -1 ? { renewed: true } : {}),
      ...(prize.shared ? { shared: true } : {}),
      ...(within === undefined ? {} : { within }),
    });
  }

  #lease(): number {
    const { random } = this.#stage;
    return random.of([-1, -1, LONG_LEASE_MS, LONG_LEASE_MS, random.between(150, 900)]);
  }

  /** Most visits are short; some are longer than a lease. */
  async #stay(): Promise<void> {
    const { random } = this.#stage;
    const way = random.below(1_000);
    if (way < 4) await sleep(random.between(200, 1_200));
    else if (way < 150) await sleep(random.between(1, 4));
    else await turn();
  }
}

function isReadWrite({ name }: Prize): boolean {
  return /:rw\b/.test(name);
}

/** `r7:fair-lock` and `{r7:fair-lock}` are of one kind. */
function kindOf({ name, shared }: Prize): string {
  const kind = name.replace(/^\{?\w+:|\}$/g, '');
  return kind === 'rw' ? (shared ? 'read lock' : 'write lock') : kind;
}
