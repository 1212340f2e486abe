import type { ShutdownOptions } from '../api';
import { checkOptionNames, SHUTDOWN_OPTIONS } from '../config/optionNames';
import type { CommandExecutor } from '../connection/pending/CommandExecutor';
import { clampTimer, toMillis } from '../util/duration';
import type { OwnershipTable } from './OwnershipTable';

/** Time between two checks whether the last commands have ended, in ms. */
const LOOK_MS = 10;

/** What a drain needs of an executor. */
export type DrainedExecutor = Pick<CommandExecutor, 'busy' | 'laterTurn'>;

/**
 * The time that a client gives its holders when it shuts down. It is over as soon as no lock is held or being released,
 * and no command is under way, see `CommandExecutor.busy`; at the latest when the shortest of the requested limits has passed.
 *
 * States: waiting (once there is a limit) -> over.
 */
export class Drain {
  readonly #ownerships: OwnershipTable;
  readonly #executor: DrainedExecutor;
  /** Monotonic time at which it ends at the latest. */
  #endsAt = Infinity;
  #limit: NodeJS.Timeout | undefined;
  #look: NodeJS.Timeout | undefined;
  #checking = false;
  #over: Promise<void> | undefined;
  #end: () => void = () => undefined;

  /** @param executor - whether commands are under way */
  constructor(ownerships: OwnershipTable, executor: DrainedExecutor) {
    this.#ownerships = ownerships;
    this.#executor = executor;
  }

  /**
   * Ends the drain `limitMs` from now at the latest; an earlier limit stays.
   * @returns a promise that resolves when it is over
   */
  within(limitMs: number): Promise<void> {
    this.#over ??= this.#begin();
    const endsAt = performance.now() + limitMs;
    if (endsAt < this.#endsAt) {
      this.#endsAt = endsAt;
      clearTimeout(this.#limit);
      if (limitMs === 0) this.#end();
      else this.#limit = setTimeout(this.#end, clampTimer(limitMs));
    }
    return this.#over;
  }

  #begin(): Promise<void> {
    return new Promise((resolve) => {
      this.#end = () => {
        this.#endsAt = -Infinity;
        this.#ownerships.onReleased = undefined;
        clearTimeout(this.#limit);
        clearTimeout(this.#look);
        resolve();
      };
      // Checks once per turn of the event loop, not per release: thousands may be released in one turn.
      this.#ownerships.onReleased = () => {
        if (this.#checking) return;
        this.#checking = true;
        void this.#executor.laterTurn().then(this.#check);
      };
      this.#ownerships.onReleased();
    });
  }

  readonly #check = (): void => {
    this.#checking = false;
    if (this.#endsAt === -Infinity || this.#ownerships.busy) return;
    if (this.#executor.busy) this.#look = setTimeout(this.#check, LOOK_MS);
    else this.#end();
  };
}

/**
 * Reads the options of `shutdown`.
 * @returns ms; 0: no drain
 * @throws RangeError for an invalid time; ConfigError for an unknown option
 */
export function readDrain(options: ShutdownOptions | undefined): number {
  if (typeof options === 'object' && options !== null) checkOptionNames(options, SHUTDOWN_OPTIONS);
  const drain = toMillis(options?.drain ?? 0, undefined, 'drain');
  if (drain < 0) throw new RangeError(`drain must not be negative, got ${drain}`);
  return drain;
}
