import type { BackOff } from '../api/BackOff';
import { BackOffWait } from './BackOffWait';

/** The waits of a client that only timers end. They can be ended together. */
export class BackOffWaits {
  readonly #waits = new Set<BackOffWait>();

  /** The wait of one acquisition. */
  begin(backOff: BackOff): BackOffWait {
    return new BackOffWait(backOff.create(), this.#waits);
  }

  /** Each waiter attempts now. */
  wakeAll(): void {
    for (const wait of this.#waits) wait.wake();
  }

  /** Rejects the waits that there are, with such an error. */
  rejectAll(makeError: () => Error): void {
    for (const wait of this.#waits) wait.reject(makeError());
  }
}
