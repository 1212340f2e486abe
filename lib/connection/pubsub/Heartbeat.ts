import type { Redis } from 'ioredis';
import { Alarm } from '../../util/Alarm';
import { runOutside } from '../../util/outside';

/**
 * A listening connection is checked (PING) after each interval of this many command time-outs: it may receive nothing
 * for hours, and only an answer shows that a quiet connection is not dead (Redisson: pingConnectionInterval, 30 s).
 */
const HEARTBEAT_TIMEOUTS = 3;

/**
 * Checks whether a connection that only listens is still there. One that does not answer is dead, although its socket
 * is open: a proxy may have dropped it, or the server is frozen. It is then replaced.
 *
 * States: resting <-> beating; in both, an answer may be awaited.
 */
export class Heartbeat {
  readonly #redis: () => Redis;
  readonly #timeoutMs: number;
  readonly #onSilence: (() => void) | undefined;
  #interval: NodeJS.Timeout | undefined;
  /** What the server must answer, and by when. */
  #asked: Promise<unknown> | undefined;
  #bytesBefore: number | undefined = 0;
  readonly #mustAnswerBy = new Alarm(() => this.#silent(), { judges: () => true });

  /**
   * @param redis - the connection; another one may take its place
   * @param timeoutMs - how long an answer may take, in ms
   * @param onSilence - called when one does not come: other connections to that server may be dead, too
   */
  constructor(redis: () => Redis, timeoutMs: number, onSilence?: () => void) {
    this.#redis = redis;
    this.#timeoutMs = timeoutMs;
    this.#onSilence = onSilence;
  }

  /** Begins to beat, unless it does. @param check - called each time; it may {@link ping} */
  start(check: () => void): void {
    const intervalMs = HEARTBEAT_TIMEOUTS * this.#timeoutMs;
    this.#interval ??= runOutside(() => setInterval(check, intervalMs)).unref();
  }

  /** Stops beating. */
  stop(): void {
    clearInterval(this.#interval);
    this.#interval = undefined;
  }

  /** Asks now, unless an answer is awaited already. */
  ping(): void {
    if (this.#asked === undefined) runOutside(() => this.mustAnswer(this.#redis().ping()));
  }

  /** The server has been asked something that shows whether it is there. */
  mustAnswer(asked: Promise<unknown>): void {
    if (this.#asked !== undefined) return void asked.catch(() => undefined);
    this.#asked = asked;
    this.#listen();
    const answered = (): void => {
      if (this.#asked === asked) this.expectNothing();
    };
    asked.then(answered, answered);
  }

  /** The connection is gone: no answer will come. */
  expectNothing(): void {
    this.#asked = undefined;
    this.#mustAnswerBy.off();
  }

  #listen(): void {
    this.#bytesBefore = this.#redis().stream?.bytesRead;
    this.#mustAnswerBy.set(performance.now() + this.#timeoutMs);
  }

  #silent(): void {
    const redis = this.#redis();
    // It answers, but so much else that the answer has not been read yet.
    if (redis.stream?.bytesRead !== this.#bytesBefore) return this.#listen();
    this.expectNothing();
    redis.disconnect(true);
    this.#onSilence?.();
  }
}
