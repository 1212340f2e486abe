import type { ConnectionChange, ConnectionListener, ConnectionState } from '../api';
import { Listeners } from '../util/listeners';
import { runOutside } from '../util/outside';
import type { Executor } from './Executor';
import { driverError } from './link/driverError';
import type { ConnectionSettings } from './link/connectionOptions';
import type { Link, LinkEvents } from './link/Link';
import type { LoginSource } from './link/loginSources';
import type { CommandExecutor } from './pending/CommandExecutor';
import type { KeyTracking } from './pubsub/KeyTracking';
import type { KeyEventSource, Subscriber } from './pubsub/Subscriber';

/**
 * Reports the state of a client's command connection to its listeners.
 *
 * States: connecting -> ready <-> reconnecting (no connection, or one on which nothing is answered); closed.
 */
export class ConnectionMonitor {
  readonly #link: Link;
  readonly #listeners = new Listeners<ConnectionChange>('An onConnectionChange listener');
  #state: ConnectionState = 'connecting';
  /** Whether a server does not answer what was sent to it, though its connection is open. */
  #silent = false;
  /** Called when the servers refuse the connection. */
  onRefused: ((error: Error) => void) | undefined;

  /**
   * @param link - its events must be set already; they are passed on
   * @param executor - tells when servers become silent. @default they never do
   */
  constructor(link: Link, executor?: Executor) {
    this.#link = link;
    if (executor !== undefined) {
      executor.onSilence = (silent) => {
        this.#silent = silent;
        this.#look();
      };
    }
    const next = link.events as LinkEvents;
    link.events = {
      ...next,
      ready: () => {
        next.ready();
        this.#look();
      },
      lost: () => {
        next.lost();
        this.#look();
      },
      refused: (error) => {
        next.refused(error);
        this.onRefused?.(driverError(error));
      },
    };
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Why there is no connection, if that is known. */
  get lastError(): Error | undefined {
    const error = this.#link.refusal ?? this.#link.lastError;
    return error === undefined ? undefined : driverError(error);
  }

  /** @returns a function that removes the listener */
  onChange(listener: ConnectionListener): () => void {
    return this.#listeners.add(listener);
  }

  /** The client is shut down. */
  close(): void {
    this.#become('closed', undefined);
    this.#listeners.clear();
  }

  #look(): void {
    if (this.#link.ready && !this.#silent) this.#become('ready', undefined);
    else if (this.#state === 'ready') this.#become('reconnecting', this.#link.ready ? silence() : this.lastError);
  }

  #become(state: ConnectionState, cause: Error | undefined): void {
    if (state === this.#state || this.#state === 'closed') return;
    this.#state = state;
    const change: ConnectionChange = cause === undefined ? { state } : { state, cause };
    runOutside(() => this.#listeners.tell(change));
  }
}

function silence(): Error {
  return new Error(
    'Redis does not answer, though the connection is open: it is frozen or busy, or the network to it is cut',
  );
}

/** The settings of the connections to open. */
export interface ConnectSettings extends ConnectionSettings {
  /** Opens only the connection for commands, and none for subscriptions. @default false */
  readonly commandsOnly?: boolean;
  /** Tracks the keys that they read, with `trackHolds`. */
  readonly tracking?: KeyTracking | undefined;
}

/** The connections of one client: for commands, and for subscriptions. */
export interface Connections {
  readonly executor: CommandExecutor;
  readonly subscriber: Subscriber;
  readonly monitor: ConnectionMonitor;
  /** Where their logins come from, where passwords change; for the watchdog thread. */
  readonly logins?: LoginSource | undefined;
  /** Opens more connections, for the object listeners. */
  readonly keyEvents: KeyEventSource;
  /** Reports keys that have changed, with `trackHolds`. */
  readonly tracking?: KeyTracking | undefined;
}
