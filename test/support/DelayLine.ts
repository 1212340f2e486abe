import { laterForReal, monotonicNow } from '../../tools/realTimers';

/** Runs actions after their delay and in their order, also when the delay shrinks meanwhile. */
export class DelayLine {
  readonly #waiting: { readonly at: number; readonly action: () => void }[] = [];
  #cancel: (() => void) | undefined;

  push(delayMs: number, action: () => void): void {
    if (delayMs === 0 && this.#waiting.length === 0) action();
    else {
      this.#waiting.push({ at: monotonicNow() + delayMs, action });
      this.#schedule();
    }
  }

  /** Runs all that waits, now. */
  flush(): void {
    const due = [...this.#waiting];
    this.clear();
    for (const { action } of due) action();
  }

  clear(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#waiting.length = 0;
  }

  #schedule(): void {
    const head = this.#waiting[0];
    if (head === undefined || this.#cancel !== undefined) return;
    this.#cancel = laterForReal(
      () => {
        this.#cancel = undefined;
        this.#waiting.shift();
        head.action();
        this.#schedule();
      },
      Math.max(0, head.at - monotonicNow()),
    );
  }
}
