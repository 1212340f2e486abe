import type { Inspector } from '../inspection';
import type { LossView } from './wire';

/** How long after Redis has come back a missing lock counts as lost by the restart, in ms: time for two scans. */
const SETTLE_MS = 3_000;
/** How many names are reported. */
const MAX_NAMES = 5;

/**
 * Detects what a restart or a failover has lost: held locks are gone, and the servers are not the same as before.
 * Locks that were released while only the network was down are no loss.
 *
 * States: here -> away -> back -> here, after the time that scans need to see what is gone.
 */
export class Restarts {
  readonly #servers: Pick<Inspector, 'serverRuns'>;
  readonly #onLoss: (lost: LossView) => void;
  readonly #gone = new Set<string>();
  #known = '';
  #isAway = false;
  #isOther = false;
  #cameBackAt: number | undefined;

  /** @param onLoss - called each time more locks are found missing */
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
      // If the server may not be asked, locks that are gone right after an outage are proof enough.
      this.#isOther = runs === '' || runs !== this.#known;
      this.#known = runs;
      this.#tell();
    });
  }

  /** A lock that was held is gone, or has another holder. */
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
