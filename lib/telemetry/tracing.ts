import type { AcquireMessage, AcquireOutcome, AcquireSubject, HoldMessage, HoldOutcome } from '../api';
import { acquireChannel, hasSubscribers, holdChannel } from '../util/channels';

/** What the waiting loop counts during one acquisition, if the channel has subscribers. */
export class AcquireTrace {
  attempts = 0;
  handedOver = false;

  /** An attempt begins. @param handedOver - whether a holder makes it, by handing the lock over */
  attempted(handedOver: boolean): void {
    this.attempts++;
    this.handedOver = handedOver;
  }
}

/**
 * Runs an acquisition and publishes its start and end. `run` is called in the stores bound to the channel's `start`, so
 * that its commands belong to them. The caller continues in its own context.
 *
 * A subscriber cannot affect the acquisition: Node reports its errors as uncaught exceptions, in a later turn.
 *
 * @param isAcquired - whether a result means success; otherwise the outcome is `timeout`
 * @param threadId - the thread that acquires, read at the end
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

/** Reports the end of a hold. Only the first end counts. */
export interface HoldEnd {
  /** It was released, or left to expire. @param error - of the release, which goes on in the background */
  released(error?: unknown): void;
  /** It was lost. */
  lost(cause: Error): void;
}

/**
 * Publishes the start and the end of one hold.
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

  /** A hold begins. @returns `undefined` without subscribers: its end is then not published either */
  static begin(subject: AcquireSubject, token: bigint | undefined): HoldTrace | undefined {
    if (!hasSubscribers(holdChannel)) return undefined;
    const message: HoldMessage = { ...subject, ...(token === undefined ? {} : { token }) };
    const trace = new HoldTrace(message);
    // This calls functions that turn the message into a store. The holder's code does not run in that store.
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

/** Adds fields to a message. If a subscriber has frozen it, the acquisition must not fail. */
function extend<T extends object>(message: T, fields: Partial<T>): void {
  for (const [key, value] of Object.entries(fields)) Reflect.set(message, key, value);
}
