import type { Settings } from '../config/Settings';
import { packSettings, type PackedSettings } from '../connection/packSettings';
import { warn } from '../util/warn';
import type { ThreadStart } from '../watchdog/Watchdog';
import { type ThreadClient, WatchdogThread } from './WatchdogThread';

/** What the name of the thread's connection ends with. */
const NAME_END = ':watchdog';

/** A thread that runs for less than this, in ms, counts as one that does not work. */
const MIN_RUN_MS = 60_000;
/** After so many in a row that did not work, ... */
const MAX_QUICK_ENDS = 2;
/** ... the next one is not started before this time has passed, in ms. */
const PAUSE_MS = 60_000;

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
  readonly clientId: string;
  readonly #clientName: string;
  #packed: PackedSettings | undefined;
  #running = false;
  #startedAt = 0;
  /** Monotonic time before which no thread is started. */
  #notBefore = -Infinity;
  /** How many in a row have ended at once. */
  #quickEnds = 0;
  #warned = false;
  /** Set once, when the client is made. */
  client: ThreadClient | undefined;

  /**
   * @param clientName - the name of the client's other connections
   * @throws ConfigError if the settings ask for a thread, and the connection cannot be given to one
   */
  constructor(settings: Settings, clientId: string, clientName: string) {
    this.#settings = settings;
    this.clientId = clientId;
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
    const { client } = this;
    try {
      this.check();
      const thread = new WatchdogThread(this, client, this.#packed!);
      client.watchdog.thread = thread;
      // Those of before, which an earlier thread renewed.
      for (const ownership of client.ownerships.all()) thread.changed(ownership);
    } catch (error) {
      this.failed('it could not be started', error as Error);
    }
  }

  /** The thread has ended by itself. */
  failed(why: string, error: Error | undefined): void {
    const now = performance.now();
    this.#running = false;
    this.#quickEnds = now - this.#startedAt < MIN_RUN_MS ? this.#quickEnds + 1 : 1;
    if (this.#quickEnds >= MAX_QUICK_ENDS) this.#notBefore = now + PAUSE_MS;
    this.warn(why, error);
  }

  /** Warns the user that the thread does not work, and why. */
  warn(why: string, err: Error | undefined): void {
    if (this.#warned) return;
    this.#warned = true;
    const text =
      `The watchdog thread does not work: ${why}${err === undefined ? '' : ` (${err.message})`}. ` +
      'The main thread renews the locks instead, and loses them if it is blocked for longer than a lease.';
    warn(this.#settings.logger, 'IOREDISSON_WATCHDOG_THREAD', { clientId: this.clientId, err }, text);
  }
}
