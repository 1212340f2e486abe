import { Alarm } from '../util/Alarm';

/**
 * How long a process that gives way waits for the others before it tries all the same, in ms. They need one message and
 * one command. A process that died meanwhile must not cost more than this.
 */
export const GIVE_WAY_MS = 5;
/** Where Redis is far, it waits for this many round trips: the message and the command take one. */
const GIVE_WAY_ROUND_TRIPS = 2;
/** Never longer than this, in ms: a server may hang. */
const MAX_GIVE_WAY_MS = 100;
/** The longest turn, in ms: slow sections must not keep others waiting for many times their length. */
const MAX_TURN_MS = 20;
/**
 * Where Redis is far, a turn may take this many round trips; otherwise the way from one turn to the next would
 * dominate.
 */
const MAX_TURN_ROUND_TRIPS = 16;
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
/** Where an unlock does not return the number of listeners, the shortest time between two counts, in ms. */
const COUNT_INTERVAL_MS = 50;

/** What the turns of a lock need of its channel. */
export interface TurnSubscription {
  /** Whether messages arrive, so that this process is one of the listeners. */
  readonly heard: boolean;
  /** Whether the reply to an unlock contains the number of listeners, all of them for this lock. */
  readonly counted: boolean;
  /** Asks Redis for the number of listeners. @returns `undefined` when that cannot be known */
  countListeners(): Promise<number | undefined>;
}

/** The queue of the lock's waiters. */
interface TurnQueue {
  readonly subscription: TurnSubscription;
  readonly readersSleep: boolean;
  wakeHead(): void;
}

/**
 * The turns that processes take with one lock: the only place where a process gives way.
 *
 * Redis delivers a message to its subscribers always in the same order, so the same process would win every race. And
 * a process whose only caller asks again at once would be faster than all that must first receive its unlock message.
 * So a process that has had the lock gives way: it lets as many unlock messages pass as there are other subscribers,
 * and its head, or a fresh caller that joins the queue for this, tries when the last of them comes. No other process
 * depends on it: {@link giveWayMs} after the last message it tries anyway. Where no other process is subscribed it
 * tries at once, and lets its own message pass, which would only make its next waiter try in vain.
 *
 * An unlock returns how many subscribers got its message. A cluster with classic pub/sub counts those of one node only:
 * there the process asks the nodes from time to time, and waits for its own message in any case.
 *
 * A turn has up to `maxHandOvers` hand-overs within {@link MAX_TURN_MS}, or {@link MAX_TURN_ROUND_TRIPS} where that is
 * longer; the shortest hand-over of this turn and the last is a round trip. It is cut while another process that makes none
 * takes short turns, which shows in how soon its unlock follows the one before.
 *
 * States: free (tries at each message) -> releasing (own unlock under way: messages are counted) -> giving way (a
 * number of messages is to pass) | alone (only its own message is to pass) -> free. It has a queue, or it rests: no
 * caller of this process waits, but the own message may still come, and the next caller may have to give way.
 */
export class Turns {
  /** What is waited for: the lock's key, together with the values for a group lock. */
  readonly waitKey: string;
  #queue: TurnQueue | undefined;
  /** Hand-overs of this turn. */
  #handOvers = 0;
  /** Monotonic time at which this process got the lock from another one, or at which its first waiter came. */
  #startedAt = -Infinity;
  /** Monotonic time until which other processes may sleep, by a lease that was handed on. */
  #toldUntil = -Infinity;
  /** Unlocks under way, and the messages since the last of them was sent. */
  #releasing = 0;
  #seen = 0;
  /** Messages that are to pass before one wakes the head. */
  #toPass = 0;
  #alone = false;
  /** Monotonic time at which it tries anyway; while it rests, the time until which it is needed. */
  #until = -Infinity;
  #alarm: Alarm | undefined;
  /** The number of listeners, as last read from Redis. */
  #listeners: number | undefined;
  #countAt = -Infinity;
  /** Messages since the last own unlock, which is the first of them; `undefined` while this process has its turn. */
  #heard: number | undefined;
  #heardAt = 0;
  /** The shortest turn of another process since the last own unlock, in ms. */
  #shortest = Infinity;
  /** The time of one hand-over in the last turns of this process, in ms. */
  #handOverMs = 0;
  /** See {@link SHORT_TURN_SCORE}. */
  #shortTurnScore = 0;
  /** The shortest time in which a hand-over of this turn, and of the last one that had any, was answered, in ms. */
  #roundTripMs = Infinity;
  #lastRoundTripMs = Infinity;

  /** More than 0: this process has the lock, and passes it on before Redis knows. Fresh callers queue for it. */
  #relays = 0;

  /** @param waitKey - what is waited for */
  constructor(waitKey: string) {
    this.waitKey = waitKey;
  }

  /** Callers of this process wait from now on. */
  attach(queue: TurnQueue): void {
    this.#queue = queue;
    // Its queue ran empty for a moment, while its own waiters have the lock: others must not wait for another turn.
    if (this.#handOvers === 0 && this.#relays === 0) this.#beginTurn(performance.now());
  }

  /** No caller of this process waits any more; an unlock may still be under way. */
  detach(): void {
    this.#queue = undefined;
    this.#alarm?.off();
    if (!this.givesWay) this.#until = performance.now() + this.giveWayMs;
  }

  /** Whether it is still needed. */
  get needed(): boolean {
    return this.#relays > 0 || this.#queue !== undefined || this.#releasing > 0 || this.#isEarly();
  }

  /** Whether others go first: a fresh caller does not attempt before it is woken. */
  get givesWay(): boolean {
    return this.#relays > 0 || (this.#toPass > 0 && !this.#alone && this.#isEarly());
  }

  /** Readers of this process sleep, whom no message has reached yet: a writer lets one message pass. */
  giveWayToReaders(): void {
    if (this.givesWay) return;
    this.#toPass = this.#alone ? this.#toPass + 1 : Math.max(this.#toPass, 1);
    this.#alone = false;
    this.#wait();
  }

  /** This process got the lock by an attempt of its own. */
  begin(now: number): void {
    this.#beginTurn(now);
    this.#free();
    if (this.#heard === undefined) return;
    this.#heard = undefined;
    if (this.#shortest === Infinity) return;
    if (this.#shortest < SHORT_TURN_HANDOVERS * this.#handOverMs) {
      this.#shortTurnScore = Math.min(this.#shortTurnScore + 1, MAX_SHORT_TURN_SCORE);
    } else this.#shortTurnScore = Math.max(this.#shortTurnScore - 1, 0);
  }

  /**
   * Whether this process may hand the lock on to a waiter of its own once more, before others get their turn.
   * @param limit - `maxHandOvers`
   */
  mayHandOver(now: number, limit: number): boolean {
    const most = this.#shortTurnScore >= SHORT_TURN_SCORE ? Math.min(limit, HANDOVERS_BESIDE_SHORT_TURNS) : limit;
    return this.#handOvers < most && now - this.#startedAt < this.#longestMs;
  }

  /** The lock is handed on. @param deadline - monotonic time until which Redis would have kept it */
  handedOver(deadline: number): void {
    this.#handOvers++;
    this.#toldUntil = this.toldUntil(deadline);
    this.#free();
  }

  /** From now on the lock is passed on before Redis knows. */
  beginRelay(): void {
    this.#relays++;
  }

  /** Redis knows the holder again. @param free - whether the callers that came meanwhile may try now */
  endRelay(free: boolean): void {
    this.#relays--;
    if (free && !this.givesWay) this.#queue?.wakeHead();
  }

  /** A hand-over was answered. @param sentAt - monotonic time just before it was sent */
  answered(sentAt: number): void {
    this.#roundTripMs = Math.min(this.#roundTripMs, performance.now() - sentAt);
  }

  /** Monotonic time until which other processes may sleep: the latest of this turn. @param deadline - the holder's */
  toldUntil(deadline: number): number {
    return Math.max(this.#toldUntil, deadline);
  }

  /** An unlock with a message is about to be sent. */
  releasing(): void {
    this.#releasing++;
    this.#seen = this.#heard = 0;
    this.#shortest = Infinity;
    if (this.#handOvers > 0) this.#handOverMs = (performance.now() - this.#startedAt) / (this.#handOvers + 1);
    this.#handOvers = 0;
  }

  /**
   * That unlock was answered.
   * @param receivers - how many subscribers got its message; 0 when unknown; -1 when there was no message, since the
   *   lock is not free
   * @param listens - whether this process is one of them. Without a queue it is not, or only for a moment: then its own
   *   message soon counts as one that has passed. @default whether its queue hears messages
   */
  released(receivers: number, listens = this.#queue?.subscription.heard === true): void {
    const queue = this.#queue;
    this.#releasing--;
    if (receivers < 0) {
      // Messages that came meanwhile were not of this unlock.
      if (this.#seen > 0) queue?.wakeHead();
      return;
    }
    const counted = queue?.subscription.counted !== false;
    if (!counted) this.#count(queue);
    const known = counted ? receivers : Math.max(receivers, this.#listeners ?? 1, 1);
    const others = Math.max(0, known - (listens ? 1 : 0));
    if (others === 0) this.#shortTurnScore = 0;
    // The own message has come already, or will come.
    const toCome = Math.max(0, known - this.#seen);
    // No other process got it: the own message is nothing new to the head, and it tries now. Readers need that
    // message first.
    this.#alone = counted && others === 0 && (receivers === 0 || queue?.readersSleep !== true);
    this.#toPass = toCome;
    if (this.#alone || toCome === 0) queue?.wakeHead();
    // Kept this long; otherwise `Subscriptions.released` would count the same unlock again.
    if (receivers > 0) this.#until = performance.now() + this.giveWayMs;
    // If the only subscriber is another process, its message passes first, and then the head tries again.
    if (toCome > 0) this.#wait();
  }

  /** A message came. @returns whether the head is to try now */
  message(): boolean {
    this.#listen();
    if (this.#releasing > 0) {
      this.#seen++;
      return false;
    }
    if (this.#toPass === 0) return true;
    this.#toPass--;
    const isTurn = this.#toPass === 0 && !this.#alone;
    if (isTurn) this.#alarm?.set(Infinity);
    else this.#wait();
    return isTurn;
  }

  /** The shortest hand-over of this turn and the last one, in ms; `Infinity`: there was no hand-over. */
  get roundTripMs(): number {
    return Math.min(this.#roundTripMs, this.#lastRoundTripMs);
  }

  /** How long this process waits for the others before it tries all the same, in ms. */
  get giveWayMs(): number {
    const { roundTripMs } = this;
    if (roundTripMs === Infinity) return GIVE_WAY_MS;
    return Math.min(Math.max(GIVE_WAY_MS, GIVE_WAY_ROUND_TRIPS * roundTripMs), MAX_GIVE_WAY_MS);
  }

  /** The longest turn, in ms. A reply that hangs makes none longer, unless the replies of two turns do. */
  get #longestMs(): number {
    const { roundTripMs } = this;
    return roundTripMs === Infinity ? MAX_TURN_MS : Math.max(MAX_TURN_MS, MAX_TURN_ROUND_TRIPS * roundTripMs);
  }

  #beginTurn(now: number): void {
    if (this.#roundTripMs < Infinity) this.#lastRoundTripMs = this.#roundTripMs;
    this.#roundTripMs = Infinity;
    this.#startedAt = now;
    this.#handOvers = 0;
    this.#toldUntil = -Infinity;
  }

  /** Learns from a message that another process has had its turn, and how long that was. */
  #listen(): void {
    if (this.#heard === undefined) return;
    const now = performance.now();
    if (this.#heard > 0) this.#shortest = Math.min(this.#shortest, now - this.#heardAt);
    this.#heard++;
    this.#heardAt = now;
  }

  #count(queue: TurnQueue): void {
    if (performance.now() < this.#countAt) return;
    // Until it is answered.
    this.#countAt = Infinity;
    void queue.subscription.countListeners().then((listeners) => {
      this.#listeners = listeners ?? this.#listeners;
      this.#countAt = performance.now() + COUNT_INTERVAL_MS;
    });
  }

  /** Messages are to pass: without one the head tries after a while. */
  #wait(): void {
    this.#until = performance.now() + this.giveWayMs;
    if (this.#queue === undefined) return;
    this.#alarm ??= new Alarm(() => this.#queue?.wakeHead(), { awaited: true });
    this.#alarm.set(this.#until);
  }

  #free(): void {
    this.#toPass = 0;
    this.#alarm?.off();
  }

  /** Whether that time is to come. One further away is of a clock that was set back: fake timers that have ended. */
  #isEarly(): boolean {
    const left = this.#until - performance.now();
    return left > 0 && left <= MAX_GIVE_WAY_MS;
  }
}
