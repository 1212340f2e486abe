import { type Loop, Phase, type SimProcess } from '../engine/Loop';

/** One direction of a connection: bytes in order, and at last its end (`undefined`). */
export class Wire {
  readonly #loop: Loop;
  readonly #latency: () => number;
  readonly #receiver: SimProcess | undefined;
  readonly #deliver: (text: string | undefined) => void;
  readonly #listening: () => boolean;
  #queue: (string | undefined)[] = [];
  /** How many of the queue have arrived. */
  #arrived = 0;
  #lastAt = 0;
  #heldUntil = 0;
  #lost = false;

  /**
   * @param receiver - whose process reads it
   * @param listening - whether the receiver reads just now; it calls {@link drain} when it does again
   */
  constructor(
    loop: Loop,
    latency: () => number,
    receiver: SimProcess | undefined,
    deliver: (text: string | undefined) => void,
    listening: () => boolean = () => true,
  ) {
    this.#loop = loop;
    this.#latency = latency;
    this.#receiver = receiver;
    this.#deliver = deliver;
    this.#listening = listening;
  }

  send(text: string | undefined): void {
    if (this.#lost) return;
    const { now } = this.#loop;
    const at = (this.#lastAt = Math.max(this.#lastAt, now + this.#latency()));
    this.#queue.push(text);
    this.#in(at - now, () => this.#arrived++);
  }

  /** Nothing more arrives, of what is under way either. */
  lose(): void {
    this.#lost = true;
    this.#queue = [];
    this.#arrived = 0;
  }

  /** What has not arrived yet arrives in so many ms at the earliest. */
  hold(ms: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, this.#loop.now + ms);
    this.#in(ms, () => undefined);
  }

  /** Reads what has arrived. */
  drain(): void {
    while (this.#arrived > 0 && !this.#lost && this.#listening() && this.#loop.now >= this.#heldUntil) {
      // Several pieces are read at once, but not beyond the end.
      let text = '';
      let ended = false;
      for (; this.#arrived > 0 && !ended; this.#arrived--) {
        const piece = this.#queue.shift();
        if (piece === undefined) ended = true;
        else text += piece;
      }
      if (text !== '') this.#deliver(text);
      if (ended) this.#deliver(undefined);
    }
  }

  #in(ms: number, first: () => void): void {
    const run = (): void => {
      if (this.#lost) return;
      first();
      this.drain();
    };
    this.#loop.after(ms, run, { phase: Phase.Socket, process: this.#receiver, kind: 'wire' });
  }
}
