import { sleep, turn } from '../../tools/realTimers';
import { historyNow } from './history';
import { reliable, roundPrefix, type Stage } from './LockActor';

const PERMITS = 4;
const LATCH = 3;
/** How many of each there are at a time, at most. */
const LANES = 4;
const LEASES_MS = [200, 600, 2_000];

/** Semaphores, permits with ids and latches. */
export class SynchronizerActor {
  readonly #stage: Stage;
  /** What this client has tried to set up. */
  readonly #known = new Set<string>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Once. */
  async act(): Promise<void> {
    const { random } = this.#stage;
    const way = random.below(100);
    const prefix = roundPrefix(random.below(LANES));
    if (way < 40) await this.#semaphore(`${prefix}:semaphore`);
    else if (way < 80) await this.#permits(`${prefix}:permits`);
    else await this.#latch(`${prefix}:latch`);
  }

  /** Permits of nobody: those of a client that dies are gone. The next round has others. */
  async #semaphore(name: string): Promise<void> {
    const { client, recorder, random } = this.#stage;
    const kind = 'semaphore';
    const semaphore = client.getSemaphore(name);
    await this.#once(kind, name, PERMITS, () => semaphore.trySetPermits(PERMITS));
    if (random.chance(15)) return this.#available(kind, name, () => semaphore.availablePermits());
    const permits = random.between(1, 2);
    const op = recorder.invoke({ call: 'take', kind, name, permits, total: PERMITS });
    try {
      const got = random.chance(30)
        ? await semaphore.tryAcquire(permits)
        : await semaphore.tryAcquire(permits, random.between(1, 300));
      recorder.end(op, got ? 'ok' : 'fail');
      if (!got) return;
    } catch (error) {
      return recorder.failed(op, error);
    }
    await this.#stay();
    await this.#release(kind, name, { of: op }, async () => {
      await semaphore.release(permits);
      return true;
    });
  }

  async #permits(name: string): Promise<void> {
    const { client, recorder, random } = this.#stage;
    const kind = 'expirable permits';
    const semaphore = client.getPermitExpirableSemaphore(name);
    await this.#once(kind, name, PERMITS, () => semaphore.trySetPermits(PERMITS));
    if (random.chance(15)) return this.#available(kind, name, () => semaphore.availablePermits());
    const permits = random.between(1, 2);
    const lease = random.of(LEASES_MS);
    const op = recorder.invoke({ call: 'take', kind, name, permits, lease, total: PERMITS });
    const askedAt = historyNow();
    let ids: readonly string[];
    try {
      ids = await semaphore.tryAcquireMany(permits, random.chance(30) ? 0 : random.between(1, 300), lease);
      if (ids.length === 0) return recorder.end(op, 'fail');
      recorder.end(op, 'ok', { ids, until: reliable(askedAt, lease) });
    } catch (error) {
      return recorder.failed(op, error);
    }
    await this.#stay();
    const all = async (): Promise<boolean> => (await semaphore.tryReleaseMany(ids)) === ids.length;
    const released = await this.#release(kind, name, { of: op }, all);
    // What is given back is nobody's: once more changes nothing.
    if (released && random.chance(10)) await this.#release(kind, name, { permits }, all);
  }

  async #latch(name: string): Promise<void> {
    const { client, recorder, random } = this.#stage;
    const kind = 'latch';
    const latch = client.getCountDownLatch(name);
    await this.#once(kind, name, LATCH, () => latch.trySetCount(LATCH));
    const downs = random.chance(30);
    const op = recorder.invoke({ call: downs ? 'down' : 'await', kind, name, total: LATCH });
    try {
      if (downs) {
        await latch.countDown();
        recorder.end(op, 'ok');
      } else recorder.end(op, (await latch.await(random.between(1, 200))) ? 'ok' : 'fail');
    } catch (error) {
      recorder.failed(op, error);
    }
  }

  /** Each client tries once for each name. */
  async #once(kind: string, name: string, total: number, set: () => Promise<boolean>): Promise<void> {
    if (this.#known.has(name)) return;
    this.#known.add(name);
    const { recorder } = this.#stage;
    const op = recorder.invoke({ call: 'set', kind, name, total });
    try {
      recorder.end(op, (await set()) ? 'ok' : 'fail');
    } catch (error) {
      recorder.failed(op, error);
    }
  }

  async #available(kind: string, name: string, ask: () => Promise<number>): Promise<void> {
    const { recorder } = this.#stage;
    const op = recorder.invoke({ call: 'available', kind, name, total: PERMITS });
    try {
      recorder.end(op, 'ok', { value: await ask() });
    } catch (error) {
      recorder.failed(op, error);
    }
  }

  async #release(
    kind: string,
    name: string,
    what: { readonly of: number } | { readonly permits: number },
    give: () => Promise<boolean>,
  ): Promise<boolean> {
    const { recorder } = this.#stage;
    const op = recorder.invoke({ call: 'release', kind, name, ...what });
    try {
      const given = await give();
      recorder.end(op, given ? 'ok' : 'fail', given ? {} : { why: 'notOwner' });
      return given;
    } catch (error) {
      recorder.failed(op, error);
      return false;
    }
  }

  async #stay(): Promise<void> {
    const { random } = this.#stage;
    if (random.chance(2)) await sleep(random.between(200, 700));
    else if (random.chance(20)) await sleep(random.between(1, 4));
    else await turn();
  }
}
