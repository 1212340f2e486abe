// Ids in titles: test/README.md
import { expect } from 'chai';
import type { RLock } from '../../lib';
import { uniqueName } from '../support';
import { titled, type LockUnderTest } from './lockContract';
import { useStage, type LockStage } from './LockStage';
import { sleep, turn } from './world';

/** A counter that is read, thought about, and written back; it loses counts when two are inside at once. */
class Section {
  readonly #stage: LockStage;
  readonly #key = uniqueName('counter');
  #inside = 0;
  #writing = false;
  /** How often somebody was inside together with one who excludes all others. */
  violations = 0;

  constructor(stage: LockStage) {
    this.#stage = stage;
  }

  /** @param exclusive - whether it may be alone; who may not only looks */
  async run(exclusive: boolean, ms = 0): Promise<void> {
    const { redis } = this.#stage;
    if (this.#writing || (exclusive && this.#inside > 0)) this.violations += 1;
    this.#inside += 1;
    this.#writing = exclusive;
    const count = Number(await redis.get(this.#key));
    await (ms === 0 ? turn() : sleep(ms));
    if (exclusive) await redis.set(this.#key, count + 1);
    this.#inside -= 1;
    this.#writing = false;
  }

  /** The count, and the end of the counter. */
  async end(): Promise<number> {
    return Number(await this.#stage.redis.getdel(this.#key));
  }
}

/** Many owners, of one client and of many: never two inside, nobody is forgotten. */
export function lockConcurrency(kind: LockUnderTest): void {
  const stage = useStage(kind);

  function contender(client = stage().client, i = 0): { readonly lock: RLock; readonly exclusive: boolean } {
    return (
      kind.contender?.(client, stage().name, i) ?? {
        lock: stage().lock(client),
        exclusive: kind.traits.shared !== true,
      }
    );
  }

  /** How many of so many contenders write. */
  function writers(count: number): number {
    return Array.from({ length: count }, (_, i) => contender(undefined, i)).filter(({ exclusive }) => exclusive).length;
  }

  describe('concurrency', () => {
    it(titled(kind, 'B-CONC-1', '15 owners of one client are never two inside'), async () => {
      const section = new Section(stage());
      await Promise.all(
        Array.from({ length: 15 }, async (_, i) => {
          const { lock, exclusive } = contender(undefined, i);
          await lock.lock(-1, undefined, i);
          await section.run(exclusive);
          await lock.unlock(i);
        }),
      );
      expect(section.violations).to.equal(0);
      expect(await section.end()).to.equal(writers(15));
    });

    it(
      titled(kind, 'B-CONC-LOOP', '16 clients in a loop are never two inside; another handle unlocks'),
      async function () {
        this.timeout(30_000);
        const loops = 10;
        const section = new Section(stage());
        await Promise.all(
          Array.from({ length: 16 }, async (_, i) => {
            const client = stage().newClient();
            for (let loop = 0; loop < loops; loop++) {
              const { lock, exclusive } = contender(client, i);
              await lock.lock(-1, undefined, i);
              await section.run(exclusive, 1);
              await contender(client, i).lock.unlock(i);
            }
          }),
        );
        expect(section.violations).to.equal(0);
        expect(await section.end()).to.equal(writers(16) * loops);
      },
    );

    it(titled(kind, 'B-CONC-N', '100 clients, each once, are never two inside'), async function () {
      // A hundred hand-overs, one after the other: each is four switches between two processes that wait for a
      // processor.
      this.timeout(90_000);
      const section = new Section(stage());
      const clients = Array.from({ length: 100 }, () => stage().newClient());
      await Promise.all(
        clients.map(async (client, i) => {
          const { lock, exclusive } = contender(client, i);
          await lock.lock(-1, undefined, 1);
          await section.run(exclusive);
          await lock.unlock(1);
        }),
      );
      expect(section.violations).to.equal(0);
      expect(await section.end()).to.equal(writers(100));
      await Promise.all(clients.map((client) => client.shutdown()));
    });

    it(
      titled(kind, 'B-SUBS', '500 tasks of 32 owners on 5 names all end, and nobody listens afterwards'),
      async function () {
        this.timeout(30_000);
        const names = Array.from({ length: 5 }, (_, i) => `${stage().name}-${i}`);
        const client = stage().newClient({ lockWatchdogTimeout: 30_000 });
        let left = 500;
        await Promise.all(
          Array.from({ length: 32 }, async (_, owner) => {
            while (left-- > 0) {
              const name = names[Math.floor(Math.random() * names.length)]!;
              const lock = kind.make(client, name);
              await lock.lock(-1, undefined, owner);
              await sleep(Math.random() * 4);
              await lock.unlock(owner);
            }
          }),
        );
      },
    );

    it(titled(kind, 'B-ONESUB', 'four owners on two names all get in within their short wait'), async () => {
      for (let round = 0; round < 2; round++) {
        const results = await Promise.all(
          [0, 1, 2, 3].map(async (owner) => {
            const lock = kind.make(stage().client, `${stage().name}-${round}-${owner % 2}`);
            // Shorter than the lease of a hold: a wake-up that is missed is found out.
            const taken = await lock.tryLock(5_000, -1, undefined, owner);
            if (taken) await lock.unlock(owner);
            return taken;
          }),
        );
        expect(results).to.deep.equal([true, true, true, true]);
      }
    });
  });
}
