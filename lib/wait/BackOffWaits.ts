import type { BackOff } from '../api/BackOff';
import { BackOffWait } from './BackOffWait';

/** The waits of a client that only timers end. They can be ended together. */
export class BackOffWaits {
  readonly #shutdownError: () => Error;
  #makeError: () => Error;
  #ending = new AbortController();

  /** @param shutdownError - makes what waits get that begin after the client was shut down */
  constructor(shutdownError: () => Error) {
    this.#shutdownError = this.#makeError = shutdownError;
  }

  /** The wait of one acquisition. */
  begin(backOff: BackOff): BackOffWait {
    return new BackOffWait(backOff.create(), this.#ending.signal, () => this.#makeError());
  }

  /** Rejects all waits, those too that begin later: the client is shut down. */
  close(): void {
    this.#ending.abort();
  }

  /** Rejects the waits that there are, with such an error. */
  interrupt(makeError: () => Error): void {
    const ending = this.#ending;
    this.#ending = new AbortController();
    this.#makeError = makeError;
    ending.abort();
    this.#makeError = this.#shutdownError;
  }
}
