import pDefer, { type DeferredPromise } from 'p-defer';
import type { CommandExecutor } from '../connection/pending/CommandExecutor';
import { Alarm } from '../util/Alarm';
import type { OwnershipTable } from './OwnershipTable';

/** Time between two checks whether the last commands have ended, in ms. */
const CHECK_MS = 10;

/**
 * The time that a client gives its holders when it shuts down. It is over as soon as no lock is held or being released,
 * and no command is under way, see `CommandExecutor.busy`; at the latest when the shortest of the requested limits has
 * passed.
 *
 * States: waiting (once there is a limit) -> over.
 */
export class Drain {
  readonly #ownerships: OwnershipTable;
  readonly #executor: Pick<CommandExecutor, 'busy' | 'laterTurn'>;
  readonly #alarm: Alarm = new Alarm(() => this.#check(this.#endsAt), {
    awaited: true,
    judges: () => this.#executor.busy,
  });
  /** Monotonic time at which it ends at the latest. */
  #endsAt = Infinity;
  #checking = false;
  #over: DeferredPromise<void> | undefined;

  /** @param executor - whether commands are under way */
  constructor(ownerships: OwnershipTable, executor: Pick<CommandExecutor, 'busy' | 'laterTurn'>) {
    this.#ownerships = ownerships;
    this.#executor = executor;
  }

  /**
   * Ends the drain `limitMs` from now at the latest; an earlier limit stays.
   * @returns a promise that resolves when it is over
   */
  within(limitMs: number): Promise<void> {
    if (this.#over === undefined) {
      this.#over = pDefer<void>();
      this.#ownerships.onReleased = this.#released;
      this.#released();
    }
    this.#endsAt = Math.min(this.#endsAt, performance.now() + limitMs);
    if (limitMs <= 0 || this.#endsAt === -Infinity) this.#check(this.#endsAt);
    else this.#alarm.setBy(this.#endsAt);
    return this.#over.promise;
  }

  /** Checks once per turn of the event loop, not per release: thousands may be released in one turn. */
  readonly #released = (): void => {
    if (this.#checking) return;
    this.#checking = true;
    void this.#executor.laterTurn().then(() => this.#check());
  };

  /** @param endsAt - when it is over whatever is under way, which the alarm alone may judge. @default never */
  #check(endsAt = Infinity): void {
    const now = performance.now();
    const held = this.#ownerships.busy;
    this.#checking = false;
    if (now < endsAt && (held || this.#executor.busy)) {
      const next = Math.min(this.#endsAt, held ? Infinity : now + CHECK_MS);
      return endsAt === Infinity ? this.#alarm.setBy(next) : this.#alarm.set(next);
    }
    this.#endsAt = -Infinity;
    this.#ownerships.onReleased = undefined;
    this.#alarm.off();
    this.#over?.resolve();
  }
}
