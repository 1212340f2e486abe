import {
  type CommandExecutor,
  newCleanupRecord,
  newSendRecord,
  type SendRecord,
} from '../../connection/pending/CommandExecutor';
import { PUBLISH_COMMAND } from '../../scripts/Script';
import type { QueueWait } from '../../waiters/QueueWait';
import type { Subscriptions } from '../../waiters/Subscriptions';
import { lockWakeRule } from '../../waiters/WaitQueue';
import { fairChannelKeys } from './fair';
import { checkFairTurn, type FairTurn } from './fairScripts';
import type { Heir, QueueWatch } from './LockKind';
import { lockChannel, UNLOCK_MESSAGE } from './reentrant';

/** How long the head of a queue has to take the lock that it was told of before the first look, in ms. */
const FIRST_LOOK_MS = 300;
/** Given as the time since the head was told, in ms: long enough for the waiters behind it to be probed at once. */
const LONG_AGO_MS = 500;
/** A look comes this much later (ms) than the end of the claims that it checks. */
const MARGIN_MS = 50;

/** A waiter in the queue of a foreign channel, which never attempts anything. */
type Listener = QueueWait<never, Heir>;

/** One queue that is looked after. */
interface Watched {
  readonly rawName: string;
  /** Waiters of this client. */
  waiting: number;
  /** Since when (monotonic) the head has been told, as far as no look has followed. */
  toldAt: number | undefined;
  /** Whether claims run: waiters may depend on the next look. */
  claims: boolean;
  timer: NodeJS.Timeout | undefined;
  /** When that fires (monotonic). */
  dueAt: number;
  /** Looks under way. */
  looks: number;
  /** Channel -> who listens to it: those of the waiters before the first one of this client. */
  readonly listeners: Map<string, Listener>;
}

/**
 * Looks a moment after a fair lock has become free whether the head of its queue has come: a dead or frozen one cannot
 * tell that it does not, and those behind it sleep. One look serves all that happens to a lock within that moment.
 *
 * The lock becomes free by an unlock of this client, or by one of Java, which tells nobody but the head. So while this
 * client waits behind others, and Java may be among them or the holder, it listens to the channels of all before its
 * first waiter. Who they are, a look tells: it follows each attempt that finds such a queue, each message, and each
 * waiter that leaves. Nothing is sent while nothing happens.
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

  told(rawName: string): void {
    if (this.#closed) return;
    const queue = this.#queue(rawName);
    queue.toldAt ??= performance.now();
    this.#lookIn(queue, FIRST_LOOK_MS);
  }

  joined(rawName: string): void {
    this.#queue(rawName).waiting++;
  }

  unheard(rawName: string): void {
    const queue = this.#queues.get(rawName);
    if (queue !== undefined && queue.waiting > 0) this.#lookIn(queue, FIRST_LOOK_MS);
  }

  left(rawName: string): void {
    const queue = this.#queues.get(rawName);
    if (queue === undefined) return;
    // Another one is the first now.
    if (--queue.waiting > 0) return this.#lookIn(queue, FIRST_LOOK_MS);
    this.#listenTo(queue, []);
    // A look that only asks who is before its waiters has no purpose any more.
    if (queue.toldAt === undefined && !queue.claims) this.#stopTimer(queue);
    this.#tidy(queue);
  }

  /** Makes the looks that waiters may depend on now, in the turn of the event loop in which the client closes. */
  close(): void {
    this.#closed = true;
    for (const queue of this.#queues.values()) {
      const due = queue.timer !== undefined && (queue.toldAt !== undefined || queue.claims);
      this.#stopTimer(queue);
      if (due) this.#look(queue, LONG_AGO_MS, newCleanupRecord()).catch(() => undefined);
    }
    this.#queues.clear();
  }

  #queue(rawName: string): Watched {
    let queue = this.#queues.get(rawName);
    if (queue === undefined) {
      queue = {
        rawName,
        waiting: 0,
        toldAt: undefined,
        claims: false,
        timer: undefined,
        dueAt: Infinity,
        looks: 0,
        listeners: new Map(),
      };
      this.#queues.set(rawName, queue);
    }
    return queue;
  }

  /** At the latest: a look that is due sooner stays. */
  #lookIn(queue: Watched, ms: number): void {
    const dueAt = performance.now() + ms;
    if (this.#closed || (queue.timer !== undefined && queue.dueAt <= dueAt)) return;
    this.#stopTimer(queue);
    queue.timer = setTimeout(() => void this.#ask(queue), ms);
    queue.timer.unref();
    queue.dueAt = dueAt;
  }

  #stopTimer(queue: Watched): void {
    clearTimeout(queue.timer);
    queue.timer = undefined;
  }

  async #ask(queue: Watched): Promise<void> {
    const toldMs = queue.toldAt === undefined ? 0 : Math.min(performance.now() - queue.toldAt, FIRST_LOOK_MS);
    this.#stopTimer(queue);
    queue.toldAt = undefined;
    queue.looks++;
    // If it fails, the connection did, and the waiters attempt again when it is back.
    const turn = await this.#look(queue, Math.floor(toldMs), newSendRecord()).catch(() => undefined);
    queue.looks--;
    if (this.#closed) return;
    queue.claims = turn !== undefined && turn.againMs > 0;
    if (queue.claims) this.#lookIn(queue, turn!.againMs + MARGIN_MS);
    // With a drain the subscriptions close first, and all waiters are about to leave.
    if (turn !== undefined && queue.waiting > 0 && !this.#subscriptions.closed) this.#listenTo(queue, turn.ahead);
    this.#tidy(queue);
  }

  #look({ rawName, waiting }: Watched, told: number, sendRecord: SendRecord): Promise<FairTurn> {
    const client = waiting > 0 ? this.#clientId : '';
    return this.#executor.run(
      checkFairTurn,
      fairChannelKeys(rawName),
      { message: UNLOCK_MESSAGE, now: Date.now(), told, client, publish: PUBLISH_COMMAND },
      { what: 'look whether the queue of a fair lock goes on', sendRecord },
    );
  }

  #tidy(queue: Watched): void {
    const { rawName, waiting, timer, looks } = queue;
    if (waiting === 0 && timer === undefined && looks === 0) this.#queues.delete(rawName);
  }

  /** Listens to the channels of these waiters, and to no others. */
  #listenTo(queue: Watched, owners: readonly string[]): void {
    const { listeners, rawName } = queue;
    const base = lockChannel(rawName);
    const channels = new Set(owners.map((owner) => `${base}:${owner}`));
    for (const [channel, listener] of [...listeners]) if (!channels.has(channel)) this.#stop(queue, channel, listener);
    const subscribed: Promise<void>[] = [];
    for (const channel of channels) {
      if (listeners.has(channel)) continue;
      const listener = this.#subscriptions.join<never>(channel, rawName, lockWakeRule, 'shared');
      // Its wait ends with those of this client's waiters: it must not be rejected before.
      listener.timed = true;
      listeners.set(channel, listener);
      subscribed.push(this.#listen(queue, channel, listener));
    }
    if (subscribed.length === 0) return;
    // The queue may have moved on before somebody listened.
    void Promise.all(subscribed).then(() => queue.listeners.size > 0 && this.#lookIn(queue, 0));
  }

  /** @returns when messages arrive, or when it is clear that none will */
  #listen(queue: Watched, channel: string, listener: Listener): Promise<void> {
    const listening = listener.listen() ?? Promise.resolve();
    const hear = async (): Promise<never> => {
      await listening;
      for (;;) {
        // Ends when the listener is stopped: nothing wakes it any more.
        await listener.sleep(Infinity);
        this.told(queue.rawName);
        await listener.listen();
      }
    };
    // Refused, or the client closes.
    hear().catch(() => this.#stop(queue, channel, listener));
    return listening.catch(() => undefined);
  }

  #stop(queue: Watched, channel: string, listener: Listener): void {
    if (queue.listeners.get(channel) !== listener) return;
    queue.listeners.delete(channel);
    listener.leave();
  }
}
