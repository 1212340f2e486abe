/**
 * How long a process that gives way waits for the others before it tries all the same. They need one message and one
 * command. A process that died meanwhile must not cost more than this.
 */
export const GIVE_WAY_MS = 5;
/**
 * Most hand-overs of one turn while there is a process that makes none (a Java process takes the lock once per turn).
 * It gets at least a tenth of its fair share, which between two is one turn in twenty.
 */
const HANDOVERS_BESIDE_SHORT_TURNS = 14;
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
 * Where the others cannot be counted, a turn now and then waits for one more of them than is known: every second turn
 * while there are others, and at least every so many turns while there seem to be none.
 */
const MAX_TURNS_PER_PROBE = 32;
/** Where the others can be counted, at least this long passes between two counts, in ms. */
const COUNT_INTERVAL_MS = 50;
/** Never waits for more others than this without having counted them. */
const MAX_GUESSED = 64;

/**
 * Takes turns between processes that wait for one lock.
 *
 * Redis delivers a message to its subscribers always in the same order, so the same process would win every race.
 * Each real unlock tells how many subscribers it woke. A process that had the lock therefore gives way to that many
 * others: it lets as many further unlock messages pass before it tries again, and the processes take turns.
 * No other process depends on it: after {@link GIVE_WAY_MS} without a message it tries anyway. Where no other process
 * is subscribed it tries at once, and lets its own message pass, which would only make its next waiter try in vain.
 *
 * Where Redis does not say how many got the message (a cluster with classic pub/sub counts the subscribers of one
 * node), or where some of them may wait for something else, the number of others is learned: it is that of the messages
 * heard between the own unlock and the next turn, and now and then one more is waited for, in case a process never gets
 * in. A cluster can be asked how many listen on all its nodes: then that is the number, and is asked for again from
 * time to time.
 *
 * A turn has up to `maxHandOvers` hand-overs. It is cut while another process that makes none takes short turns, which
 * shows in how soon its unlock follows the one before.
 *
 * States: free (tries at each message) -> releasing (own unlock under way) -> givingWay (n messages to let pass) ->
 * free.
 */
export class ProcessFairness {
  readonly #wake: () => void;
  #releasing = 0;
  #seen = 0;
  #skip = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  /** Other processes that take turns, as far as is known. */
  #others = 0;
  /** Whether the reply of the last unlock said how many there are. */
  #counted = true;
  /** How many listen, this process among them, as far as Redis was asked for that. */
  #listeners: number | undefined;
  #countAt = -Infinity;
  /** Turns until the next that waits for one more process than is known. */
  #untilProbe = 0;
  /** Turns from one of these to the next. */
  #turnsPerProbe = 1;
  /** Messages since the last own unlock, which is the first of them; `undefined` while this process has its turn. */
  #heard: number | undefined;
  #heardAt = 0;
  /** The shortest turn of another since the last own unlock, in ms. */
  #shortest = Infinity;
  /** What handing the lock on once took in the last turns of this process, in ms. */
  #handOverMs = 0;
  /** See {@link SHORT_TURN_SCORE}. */
  #shortTurnScore = 0;

  /** @param wake - wakes the head */
  constructor(wake: () => void) {
    this.#wake = wake;
  }

  /** How often the lock may be handed on within one turn. */
  get handOvers(): number {
    return this.#shortTurnScore >= SHORT_TURN_SCORE ? HANDOVERS_BESIDE_SHORT_TURNS : Infinity;
  }

  /**
   * An unlock of this process is about to be sent.
   * @param handOvers - how often it has handed the lock on since its turn began, `turnMs` ms ago
   */
  releasing(handOvers = 0, turnMs = 0): void {
    this.#releasing++;
    this.#seen = this.#heard = 0;
    this.#shortest = Infinity;
    if (handOvers > 0) this.#handOverMs = turnMs / (handOvers + 1);
  }

  /**
   * That unlock was answered.
   * @param receivers - how many subscribers got its message, this process among them; 0 when unknown; -1 when there
   *   was no message, since the lock is not free
   * @param counted - whether those are all there are, and wait for this lock. @default true
   * @param locals - whether others of this process (readers) wait for the message, and go first. @default false
   */
  released(receivers: number, counted = true, locals = false): void {
    this.#releasing--;
    if (receivers < 0) {
      // Messages that came meanwhile were not ours.
      if (this.#seen > 0) this.#wake();
      return;
    }
    const subscribers = counted ? Math.max(receivers, 1) : this.#guess(receivers);
    // Our own message is one of those seen or to come.
    const toCome = (counted ? receivers : subscribers) - this.#seen;
    // No other got it: our own message tells the head nothing new, and it tries now.
    const alone = counted && subscribers === 1 && (!locals || receivers === 0);
    this.#counted = counted;
    if (counted) this.#others = subscribers - 1;
    if (this.#others === 0) this.#shortTurnScore = 0;
    this.#skip = Math.max(0, alone ? toCome : toCome - 1);
    if (alone || toCome <= 0) this.#wake();
    // If the subscriber is another process, its message passes first, and then the head tries again.
    if (toCome > 0) this.#arm();
  }

  /**
   * This process, without waiters then, has released it for so many others: the last of their messages wakes its next
   * waiter.
   */
  giveWay(others: number): void {
    this.#skip = others - 1;
  }

  /**
   * Finds out how many listen, where unlocks do not tell.
   * @param ask - asks Redis; `undefined` when it cannot be asked
   */
  count(ask: () => Promise<number> | undefined): void {
    const now = performance.now();
    if (now < this.#countAt) return;
    // Until it is answered.
    this.#countAt = Infinity;
    const learn = (listeners: number | undefined): void => {
      this.#listeners = listeners;
      this.#countAt = performance.now() + COUNT_INTERVAL_MS;
    };
    const asked = ask();
    if (asked === undefined) learn(undefined);
    // Without the right to ask, the number is estimated from the messages.
    else void asked.then(learn, () => learn(undefined));
  }

  /** A message came. @returns whether the head is to try now */
  message(): boolean {
    this.#listen();
    if (this.#releasing > 0) {
      this.#seen++;
      return false;
    }
    if (this.#skip === 0) return true;
    this.#skip--;
    this.#arm();
    return false;
  }

  /** This process got the lock by an attempt of its own: its turn begins. */
  turnBegins(): void {
    if (this.#heard === undefined) return;
    const others = Math.min(Math.max(0, this.#heard - 1), MAX_GUESSED);
    this.#heard = undefined;
    if (!this.#counted) {
      // Found: there may be even more.
      if (others > 0) this.#turnsPerProbe = this.#untilProbe = 1;
      // A process that was slow this time is not forgotten at once.
      this.#others = Math.max(others, this.#others - 1);
    }
    if (this.#shortest === Infinity) return;
    if (this.#shortest < SHORT_TURN_HANDOVERS * this.#handOverMs) {
      this.#shortTurnScore = Math.min(this.#shortTurnScore + 1, MAX_SHORT_TURN_SCORE);
    } else this.#shortTurnScore = Math.max(this.#shortTurnScore - 1, 0);
  }

  /** The queue is no more; an unlock of this process may still be under way. */
  close(): void {
    this.#closed = true;
    this.reset();
  }

  /** The head has acquired: nothing to give way for any more. */
  reset(): void {
    this.#skip = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** How many subscribers there are, this process among them, where only `receivers` of them are known. */
  #guess(receivers: number): number {
    if (this.#listeners !== undefined) return Math.max(this.#listeners, receivers, 1);
    const known = Math.max(this.#others + 1, receivers);
    if (--this.#untilProbe > 0) return known;
    this.#untilProbe = this.#turnsPerProbe = Math.min(2 * this.#turnsPerProbe, MAX_TURNS_PER_PROBE);
    return known + 1;
  }

  /** Learns from a message that another has had its turn, and how long that was. */
  #listen(): void {
    if (this.#heard === undefined) return;
    const now = performance.now();
    if (this.#heard > 0) this.#shortest = Math.min(this.#shortest, now - this.#heardAt);
    this.#heard++;
    this.#heardAt = now;
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(this.#wake, GIVE_WAY_MS);
  }
}

/** What a fresh acquisition lets pass. */
interface FairPause {
  /** When to stop (monotonic). */
  readonly until: number;
  /** How many other processes wait. */
  readonly others: number;
}

/**
 * Names that this client has just released while other processes wait. An acquisition that follows at once would win
 * each time: a process with a single caller that loops has no waiter, so no {@link ProcessFairness} makes it give way.
 * After such an unlock a fresh acquisition therefore listens first, until as many messages as there are others say that
 * each had its turn (after the first alone, two would pass the lock to and fro, and a third would
 * never get it), or {@link GIVE_WAY_MS} have passed. Nothing is kept of a name that no other process waits for.
 */
export class FairPauses {
  /** By raw name, the earliest to stop first. */
  readonly #pauses = new Map<string, FairPause>();

  /** Its unlock message went to so many others. */
  add(rawName: string, others: number): void {
    const now = performance.now();
    for (const [one, { until }] of this.#pauses) {
      if (until > now) break;
      this.#pauses.delete(one);
    }
    this.#pauses.delete(rawName);
    this.#pauses.set(rawName, { until: now + GIVE_WAY_MS, others });
  }

  /** No other process waits. */
  forget(rawName: string): void {
    if (this.#pauses.size > 0) this.#pauses.delete(rawName);
  }

  /** A queue gives way from now on. @returns to how many others; 0 = to none */
  take(rawName: string): number {
    if (this.waitMs(rawName) === 0) return 0;
    const { others } = this.#pauses.get(rawName)!;
    this.#pauses.delete(rawName);
    return others;
  }

  /** How long a fresh acquisition is to wait, in ms; 0 = not at all. */
  waitMs(rawName: string): number {
    if (this.#pauses.size === 0) return 0;
    const until = this.#pauses.get(rawName)?.until;
    return until === undefined ? 0 : Math.max(0, Math.ceil(until - performance.now()));
  }
}
