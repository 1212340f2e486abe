import type { AcquireMessage, AcquireOutcome, AcquireSubject, HoldMessage, HoldOutcome } from '../api';
import { acquireChannel, hasSubscribers, holdChannel } from '../util/channels';

/** What the waiting loop counts of one acquisition while somebody listens. */
export class AcquireTrace {
  attempts = 0;
  handedOver = false;

  /** An attempt begins. @param handedOver - a holder makes it, by handing the lock over */
  attempted(handedOver: boolean): void {
    this.attempts++;
    this.handedOver = handedOver;
  }
}

/**
 * Runs an acquisition and tells of it. `run` is called in the stores that are bound to the channel's `start`, so that
 * what it sends belongs to them; the caller goes on in its own.
 *
 * A subscriber cannot change what happens: what it throws is reported by Node as an uncaught exception, in a later turn.
 *
 * @param isAcquired - of the result; otherwise the outcome is `timeout`
 * @param threadId - the thread that it was in the end
 */
export function traceAcquire<T>(
  subject: AcquireSubject,
  signal: AbortSignal | undefined,
  run: (trace: AcquireTrace) => Promise<T>,
  isAcquired: (result: T) => boolean,
  threadId: () => number = () => subject.threadId,
): Promise<T> {
  const message: AcquireMessage = { ...subject };
  const trace = new AcquireTrace();
  const startedAt = performance.now();
  const end = (outcome: AcquireOutcome): void => {
    const waitedMs = performance.now() - startedAt;
    const { attempts, handedOver } = trace;
    extend(message, { threadId: threadId(), outcome, waitedMs, attempts, handedOver });
  };
  const follow = async (): Promise<T> => {
    try {
      const result = await run(trace);
      end(isAcquired(result) ? 'acquired' : 'timeout');
      return result;
    } catch (error) {
      extend(message, { error });
      end(signal?.aborted === true && error === signal.reason ? 'aborted' : 'error');
      acquireChannel.error.publish(message);
      throw error;
    } finally {
      acquireChannel.asyncStart.publish(message);
      acquireChannel.asyncEnd.publish(message);
    }
  };
  return acquireChannel.start.runStores(message, () => {
    const followed = follow();
    acquireChannel.end.publish(message);
    return followed;
  });
}

/** What is told of the end of a hold; only the first end counts. */
export interface HoldEnd {
  /** It was given back, or left to expire. @param error - of the release, which goes on in the background */
  released(error?: unknown): void;
  /** It was lost. */
  lost(cause: Error): void;
}

/**
 * Tells of one hold.
 *
 * States: held -> released | lost.
 */
export class HoldTrace implements HoldEnd {
  readonly #message: HoldMessage;
  readonly #startedAt = performance.now();
  #ended = false;

  private constructor(message: HoldMessage) {
    this.#message = message;
  }

  /** A hold begins. @returns `undefined` where nobody listens: its end is then not told either */
  static begin(subject: AcquireSubject, token: bigint | undefined): HoldTrace | undefined {
    if (!hasSubscribers(holdChannel)) return undefined;
    const message: HoldMessage = { ...subject, ...(token === undefined ? {} : { token }) };
    const trace = new HoldTrace(message);
    // For the functions that make a store of the message. What the holder runs is not in it.
    holdChannel.start.runStores(message, () => undefined);
    holdChannel.end.publish(message);
    return trace;
  }

  released(error?: unknown): void {
    this.#end('released', error);
  }

  lost(cause: Error): void {
    this.#end('lost', cause);
  }

  #end(outcome: HoldOutcome, error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    const message = this.#message;
    extend(message, { outcome, heldMs: performance.now() - this.#startedAt });
    if (error !== undefined) {
      extend(message, { error });
      holdChannel.error.publish(message);
    }
    holdChannel.asyncStart.publish(message);
    holdChannel.asyncEnd.publish(message);
  }
}

/** Adds to a message. A subscriber may have frozen it: that must not fail the acquisition. */
function extend<T extends object>(message: T, fields: Partial<T>): void {
  for (const [key, value] of Object.entries(fields)) Reflect.set(message, key, value);
}
