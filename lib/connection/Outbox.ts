/** What is written at once at most, in commands: the server works on the first while the next are being made. */
const MAX_COMMANDS = 16;

/** Where an outbox empties into. */
export interface Sink {
  write(data: string | Buffer): unknown;
}

/**
 * Collects the commands that one turn of the event loop sends and writes them together: a system call costs as much as
 * the making of a command. Given to ioredis as the stream of a command.
 *
 * A command that is alone on the connection is not kept, unless something must travel with it: nothing can be saved, and
 * the server works on it while this process finishes the turn.
 */
export class Outbox {
  readonly #sink: () => Sink | undefined;
  readonly #keepsAll: boolean;
  #text = '';
  #commands = 0;
  #scheduled = false;
  #last: (() => void) | undefined;
  /** Whether the next command is alone on the connection. */
  alone = false;

  /**
   * @param sink - the socket as it is at the time of writing
   * @param keepsAll - whether a command that is alone is kept as well
   */
  constructor(sink: () => Sink | undefined, keepsAll = false) {
    this.#sink = sink;
    this.#keepsAll = keepsAll;
  }

  /** Takes one command. */
  write(data: string | Buffer): boolean {
    if (typeof data !== 'string') {
      this.flush();
      this.#sink()?.write(data);
      return true;
    }
    if (this.alone && this.#commands === 0 && !this.#keepsAll) {
      this.alone = false;
      this.#sink()?.write(data);
      return true;
    }
    this.#text += data;
    if (++this.#commands >= MAX_COMMANDS) this.flush();
    else this.#schedule();
    return true;
  }

  /** Has `action` send what comes after everything else of this turn. One at a time. */
  last(action: () => void): void {
    this.#last = action;
    this.#schedule();
  }

  /** Writes what there is. */
  flush(): void {
    if (this.#commands === 0) return;
    const text = this.#text;
    this.#text = '';
    this.#commands = 0;
    this.#sink()?.write(text);
  }

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
