import pDefer, { type DeferredPromise } from 'p-defer';
import type { ObjectKind } from '../api';
import type { BackOff, BackOffPolicy } from '../api/BackOff';
import { Alarm } from '../util/Alarm';
import type { Wait, Wake } from './acquireWithin';

interface BackOffHeir {
  readonly ownership: { readonly rawName: string };
  readonly kind: { readonly name: ObjectKind };
}

/** The waits of a client that only timers end. They can be ended together. */
export class BackOffWaits<H extends BackOffHeir = BackOffHeir> {
  readonly #waits = new Map<BackOffWait, { readonly heir: H; readonly joinedAt: number }>();

  /** The wait of one acquisition. */
  begin(backOff: BackOff, heir: H): BackOffWait {
    const wait: BackOffWait = new BackOffWait(backOff.create(), () => this.#waits.delete(wait));
    this.#waits.set(wait, { heir, joinedAt: performance.now() });
    return wait;
  }

  /** Everybody who waits. */
  *waiting(): Generator<{ rawName: string; kind: ObjectKind; joinedAt: number; heir: H }> {
    for (const { heir, joinedAt } of this.#waits.values()) {
      yield { rawName: heir.ownership.rawName, kind: heir.kind.name, joinedAt, heir };
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

/**
 * A wait that only a timer ends: for kinds of lock without wake-up messages. The policy sets the length of each sleep;
 * the ttl does not matter.
 *
 * States: awake <-> asleep -> left.
 */
export class BackOffWait implements Wait<never> {
  /** An attempt has just failed; the next one follows after the first pause. */
  readonly isTurn = false;
  readonly #policy: BackOffPolicy;
  readonly #left: () => void;
  readonly #alarm = new Alarm(() => this.wake(), { awaited: true });
  #sleep: DeferredPromise<undefined> | undefined;
  /** Whether it was woken while it was awake. */
  #kept = false;

  /**
   * @param policy - for this acquisition only
   * @param left - called when it ends
   */
  constructor(policy: BackOffPolicy, left: () => void) {
    this.#policy = policy;
    this.#left = left;
  }

  listen(): undefined {
    return undefined;
  }

  sleep(): Promise<Wake<never>> {
    const ms = this.#policy.getNextSleepPeriod();
    if (!Number.isFinite(ms)) {
      return Promise.reject(new RangeError(`A BackOffPolicy must give a number of milliseconds, got ${String(ms)}`));
    }
    this.#sleep = pDefer<undefined>();
    this.#alarm.set(performance.now() + (this.#kept ? 0 : ms));
    this.#kept = false;
    return this.#sleep.promise;
  }

  /** Wakes it, or ends its next sleep at once. */
  wake(): void {
    this.#alarm.off();
    this.#kept = this.#sleep === undefined;
    this.#sleep?.resolve(undefined);
    this.#sleep = undefined;
  }

  /** Ends the wait with an error, unless an attempt is under way. */
  reject(error: Error): void {
    this.#alarm.off();
    this.#sleep?.reject(error);
  }

  leave(): void {
    this.#alarm.off();
    this.#left();
  }
}
