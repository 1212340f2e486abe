import pDefer from 'p-defer';

/**
 * The answers that a client waits for before it closes: of calls whose callers were told an error, and who take back what
 * the answer brings.
 *
 * States: nothing owed -> owed -> all paid | given up.
 */
export class Debts<C> {
  readonly #owed = new Set<C>();
  readonly #over = pDefer<void>();

  /** An answer to this call is to be waited for. */
  owe(call: C): void {
    this.#owed.add(call);
  }

  /** Nothing more is to be expected of a call. */
  pay(call: C): void {
    if (this.#owed.delete(call) && this.#owed.size === 0) this.#over.resolve();
  }

  /** Resolves when nothing is owed. @param limitMs - it waits so long at most, in ms */
  async paid(limitMs: number): Promise<void> {
    if (this.#owed.size === 0) return;
    const timer = setTimeout(() => this.#over.resolve(), limitMs);
    await this.#over.promise;
    clearTimeout(timer);
  }
}
