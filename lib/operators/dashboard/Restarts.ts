import type { Inspector } from '../inspection';
import type { LossView } from './wire';

/** How long after Redis has come back a lock that is found gone was lost by that, in ms: two looks. */
const SETTLE_MS = 3_000;
/** Names that are told. */
const MAX_NAMES = 5;

/**
 * Finds out what a restart or a failover has lost: other servers than before, and locks that were held are gone. Locks
 * that were given back while only the way to Redis was cut are no loss.
 *
 * States: here -> away -> back, for as long as a look takes to see what is gone -> here.
 */
export class Restarts {
  readonly #servers: Pick<Inspector, 'serverRuns'>;
  readonly #onLoss: (lost: LossView) => void;
  readonly #gone = new Set<string>();
  #known = '';
  #isAway = false;
  #isOther = false;
  #cameBackAt: number | undefined;

  /** @param onLoss - called each time when more is found gone */
  constructor(servers: Pick<Inspector, 'serverRuns'>, onLoss: (lost: LossView) => void) {
    this.#servers = servers;
    this.#onLoss = onLoss;
    void this.#ask().then((runs) => (this.#known = runs));
  }

  /** Redis cannot be reached. */
  away(): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#isOther = false;
    this.#cameBackAt = undefined;
    this.#gone.clear();
  }

  /** Redis can be reached again. */
  back(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#cameBackAt = Date.now();
    void this.#ask().then((runs) => {
      // Where it may not be asked, locks that are gone right after an outage have to do.
      this.#isOther = runs === '' || runs !== this.#known;
      this.#known = runs;
      this.#tell();
    });
  }

  /** A lock that was held is gone, or is another's. */
  gone(name: string): void {
    const at = this.#cameBackAt;
    if (!this.#isAway && (at === undefined || Date.now() - at > SETTLE_MS)) return;
    this.#gone.add(name);
    this.#tell();
  }

  #tell(): void {
    const at = this.#cameBackAt;
    if (at === undefined || !this.#isOther || this.#gone.size === 0) return;
    this.#onLoss({ at, locks: this.#gone.size, names: [...this.#gone].slice(0, MAX_NAMES) });
  }

  #ask(): Promise<string> {
    return this.#servers.serverRuns().catch(() => '');
  }
}
