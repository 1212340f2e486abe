/**
 * Most hand-overs of one turn while there is a process that makes none (a Java process takes the lock once per turn).
 * It gets at least a tenth of its fair share, which between two is one turn in twenty.
 */
export const HANDOVERS_BESIDE_SHORT_TURNS = 14;
/**
 * A turn of another process is short if this one could have made at most this many hand-overs in that time. It is less
 * than the number above, so that processes that cut their turns to that number do not count as short to each other.
 */
const SHORT_TURN_HANDOVERS = 11;
/**
 * Own turns are cut when the score reaches this. Between two own turns it goes up by one if a turn of another process
 * was short, and down by one if none was.
 */
const SHORT_TURN_SCORE = 2;
/** The score goes no higher than this. */
const MAX_SHORT_TURN_SCORE = 4;

/**
 * How long the turns of other processes are, as their messages show. One that makes no hand-overs (a Java process takes
 * the lock once per turn) unlocks soon after the unlock before; beside it, turns of this process are cut.
 *
 * States: own turn -> (own unlock) others -> (own turn begins) own turn.
 */
export class OthersTurns {
  /** Messages since the last own unlock, which is the first of them; `undefined` while this process has its turn. */
  #heard: number | undefined;
  #heardAt = 0;
  /** The shortest turn of another process since the last own unlock, in ms. */
  #shortest = Infinity;
  /** The time of one hand-over in the last turns of this process, in ms. */
  #handOverMs = 0;
  /** See {@link SHORT_TURN_SCORE}. */
  #score = 0;

  /** Whether a process takes short turns, so that own turns are cut. */
  get areShort(): boolean {
    return this.#score >= SHORT_TURN_SCORE;
  }

  /** The own turn ends. @param handOvers - that it had since `startedAt` (monotonic) */
  begin(handOvers: number, startedAt: number): void {
    this.#heard = 0;
    this.#shortest = Infinity;
    if (handOvers > 0) this.#handOverMs = (performance.now() - startedAt) / (handOvers + 1);
  }

  /** A message came. Behind the first, another process has had its turn. */
  message(): void {
    if (this.#heard === undefined) return;
    const now = performance.now();
    if (this.#heard > 0) this.#shortest = Math.min(this.#shortest, now - this.#heardAt);
    this.#heard++;
    this.#heardAt = now;
  }

  /** This process has its turn again. */
  ended(): void {
    if (this.#heard === undefined) return;
    this.#heard = undefined;
    if (this.#shortest === Infinity) return;
    const isShort = this.#shortest < SHORT_TURN_HANDOVERS * this.#handOverMs;
    this.#score = isShort ? Math.min(this.#score + 1, MAX_SHORT_TURN_SCORE) : Math.max(this.#score - 1, 0);
  }

  /** No other process listens any more. */
  left(): void {
    this.#score = 0;
  }
}
