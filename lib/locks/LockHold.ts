import { IllegalMonitorStateError, LockLostError } from '../errors';
import { holdKey, type Grip } from '../renewal/Hold';
import type { LockEngine } from './LockEngine';
import type { MemberHold } from './MemberLock';
import { setLease } from './setLease';

/**
 * One hold as an object: what `acquire` resolves to.
 *
 * States: held -> released | lost. The signal aborts on the way to lost, and on no other.
 */
export class LockHold implements MemberHold {
  readonly name: string;
  readonly threadId: number;
  readonly token?: bigint;
  readonly #engine: LockEngine;
  readonly #grip: Grip;
  #controller: AbortController | undefined;
  #lost: Error | undefined;
  #released: Promise<void> | undefined;

  /** @param grip - the acquisition that this object gives back */
  constructor(engine: LockEngine, threadId: number, grip: Grip, token: bigint | undefined) {
    this.name = engine.name;
    this.threadId = threadId;
    if (token !== undefined) this.token = token;
    this.#engine = engine;
    this.#grip = grip;
    grip.onLost = (cause) => {
      this.#lost = cause;
      this.#controller?.abort(cause);
    };
  }

  /** Made when first asked for: most holds are short and nobody listens. */
  get signal(): AbortSignal {
    this.#engine.context.watchdog.catchUp();
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#lost !== undefined) this.#controller.abort(this.#lost);
    }
    return this.#controller.signal;
  }

  get isHeld(): boolean {
    this.#engine.context.watchdog.catchUp();
    const { lost, released } = this.#grip;
    return this.#released === undefined && this.#lost === undefined && lost === undefined && released !== true;
  }

  get remainingLeaseMs(): number {
    if (!this.isHeld) return 0;
    const { context, driver, rawName } = this.#engine;
    const deadline = context.holds.get(holdKey(rawName, driver.ownerOf(this.threadId)))?.deadline ?? 0;
    return Math.max(0, Math.min(deadline, this.#grip.leaseEnd) - performance.now());
  }

  /**
   * Gives the hold back, once; later calls share the outcome of the first. Of one that was lost, what Redis may still have
   * is taken back in the background.
   * @throws LockLostError when it was lost before
   */
  unlock(): Promise<void> {
    this.#released ??= this.#give();
    return this.#released;
  }

  /**
   * Neither renews it any more nor gives it back: it runs out by itself, and that is no loss. `unlock` then does nothing.
   * @throws LockLostError when it was lost before
   */
  async leave(): Promise<void> {
    if (this.isHeld) {
      const { context, driver, rawName } = this.#engine;
      const hold = context.holds.get(holdKey(rawName, driver.ownerOf(this.threadId)));
      if (hold !== undefined) context.holds.leave(hold, this.#grip);
      this.#released = Promise.resolve();
    } else if (this.#lost !== undefined) throw this.#lost;
  }

  async relet(leaseMs: number): Promise<boolean> {
    return this.isHeld && setLease(this.#engine, this.threadId, this.#grip, leaseMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unlock().catch(() => undefined);
  }

  async #give(): Promise<void> {
    this.#engine.context.watchdog.catchUp();
    if (this.#lost === undefined) await this.#release();
    else this.#engine.forsake(this.threadId, this.#grip);
    // It may have been lost while the release waited for a re-entry of its thread.
    const lost = this.#lostCause();
    if (lost !== undefined) throw lost;
  }

  async #release(): Promise<void> {
    try {
      await this.#engine.give(this.threadId, this.#grip);
    } catch (error) {
      // `#lost` is set by then, if the release found it gone.
      if (!(error instanceof IllegalMonitorStateError)) throw error;
      throw (
        this.#lostCause() ?? new LockLostError(this.name, this.threadId, 'the release found it gone', { cause: error })
      );
    }
  }

  #lostCause(): Error | undefined {
    return this.#lost;
  }
}
