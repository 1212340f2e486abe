import type { Loop, SimProcess } from '../engine/Loop';
import type { ScriptCall, Served } from '../server/SimServer';
import type { App } from './App';
import type { Oracle } from './Oracle';

/** So long after the last fault a client has given back whatever no call of it owns any more, in ms. */
const CALM_MS = 8_000;
/** A permit that runs late has nobody for so long at most, in ms (docs/reliability.md: it is looked for every 5 s). */
const OWNERLESS_MS = 6_500;

/** A permit that a script has given. */
interface Given {
  /** Whose script it was. */
  readonly process: SimProcess | undefined;
  /** How many calls have it: a task from its acquisition to the end of its release. */
  owners: number;
  /** Since when nobody has it, in ms of the world. */
  ownerlessSince: number;
}

/**
 * Looks for permits with ids that nobody has: such a permit was taken by a command that no call owns any more, and if
 * it has no lease, it is lost for ever. In Redis it has only an id, so whose command took it is seen in the server.
 */
export class PermitOracle {
  /** By server and name of the semaphore, then by id (as text of bytes). */
  readonly #given = new Map<string, Map<string, Given>>();
  readonly #loop: Loop;
  readonly #oracle: Oracle;

  constructor(loop: Loop, oracle: Oracle) {
    this.#loop = loop;
    this.#oracle = oracle;
  }

  /** A script is about to run. @returns what is told its reply; `undefined`: it does not concern permits with ids */
  observe(server: Served, { script, keys, process }: ScriptCall): (() => void) | undefined {
    const [name = ''] = keys;
    if (!script.startsWith('permitExpirableSemaphore.')) return undefined;
    const all = this.#of(`${server.name}/${name}`);
    return () => {
      const there = idsOf(server, name);
      for (const id of all.keys()) if (!there.has(id) && all.get(id)!.owners === 0) all.delete(id);
      for (const id of there.keys()) {
        if (!all.has(id)) all.set(id, { process, owners: 0, ownerlessSince: this.#loop.now });
      }
    };
  }

  /** A task has permits. @returns what says that their release has settled */
  own(key: string, ids: readonly string[]): () => void {
    const all = this.#of(key);
    const owned = ids.map((id) => {
      const raw = Buffer.from(id, 'hex').toString('latin1');
      const one = all.get(raw) ?? { process: undefined, owners: 0, ownerlessSince: 0 };
      all.set(raw, one);
      one.owners++;
      return one;
    });
    return () => {
      for (const one of owned) {
        one.owners--;
        one.ownerlessSince = this.#loop.now;
      }
    };
  }

  /**
   * Looks for them.
   * @param calmMs - for how long nothing has been wrong, in ms
   */
  look(servers: readonly Served[], apps: readonly App[], calmMs: number): void {
    if (calmMs < CALM_MS) return;
    for (const [key, all] of this.#given) {
      const server = servers.find(({ name }) => key.startsWith(`${name}/`))!;
      const name = key.slice(server.name.length + 1);
      for (const [id, expiry] of idsOf(server, name)) {
        const one = all.get(id);
        if (one === undefined || one.owners > 0 || expiry <= server.clock) continue;
        // Nobody gives back what a process had that is gone, or is going.
        const app = apps.find(({ process }) => process === one.process);
        if (app === undefined || !app.running || app.leaving) continue;
        const ms = this.#loop.now - one.ownerlessSince;
        if (ms < OWNERLESS_MS || app.unusedFor(key) < OWNERLESS_MS) continue;
        const text = Buffer.from(id, 'latin1').toString('hex').slice(0, 8);
        this.#oracle.violate(
          `${app.process.id} has left permit ${text} of ${key}, which nobody has for ${ms.toFixed()} ms`,
        );
        one.owners++;
      }
    }
  }

  #of(key: string): Map<string, Given> {
    let all = this.#given.get(key);
    if (all === undefined) this.#given.set(key, (all = new Map<string, Given>()));
    return all;
  }
}

function idsOf({ store }: Served, name: string): ReadonlyMap<string, number> {
  return store.sortedSet(`{${name}}:timeout`)?.scores ?? new Map<string, number>();
}
