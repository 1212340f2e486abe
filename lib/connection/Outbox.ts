/** What is written at once at most, in commands: the server works on the first while the next are being made. */
const MAX_COMMANDS = 16;

/** Where an outbox empties into. */
export interface Sink {
  write(data: string | Buffer): unknown;
}

/**
 * Collects the commands that one turn of the event loop sends and writes them together: a system call costs as much as
 * the making of a command. Given to ioredis as the stream of a command. A single command waits for nothing but the end
 * of the running callbacks.
 */
export class Outbox {
  readonly #sink: () => Sink | undefined;
  #text = '';
  #commands = 0;
  #scheduled = false;
  #last: (() => void) | undefined;

  /** @param sink - the socket as it is at the time of writing */
  constructor(sink: () => Sink | undefined) {
    this.#sink = sink;
  }

  /** Takes one command. */
  write(data: string | Buffer): boolean {
    if (typeof data !== 'string') {
      this.flush();
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
