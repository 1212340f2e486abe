import type { LoginSource } from '../connection/link/loginSources';
import { packSettings, type PackedSettings } from '../connection/packSettings';
import type { RenewalFamily } from '../kinds/Kind';
import type { Settings } from '../config/Settings';
import type { Renewal } from '../watchdog/Ownership';
import type { OwnershipTable } from '../watchdog/OwnershipTable';
import type { ThreadStart } from '../watchdog/RenewalThread';
import type { Watchdog } from '../watchdog/Watchdog';
import { WatchdogThread } from './WatchdogThread';

/** What the name of the thread's connection ends with. */
const NAME_END = ':watchdog';

/** A thread that runs for less than this, in ms, counts as one that does not work. */
const MIN_RUN_MS = 60_000;
/** After so many in a row that did not work, ... */
const MAX_QUICK_ENDS = 2;
/** ... the next one is not started before this time has passed, in ms. */
const PAUSE_MS = 60_000;

/** What it needs of its client. */
interface Client {
  readonly watchdog: Watchdog;
  readonly ownerships: OwnershipTable;
  readonly renewals: Readonly<Record<RenewalFamily, Renewal>>;
  /** Where its logins come from, where passwords change. */
  readonly logins: LoginSource | undefined;
}

/**
 * Starts the watchdog thread of a client, with the first hold that needs it. After a failure the main thread renews the
 * locks, and the next hold that needs a thread starts another one. If that does not last either, there is one try in a
 * minute.
 *
 * States: none -> running -> none (it has failed).
 */
export class ThreadStarter implements ThreadStart {
  readonly maxStallMs: number;
  readonly #settings: Settings;
  readonly #clientId: string;
  readonly #clientName: string;
  #packed: PackedSettings | undefined;
  #running = false;
  #startedAt = 0;
  /** Monotonic time before which none is started. */
  #notBefore = -Infinity;
  /** How many in a row have ended at once. */
  #quickEnds = 0;
  #warned = false;
  /** Set once, when the client is made. */
  client: Client | undefined;

  /**
   * @param clientName - the name of the client's other connections
   * @throws ConfigError if the settings ask for a thread, and the connection cannot be given to one
   */
  constructor(settings: Settings, clientId: string, clientName: string) {
    this.#settings = settings;
    this.#clientId = clientId;
    this.#clientName = clientName;
    const { watchdogThread } = settings;
    this.maxStallMs = watchdogThread === false ? 0 : watchdogThread.maxStall;
    if (this.maxStallMs > 0) this.check();
  }

  /** @throws ConfigError if the connection cannot be given to a thread */
  check(): void {
    this.#packed ??= packSettings({ ...this.#settings, clientName: this.#clientName + NAME_END });
  }

  /** Starts the thread, unless it runs. */
  use(): void {
    if (this.#running || this.client === undefined || performance.now() < this.#notBefore) return;
    this.#running = true;
    this.#startedAt = performance.now();
    this.#warned = false;
    const { watchdog, ownerships, renewals, logins } = this.client;
    try {
      this.check();
      const thread = new WatchdogThread({
        clientId: this.#clientId,
        settings: this.#packed!,
        logins,
        watchdog,
        families: new Map((Object.keys(renewals) as RenewalFamily[]).map((family) => [renewals[family], family])),
        warn: (why, error) => this.#warn(why, error),
        failed: (why, error) => this.#failed(why, error),
      });
      watchdog.thread = thread;
      // Those of before, which an earlier thread renewed.
      for (const ownership of ownerships.all()) thread.changed(ownership);
    } catch (error) {
      this.#failed('it could not be started', error as Error);
    }
  }

  #failed(why: string, error: Error | undefined): void {
    const now = performance.now();
    this.#running = false;
    this.#quickEnds = now - this.#startedAt < MIN_RUN_MS ? this.#quickEnds + 1 : 1;
    if (this.#quickEnds >= MAX_QUICK_ENDS) this.#notBefore = now + PAUSE_MS;
    this.#warn(why, error);
  }

  #warn(why: string, err: Error | undefined): void {
    if (this.#warned) return;
    this.#warned = true;
    const { logger } = this.#settings;
    const text =
      `The watchdog thread is of no use: ${why}${err === undefined ? '' : ` (${err.message})`}. ` +
      'The main thread renews the locks: one that is blocked for longer than a lease loses them.';
    if (logger === undefined) process.emitWarning(text, { code: 'IOREDISSON_WATCHDOG_THREAD' });
    else {
      try {
        logger.warn({ clientId: this.#clientId, err }, text);
      } catch {
        // A logger that fails must not stop a lock.
      }
    }
  }
}
