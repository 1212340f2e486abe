import { packSettings, type PackedSettings } from '../connection/packSettings';
import type { Settings } from '../config/Settings';
import type { Renewal } from '../watchdog/Ownership';
import type { OwnershipTable } from '../watchdog/OwnershipTable';
import type { ThreadStart } from '../watchdog/RenewalThread';
import type { Watchdog } from '../watchdog/Watchdog';
import type { Family } from './messages';
import { WatchdogThread } from './WatchdogThread';

/** What the name of the thread's connection ends with. */
const NAME_END = ':watchdog';

/** What it needs of its client. */
interface Client {
  readonly watchdog: Watchdog;
  readonly ownerships: OwnershipTable;
  readonly renewals: Readonly<Record<Family, Renewal>>;
}

/**
 * Starts the watchdog thread of a client, with the first hold that needs it. After a failure the main thread renews the
 * locks, and no other thread is started.
 */
export class ThreadStarter implements ThreadStart {
  readonly maxStallMs: number;
  readonly #settings: Settings;
  readonly #clientId: string;
  readonly #clientName: string;
  #packed: PackedSettings | undefined;
  #started = false;
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

  /** Starts the thread, once. */
  use(): void {
    if (this.#started || this.client === undefined) return;
    this.#started = true;
    const { watchdog, ownerships, renewals } = this.client;
    try {
      this.check();
      watchdog.thread = new WatchdogThread({
        clientId: this.#clientId,
        settings: this.#packed!,
        watchdog,
        ownerships,
        families: new Map((Object.keys(renewals) as Family[]).map((family) => [renewals[family], family])),
        warn: (why, error) => this.#warn(why, error),
      });
    } catch (error) {
      this.#warn('it could not be started', error as Error);
    }
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
