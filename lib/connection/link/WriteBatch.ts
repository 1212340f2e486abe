import type { Redis } from 'ioredis';
import { runOutside } from '../../util/outside';

/** The most commands in one write: the server works on the first while the next are being made. */
const MAX_COMMANDS = 16;

/**
 * Collects the commands of one turn of the event loop and writes them together: a system call costs as much as making
 * a command. Given to ioredis as the stream of a command; it has the shape of ioredis' own pipeline, which does the
 * same.
 *
 * A command that is alone on the connection is written at once, unless something must travel with it: waiting would
 * save nothing, and the server works on it while this process finishes the turn.
 */
export class WriteBatch {
  readonly isPipeline = true;
  /** The connection that it writes to. */
  readonly destination: { readonly redis: Redis };
  readonly #keepsAll: boolean;
  /** What is to be written. */
  #text: string | Buffer = '';
  #commands = 0;
  #scheduled = false;
  #last: (() => void) | undefined;
  /** Whether the next command is alone on the connection. */
  alone = false;

  /**
   * @param redis - the connection; its socket is read at the time of writing
   * @param keepsAll - whether a command that is alone is collected as well
   */
  constructor(redis: Redis, keepsAll = false) {
    this.destination = { redis };
    this.#keepsAll = keepsAll;
  }

  /** Adds one command. */
  write(data: string | Buffer): boolean {
    const isAlone = this.alone && this.#commands === 0 && !this.#keepsAll;
    if (isAlone || typeof data !== 'string') {
      if (!isAlone) this.flush();
      this.alone = false;
      this.#text = data;
      runOutside(this.#write);
      return true;
    }
    this.#text = (this.#text as string) + data;
    if (++this.#commands >= MAX_COMMANDS) this.flush();
    else this.#schedule();
    return true;
  }

  /** Has `action` send its commands after all others of this turn. One at a time. */
  last(action: () => void): void {
    this.#last = action;
    this.#schedule();
  }

  /** Writes the collected commands. */
  flush(): void {
    if (this.#commands === 0) return;
    this.#commands = 0;
    runOutside(this.#write);
  }

  /** Runs outside any context: the socket would keep the caller's, for example when this write breaks it. */
  readonly #write = (): void => {
    const data = this.#text;
    this.#text = '';
    // ioredis has no socket while it connects.
    (this.destination.redis.stream as Redis['stream'] | undefined)?.write(data);
  };

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    const last = this.#last;
    this.#last = undefined;
    last?.();
    this.#scheduled = false;
    this.flush();
  };
}
