import type { BackOff } from '../api/BackOff';
import { BackOffWait } from './BackOffWait';

/** The waits of a client that only timers end. They can be ended together. */
export class BackOffWaits<H extends { readonly rawName: string } = { readonly rawName: string }> {
  readonly #waits = new Map<BackOffWait, { readonly heir: H; readonly joinedAt: number }>();

  /** The wait of one acquisition. */
  begin(backOff: BackOff, heir: H): BackOffWait {
    const wait: BackOffWait = new BackOffWait(backOff.create(), () => this.#waits.delete(wait));
    this.#waits.set(wait, { heir, joinedAt: performance.now() });
    return wait;
  }

  /** Everybody who waits. */
  *waiting(): Generator<{ rawName: string; kind: undefined; joinedAt: number; heir: H }> {
    for (const { heir, joinedAt } of this.#waits.values()) {
      yield { rawName: heir.rawName, kind: undefined, joinedAt, heir };
    }
  }

  /** Each waiter attempts now. */
  wakeAll(): void {
    for (const wait of this.#waits.keys()) wait.wake();
  }

  /** Rejects the waits that there are, with such an error. */
  rejectAll(makeError: () => Error): void {
    for (const wait of this.#waits.keys()) wait.reject(makeError());
  }
}
