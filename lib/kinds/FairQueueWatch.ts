import { type CommandExecutor, newCleanupRecord, newSendRecord } from '../connection/pending/CommandExecutor';
import { CommandError } from '../errors';
import { PUBLISH_COMMAND } from '../scripts/Script';
import { Alarm } from '../util/Alarm';
import type { Waiter } from '../waiters/Waiter';
import { lockWakeRule } from '../waiters/wakeRules';
import type { Subscriptions } from '../waiters/Subscriptions';
import { fairKeys, checkFairTurn, type FairTurn } from './fair';
import type { Heir, QueueWatch, Wakeable } from './Kind';
import { lockChannel, UNLOCK_MESSAGE } from './reentrant';

/**
 * How long after its notification the head of a queue is checked for the first time, in ms: by then it should have the
 * lock.
 */
const FIRST_CHECK_MS = 300;
/** Sent as the time since the head was notified, in ms: so long that the waiters behind it are probed at once. */
const LONG_AGO_MS = 500;
/** How long after a check that failed the next one is made, in ms; twice as long after each {@link MAX_FAILURES}. */
const RETRY_MS = 1000;
/** The longest such pause, in ms. */
const LONGEST_RETRY_MS = 5000;
/**
 * The number of checks in a row that may fail while no waiter of this client depends on them, unless the server refuses
 * them only for now: then waiters of other clients depend on them, since the messages to those were refused, too.
 */
const MAX_FAILURES = 5;
/** A check is made this much later (ms) than the end of the claims that it checks. */
const MARGIN_MS = 50;

/** How it listens to a foreign channel: no caller waits there. */
const LISTENING = { name: undefined, waitOrder: 'shared', wakeRule: lockWakeRule } as const;

/** A waiter in the queue of a foreign channel, which never attempts anything. */
type Listener = Waiter<never, Heir>;

/** A queue that is watched. */
class Watched {
  readonly rawName: string;
  /** Rings when the next check is due. */
  readonly alarm: Alarm;
  /** The waiters of this client. */
  readonly waiting = new Set<Wakeable>();
  /** Monotonic time at which the head was notified; `undefined` once a check has followed. */
  notifiedAt: number | undefined;
  /** Whether claims are running: waiters may depend on the next check. */
  claims = false;
  /** The number of checks under way. */
  checks = 0;
  /** The number of checks in a row that have failed. */
  failures = 0;
  /** Channel -> its listener, for the channels of the waiters ahead of the first one of this client. */
  readonly listeners = new Map<string, Listener>();

  constructor(rawName: string, check: (queue: Watched) => void) {
    this.rawName = rawName;
    this.alarm = new Alarm(() => check(this));
  }
}

/**
 * Shortly after a fair lock has become free, checks whether the head of its queue has acquired it. A dead or frozen
 * head cannot report that it does not, and the waiters behind it sleep. One check serves all events of a lock in that
 * time.
 *
 * The lock becomes free by an unlock of this client, or by one of a Java client, which notifies only the head. So while
 * this client waits behind others, and one of them or the holder may be a Java client, it subscribes to the channels of
 * all waiters ahead of its own first one. A check returns who these are. It follows each attempt that finds such a
 * queue, each message, and each waiter that leaves. Without such an event nothing is sent.
 *
 * States: open -> closed.
 */
export class FairQueueWatch implements QueueWatch {
  readonly #executor: CommandExecutor;
  readonly #subscriptions: Subscriptions<Heir>;
  readonly #clientId: string;
  readonly #queues = new Map<string, Watched>();
  #closed = false;

  constructor(executor: CommandExecutor, subscriptions: Subscriptions<Heir>, clientId: string) {
    this.#executor = executor;
    this.#subscriptions = subscriptions;
    this.#clientId = clientId;
  }

  notified(rawName: string): void {
    if (this.#closed) return;
    const queue = this.#queue(rawName);
    queue.notifiedAt ??= performance.now();
    this.#checkIn(queue, FIRST_CHECK_MS);
  }

  joined(rawName: string, waiter: Wakeable): void {
    this.#queue(rawName).waiting.add(waiter);
  }

  unheard(rawName: string): void {
    const queue = this.#queues.get(rawName);
    if (queue !== undefined && queue.waiting.size > 0) this.#checkIn(queue, FIRST_CHECK_MS);
  }

  left(rawName: string, waiter: Wakeable): void {
    const queue = this.#queues.get(rawName);
    if (queue?.waiting.delete(waiter) !== true) return;
    // Another waiter of this client may be its first now.
    if (queue.waiting.size > 0) return this.#checkIn(queue, FIRST_CHECK_MS);
    this.#listenTo(queue, []);
    // A check that only asks who is ahead of its waiters is not needed any more.
    if (queue.notifiedAt === undefined && !queue.claims) queue.alarm.off();
    this.#tidy(queue);
  }

  /** Makes the checks that waiters may depend on now, in the turn of the event loop in which the client closes. */
  close(): void {
    this.#closed = true;
    for (const queue of this.#queues.values()) {
      const due = queue.alarm.at !== Infinity && (queue.notifiedAt !== undefined || queue.claims);
      queue.alarm.off();
      if (due) this.#check(queue, LONG_AGO_MS, newCleanupRecord()).catch(() => undefined);
    }
    this.#queues.clear();
  }

  #queue(rawName: string): Watched {
    const queue = this.#queues.get(rawName) ?? new Watched(rawName, (one) => void this.#ask(one));
    this.#queues.set(rawName, queue);
    return queue;
  }

  /** Schedules a check in at most `ms` milliseconds; one that is due sooner stays. */
  #checkIn(queue: Watched, ms: number): void {
    if (!this.#closed) queue.alarm.setBy(performance.now() + ms);
  }

  async #ask(queue: Watched): Promise<void> {
    const { notifiedAt } = queue;
    const sinceMs = notifiedAt === undefined ? 0 : Math.min(performance.now() - notifiedAt, FIRST_CHECK_MS);
    queue.notifiedAt = undefined;
    queue.checks++;
    const turn = await this.#check(queue, Math.floor(sinceMs)).catch((error: Error) => error);
    queue.checks--;
    if (this.#closed) return;
    if (turn instanceof Error) {
      this.#failed(queue, notifiedAt, turn);
    } else {
      const [againMs, ahead] = turn;
      const [first] = queue.waiting;
      queue.failures = 0;
      queue.claims = againMs > 0;
      if (queue.claims) this.#checkIn(queue, againMs + MARGIN_MS);
      // In a drain the subscriptions close first, and all waiters are about to leave.
      if (first !== undefined && !this.#subscriptions.closed) this.#listenTo(queue, ahead);
      // There was a message, and the lock is held, perhaps with a lease that ends before the one that waiters have
      // seen. If the head is a Java client, it sleeps on, and so do those behind it. So the first waiter of this client
      // attempts: it learns the new lease, and attempts again when that ends.
      if (notifiedAt !== undefined && !queue.claims && ahead.length > 0) first?.wake('doubt');
    }
    this.#tidy(queue);
  }

  /** Waiters sleep, and may depend on the check that failed (a time-out, a refusal by the server): it is made again. */
  #failed(queue: Watched, notifiedAt: number | undefined, error: Error): void {
    queue.failures++;
    if (queue.waiting.size === 0 && queue.failures >= MAX_FAILURES && !isForNow(error)) {
      queue.claims = false;
      queue.failures = 0;
      return;
    }
    queue.notifiedAt ??= notifiedAt;
    this.#checkIn(queue, Math.min(RETRY_MS * 2 ** Math.floor(queue.failures / MAX_FAILURES), LONGEST_RETRY_MS));
  }

  #check({ rawName, waiting }: Watched, sinceMs: number, sendRecord = newSendRecord()): Promise<FairTurn> {
    const client = waiting.size > 0 ? this.#clientId : '';
    return this.#executor.run(
      checkFairTurn,
      fairKeys(rawName),
      { message: UNLOCK_MESSAGE, told: sinceMs, client, publish: PUBLISH_COMMAND },
      { what: 'check the queue of a fair lock', sendRecord },
    );
  }

  #tidy({ rawName, waiting, alarm, checks }: Watched): void {
    if (waiting.size === 0 && alarm.at === Infinity && checks === 0) this.#queues.delete(rawName);
  }

  /** Subscribes to the channels of exactly these waiters. */
  #listenTo(queue: Watched, owners: readonly string[]): void {
    const { listeners, rawName } = queue;
    const base = lockChannel(rawName);
    const channels = new Set(owners.map((owner) => `${base}:${owner}`));
    for (const [channel, listener] of [...listeners]) if (!channels.has(channel)) this.#stop(queue, channel, listener);
    const subscribed: Promise<void>[] = [];
    for (const channel of channels) {
      if (listeners.has(channel)) continue;
      const listener = this.#subscriptions.join<never>(LISTENING, channel, rawName);
      // Its wait ends with those of this client's waiters: a failed subscription must not reject it before.
      listener.timed = true;
      listeners.set(channel, listener);
      subscribed.push(this.#listen(queue, channel, listener));
    }
    if (subscribed.length === 0) return;
    // The queue may have changed before the subscriptions were live.
    void Promise.all(subscribed).then(() => queue.listeners.size > 0 && this.#checkIn(queue, 0));
  }

  /** @returns a promise that resolves when messages arrive, or when it is certain that they will not */
  #listen(queue: Watched, channel: string, listener: Listener): Promise<void> {
    const listening = listener.listen() ?? Promise.resolve();
    const hear = async (): Promise<void> => {
      await listening;
      for (;;) {
        // Sleeps for ever once the listener is stopped: nothing wakes it any more.
        await listener.sleep(Infinity);
        // It was woken and stopped in one turn.
        if (queue.listeners.get(channel) !== listener) return;
        this.notified(queue.rawName);
        await listener.listen();
      }
    };
    // The subscription was refused, or the client closes.
    hear().catch(() => this.#stop(queue, channel, listener));
    return listening.catch(() => undefined);
  }

  #stop(queue: Watched, channel: string, listener: Listener): void {
    if (queue.listeners.get(channel) !== listener) return;
    queue.listeners.delete(channel);
    listener.leave();
  }
}

/** Whether the server has refused whatever writes, as it does while its disk or its memory is full. */
function isForNow(error: Error): boolean {
  return error instanceof CommandError && !error.mayHaveRun && error.reply !== 'WRONGTYPE';
}
