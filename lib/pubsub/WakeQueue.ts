import { SubscriptionTimeoutError } from '../errors';
import { clampTimer } from '../util/duration';
import { Place, type PlaceHost, type PlaceKind, type Waiting } from './Place';
import { Rotation } from './Rotation';
import { Unsubscribed, type UnsubscribedQueue } from './Unsubscribed';
import type { WakeRule } from './wakeRules';

/** A turn lasts at most so long, in ms, so that slow sections do not keep others waiting for many times their length. */
const MAX_TURN_MS = 20;
/** So many of the crowd look again at once while they hear nothing ... */
const CROWD_LOOKS = 10;
/** ... and each of them that gets in sends so many others, since what it found may be there for them, too. */
const FOLLOWERS = 2;

/** What a queue needs of the subscription it shares. */
export interface QueueHost {
  readonly channel: string;
  /** How long a waiter without a limit waits to become subscribed, in ms. */
  readonly subscriptionTimeout: number;
  /** Longest pause between two attempts of those who are not subscribed, in ms. */
  readonly longestPause: number;
  /** Whether the channel is subscribed, or will be again as soon as its connection is back. */
  readonly live: boolean;
  /** Whether messages arrive. */
  readonly heard: boolean;
  /** Whether an unlock tells how many listen to this channel, and all of them wait for what this queue waits for. */
  readonly counted: boolean;
  /** How many listen to this channel, where an unlock does not tell; `undefined`: nobody can say. */
  countListeners(): Promise<number> | undefined;
  /** Subscribes, for all its queues together, and tells them when it is done. @returns whether it is done already */
  listen(): boolean;
  /** The queue is empty. */
  remove(queue: WakeQueue): void;
}

/**
 * Those of this process who wait for one object: one raw name, on its channel.
 *
 * - The **line** (exclusive locks) is one waiter for Redis: its head attempts, listens and looks again when the ttl has
 *   passed; the others sleep until it is their turn, or until one is to find out what became of an attempt of its own. A head that acquires leaves its successor asleep, to be handed the
 *   lock or woken by the unlock; a head that gives up while awake hands the wake-up on.
 * - The **crowd** (readers, semaphores, latches): each waiter attempts for itself.
 *
 * Invariants: 1. the queue is subscribed, or about to be, whenever anybody in it sleeps but who waits for its turn, and it
 * looks again now and then as long as it hears nothing;
 * 2. the head of the line is never asleep without a bound unless the lock has no expiry; 3. an empty queue is not in the hub.
 */
export class WakeQueue implements PlaceHost, UnsubscribedQueue {
  /** The object's key in Redis. */
  readonly rawName: string;
  /** What its messages mean. */
  readonly rule: WakeRule;
  readonly #subscription: QueueHost;
  /** Hand-overs within this process since it got the lock. */
  #handOvers = 0;
  /** Monotonic time at which this process got the lock from another one, or at which its first waiter came. */
  #turnStartedAt = performance.now();
  // Made when needed: most queues live for one attempt of one waiter, on the hot path.
  #rotation: Rotation | undefined;
  #head: Waiting | undefined;
  /** The line behind its head. */
  #rest: Set<Waiting> | undefined;
  #crowd: Set<Waiting> | undefined;
  /** Whether its first waiter lets other processes go first. */
  #yields = false;
  #recheckAt = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  /** While somebody listens who is not subscribed. */
  #unsubscribed: Unsubscribed | undefined;
  /** How many of the crowd stand before the one that looks again next. */
  #looked = 0;

  /** Made by the hub only. */
  constructor(subscription: QueueHost, rawName: string, rule: WakeRule) {
    this.#subscription = subscription;
    this.rawName = rawName;
    this.rule = rule;
  }

  get channel(): string {
    return this.#subscription.channel;
  }

  /** The first of the line. */
  get head(): Waiting | undefined {
    return this.#head;
  }

  /** How many wait, in the line and in the crowd. */
  get size(): number {
    return (this.#head === undefined ? 0 : 1) + (this.#rest?.size ?? 0) + (this.#crowd?.size ?? 0);
  }

  /**
   * Whether a fresh waiter of the line must not attempt before others: somebody stands in the line, or readers sleep who
   * have not heard yet that they may try, and whom a writer would pass each time.
   */
  get mustQueue(): boolean {
    return this.#head !== undefined || this.#crowdSleeps;
  }

  /**
   * Takes a place.
   * @param waiter - who waits, for the holder that may hand the lock over
   * @param need - how many permits it waits for
   */
  join<T>(kind: PlaceKind, waiter?: object, need = 1): Place<T> {
    const place = new Place<T>(this, kind, waiter, need);
    if (kind === 'crowd') (this.#crowd ??= new Set()).add(place);
    else if (this.#head === undefined) this.#head = place;
    else (this.#rest ??= new Set()).add(place);
    this.#unsubscribed?.joined();
    return place;
  }

  /**
   * Its first waiter is to let other processes go first: it listens, and does not attempt before so many messages, or a pause.
   */
  giveWay(others: number): void {
    this.#yields = true;
    if (others > 1) this.#rotate().giveWay(others);
    // Should it be refused, the waiter asks anew, and is told.
    this.listen();
  }

  /** This process got the lock by an attempt of its own: a new turn begins. */
  beginTurn(now: number): void {
    this.#handOvers = 0;
    this.#turnStartedAt = now;
    this.#rotation?.turnBegins();
  }

  /**
   * Whether this process may hand the lock on to a waiter of its own once more, before others get their turn.
   * @param limit - `maxHandOvers`
   */
  mayHandOver(now: number, limit: number): boolean {
    const rotation = this.#rotation;
    if (this.#handOvers >= limit || this.#handOvers >= (rotation?.handOvers ?? Infinity)) return false;
    return now - this.#turnStartedAt < MAX_TURN_MS;
  }

  /** The lock is handed on. */
  handedOver(): void {
    this.#handOvers++;
  }

  /** An unlock that tells everybody is about to be sent. */
  releasing(): void {
    this.#rotate().releasing(this.#handOvers, performance.now() - this.#turnStartedAt);
  }

  /** It was answered. @param receivers - see {@link Rotation.released} */
  released(receivers: number): void {
    const { counted } = this.#subscription;
    this.#rotation?.released(receivers, counted, this.#crowdSleeps);
    if (!counted) this.#rotation?.count(() => this.#subscription.countListeners());
  }

  /** Whether the place is the first of the line. */
  isHead(place: Waiting): boolean {
    return place === this.#head;
  }

  mayBegin(place: Waiting): boolean {
    return place === this.#head && !this.#yields && !this.#crowdSleeps;
  }

  get subscriptionTimeout(): number {
    return this.#subscription.subscriptionTimeout;
  }

  get longestPause(): number {
    return this.#subscription.longestPause;
  }

  listen(): boolean {
    if (this.#subscription.listen()) return true;
    this.#unsubscribed ??= new Unsubscribed(this);
    return false;
  }

  /** The channel is subscribed. Who has attempted before that may have missed a message. */
  subscribed(): void {
    this.#endUnsubscribed();
    for (const place of this.#all()) place.subscribed();
  }

  /** The channel cannot be subscribed: those who listen are told. */
  refused(error: Error): void {
    this.#endUnsubscribed();
    for (const place of this.#all()) place.refused(error);
  }

  lookAgain(): void {
    const crowd = [...(this.#crowd ?? [])];
    const looks = Math.min(CROWD_LOOKS, crowd.length);
    for (let i = 0; i < looks; i++) crowd[(this.#looked + i) % crowd.length]!.startle();
    this.#looked = crowd.length === 0 ? 0 : (this.#looked + looks) % crowd.length;
    this.#head?.startle();
  }

  expire(joinedAt: number): number | undefined {
    let next: number | undefined;
    for (const place of this.#all()) {
      if (place.timed) continue;
      if (place.joinedAt <= joinedAt)
        place.reject(new SubscriptionTimeoutError(this.channel, this.subscriptionTimeout));
      else next = Math.min(next ?? Infinity, place.joinedAt);
    }
    return next;
  }

  /** A message of the channel. */
  message(text: string): void {
    const whom = this.rule(text);
    if (whom === 'none') return;
    if (typeof whom === 'number') return this.wakeSome(whom);
    if (typeof whom === 'object') return this.wakeFitting(whom.permits);
    for (const place of this.#crowd ?? []) place.wake();
    if (this.#rotation?.message() !== false) this.#head?.wake();
  }

  /** Wakes so many of the crowd who have no wake-up yet, the longest waiting first. */
  wakeSome(count: number): void {
    let left = count;
    for (const place of this.#crowd ?? []) {
      if (left === 0) return;
      if (place.wake()) left--;
    }
  }

  /** Wakes those of the crowd whom so many permits are enough for, the longest waiting first. */
  wakeFitting(permits: number): void {
    let left = permits;
    for (const place of this.#crowd ?? []) {
      if (left === 0) return;
      if (place.need <= left && place.wake()) left -= place.need;
    }
  }

  /** Messages may have been lost: everybody who may attempt looks again. */
  wakeAll(): void {
    for (const place of this.#crowd ?? []) place.wake();
    this.#head?.wake();
  }

  alarm(): void {
    for (const place of this.#all()) place.startle();
  }

  /** Ends every wait with an error. */
  rejectAll(error: Error): void {
    for (const place of this.#all()) place.reject(error);
  }

  /** The head looks again after so many ms. One timer serves the whole line, and is left alone while it fires early. */
  recheckIn(ms: number): void {
    this.#recheckAt = ms === Infinity ? Infinity : performance.now() + Math.max(1, ms);
    if (this.#recheckAt < this.#timerAt) this.#arm();
  }

  /** A place is left. @param awake - it was not asleep @param leaseMs - it acquired, for so long */
  remove(place: Waiting, awake: boolean, leaseMs: number | undefined): void {
    if (place.kind === 'crowd') {
      // A wake-up it did not use, or used in vain, is somebody else's.
      const handsOn = place.banked || (place.woken && leaseMs === undefined);
      const there = this.#crowd?.delete(place) === true;
      if (there && leaseMs !== undefined && !this.#subscription.heard) this.wakeSome(FOLLOWERS);
      else if (there && handsOn) this.wakeSome(1);
    } else if (place === this.#head) {
      this.#yields = false;
      this.#head = this.#rest?.values().next().value;
      if (this.#head !== undefined) this.#rest?.delete(this.#head);
      this.#succeed(place, awake, leaseMs);
    } else this.#rest?.delete(place);
    if (this.size === 0) this.#close();
  }

  #rotate(): Rotation {
    return (this.#rotation ??= new Rotation(() => this.#head?.wake()));
  }

  #all(): Waiting[] {
    return [...(this.#head === undefined ? [] : [this.#head]), ...(this.#rest ?? []), ...(this.#crowd ?? [])];
  }

  #endUnsubscribed(): void {
    this.#unsubscribed?.end();
    this.#unsubscribed = undefined;
  }

  get #crowdSleeps(): boolean {
    for (const place of this.#crowd ?? []) if (place.asleep) return true;
    return false;
  }

  #succeed(former: Waiting, awake: boolean, leaseMs: number | undefined): void {
    if (leaseMs !== undefined) this.#rotation?.reset();
    const head = this.#head;
    if (head === undefined) return;
    if (!this.#subscription.live || former.banked || (awake && leaseMs === undefined)) head.wake();
    else if (leaseMs !== undefined) this.recheckIn(leaseMs);
    // else: it gave up in its sleep, and its bound holds for the successor as well
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerAt = this.#recheckAt = Infinity;
    this.#rotation?.close();
    this.#endUnsubscribed();
    this.#subscription.remove(this);
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timerAt = this.#recheckAt;
    if (this.#recheckAt === Infinity) return;
    this.#timer = setTimeout(
      () => {
        this.#timerAt = Infinity;
        if (performance.now() >= this.#recheckAt) this.#head?.wake();
        else this.#arm();
      },
      clampTimer(Math.ceil(this.#recheckAt - performance.now())),
    );
  }
}
