import { Alarm } from '../util/Alarm';
import { ListenerCount } from './ListenerCount';
import { HANDOVERS_BESIDE_SHORT_TURNS, OthersTurns } from './OthersTurns';

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
 * An unlock returns how many subscribers got its message. Where it does not (see {@link ListenerCount}), the process
 * waits for its own message in any case.
 *
 * A turn has up to `maxHandOvers` hand-overs within {@link MAX_TURN_MS}, or {@link MAX_TURN_ROUND_TRIPS} where that is
 * longer; the shortest hand-over of this turn and the last is a round trip. {@link OthersTurns} says when it is cut.
 *
 * States: free (tries at each message) -> releasing (own unlock under way: messages are counted) -> giving way (a
 * number of messages is to pass) | alone (only its own message is to pass) -> free. It has a queue, or it rests: no
 * caller of this process waits, but the own message may still come, and the next caller may have to give way.
 */
export class Turns {
  /** What is waited for: the lock's key, together with the values for a group lock. */
  readonly waitKey: string;
  /** The shortest hand-over of this turn and the last one, in ms; `Infinity`: there was no hand-over. */
  roundTripMs = Infinity;
  /** The shortest of this turn alone. */
  #roundTripMs = Infinity;
  #queue: TurnQueue | undefined;
  /** Hand-overs of this turn. */
  #handOvers = 0;
  /** Monotonic time at which this process got the lock from another one, or at which its first waiter came. */
  #startedAt = -Infinity;
  /** Monotonic time until which other processes may sleep, by a lease that was handed on. */
  #toldUntil = -Infinity;
  /** Unlocks under way, and the messages since the last of them was sent. */
  #releasing: number;
  #seen = 0;
  /** Messages that are to pass before one wakes the head. */
  #toPass = 0;
  #alone = false;
  /** Monotonic time at which it tries anyway; while it rests, the time until which it is needed. */
  #until = -Infinity;
  #alarm: Alarm | undefined;
  /** More than 0: this process has the lock, and passes it on before Redis knows. Fresh callers queue for it. */
  #relays = 0;
  /** How the others use their turns; known once this process has handed the lock on. */
  #others: OthersTurns | undefined;
  #listeners: ListenerCount | undefined;

  /**
   * @param waitKey - what is waited for
   * @param releasing - how many unlocks are under way. @default 0
   */
  constructor(waitKey: string, releasing = 0) {
    this.waitKey = waitKey;
    this.#releasing = releasing;
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
    if (this.#relays > 0 || this.#queue !== undefined || this.#releasing > 0) return true;
    const left = this.#until - performance.now();
    return left > 0 && left <= MAX_GIVE_WAY_MS;
  }

  /** Whether others go first: a fresh caller does not attempt before it is woken. */
  get givesWay(): boolean {
    if (this.#relays > 0) return true;
    if (this.#toPass === 0 || this.#alone) return false;
    // A time that is further away is of a clock that was set back: fake timers that have ended.
    const left = this.#until - performance.now();
    return left > 0 && left <= MAX_GIVE_WAY_MS;
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
    this.#toPass = 0;
    this.#alarm?.off();
    this.#others?.ended();
    this.#beginTurn(now);
  }

  /**
   * Whether this process may hand the lock on to a waiter of its own once more, before others get their turn.
   * @param limit - `maxHandOvers`
   */
  mayHandOver(now: number, limit: number): boolean {
    const { roundTripMs } = this;
    const most = this.#others?.areShort === true ? Math.min(limit, HANDOVERS_BESIDE_SHORT_TURNS) : limit;
    // A reply that hangs makes no turn longer, unless the replies of two turns do.
    const longestMs = roundTripMs === Infinity ? 0 : MAX_TURN_ROUND_TRIPS * roundTripMs;
    return this.#handOvers < most && now - this.#startedAt < Math.max(MAX_TURN_MS, longestMs);
  }

  /** The lock is handed on. @param deadline - monotonic time until which Redis would have kept it */
  handedOver(deadline: number): void {
    this.#handOvers++;
    this.#toldUntil = Math.max(this.#toldUntil, deadline);
    this.#toPass = 0;
    this.#alarm?.off();
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
    const ms = performance.now() - sentAt;
    if (ms < this.#roundTripMs) this.#roundTripMs = ms;
    if (ms < this.roundTripMs) this.roundTripMs = ms;
  }

  /** Monotonic time until which other processes may sleep: the latest of this turn. @param deadline - the holder's */
  toldUntil(deadline: number): number {
    return Math.max(this.#toldUntil, deadline);
  }

  /** An unlock with a message is about to be sent. */
  releasing(): void {
    this.#releasing++;
    this.#seen = 0;
    const handOvers = this.#handOvers;
    this.#handOvers = 0;
    if (handOvers > 0) this.#others ??= new OthersTurns();
    this.#others?.begin(handOvers, this.#startedAt);
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
    const known = counted ? receivers : Math.max(receivers, (this.#listeners ??= new ListenerCount()).of(queue));
    const others = Math.max(0, known - (listens ? 1 : 0));
    if (others === 0) this.#others?.left();
    // The own message has come already, or will come.
    this.#toPass = Math.max(0, known - this.#seen);
    // No other process got it: the own message is nothing new to the head, and it tries now. Readers need that
    // message first.
    this.#alone = counted && others === 0 && (receivers === 0 || queue?.readersSleep !== true);
    if (this.#alone || this.#toPass === 0) queue?.wakeHead();
    // If the only subscriber is another process, its message passes first, and then the head tries again.
    if (this.#toPass > 0) this.#wait();
    // Kept this long; otherwise `Subscriptions.released` would count the same unlock again.
    else if (receivers > 0) this.#until = performance.now() + this.giveWayMs;
  }

  /** A message came. @returns whether the head is to try now */
  message(): boolean {
    this.#others?.message();
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

  /** How long this process waits for the others before it tries all the same, in ms. */
  get giveWayMs(): number {
    const { roundTripMs } = this;
    if (roundTripMs === Infinity) return GIVE_WAY_MS;
    return Math.min(Math.max(GIVE_WAY_MS, GIVE_WAY_ROUND_TRIPS * roundTripMs), MAX_GIVE_WAY_MS);
  }

  #beginTurn(now: number): void {
    if (this.#roundTripMs < Infinity) this.roundTripMs = this.#roundTripMs;
    this.#roundTripMs = Infinity;
    this.#startedAt = now;
    this.#handOvers = 0;
    this.#toldUntil = -Infinity;
  }

  /** Messages are to pass: without one the head tries after a while. */
  #wait(): void {
    this.#until = performance.now() + this.giveWayMs;
    if (this.#queue === undefined) return;
    this.#alarm ??= new Alarm(() => this.#queue?.wakeHead(), { awaited: true });
    this.#alarm.set(this.#until);
  }
}
