import type { Reply } from '../../../lib/testing/store/replies';
import { within } from './JavaConnection';

/** A thread that sleeps until a message or the end of the time that the server told it. */
export interface JavaSleep {
  readonly owner: string;
  /** When it asked for the lock, in ms of the world. */
  readonly askedAt: number;
  over: boolean;
  /** Whether a message has woken another thread of its process since then. */
  passedOver: boolean;
  /** Whether it did not hear a message that was for all, or another thread heard the only one and gave up. */
  missed: boolean;
}

/** A channel that threads of one Java client wait on: a semaphore that messages add to. */
export class JavaEntry {
  count = 1;
  #tokens = 0;
  #sleepers: { readonly sleep: JavaSleep; wake(): void }[] = [];
  /** When the last message for all came, in ms of the world. */
  #allAt = -Infinity;
  readonly #worldNow: () => number;

  constructor(worldNow: () => number) {
    this.#worldNow = worldNow;
  }

  /** A wake-up; one that comes while nobody sleeps is kept for the next. */
  wakeOne(): void {
    const sleeper = this.#sleepers.shift();
    if (sleeper === undefined) this.#tokens++;
    else sleeper.wake();
    for (const { sleep } of this.#sleepers) sleep.passedOver = true;
  }

  /** For those that sleep just now: nothing is kept for a thread that has been told a time, and does not sleep yet. */
  wakeAll(): void {
    this.#allAt = this.#worldNow();
    for (const sleeper of this.#sleepers.splice(0)) sleeper.wake();
  }

  /** Who was woken has not looked at the lock: its time is over. */
  wasted(): void {
    for (const { sleep } of this.#sleepers) sleep.missed = true;
  }

  /** @param ms - at most so long @param begins - told what the model knows of it @returns whether a message came */
  sleep(owner: string, ms: number, askedAt: number, begins: (sleep: JavaSleep) => void): Promise<boolean> {
    if (this.#tokens > 0) {
      this.#tokens--;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const sleep = { owner, askedAt, over: false, passedOver: false, missed: this.#allAt >= askedAt };
      begins(sleep);
      const end = (byMessage: boolean): void => {
        sleep.over = true;
        resolve(byMessage);
      };
      const sleeper = { sleep, wake: () => (clearTimeout(timer), end(true)) };
      const timer =
        ms === Infinity
          ? undefined
          : setTimeout(() => {
              this.#sleepers = this.#sleepers.filter((each) => each !== sleeper);
              end(false);
            }, ms);
      this.#sleepers.push(sleeper);
    });
  }
}

/**
 * Which channels a Java client listens to, and how many of its threads want each: an entry for each channel and lock,
 * since `x` and `{x}` have one channel.
 */
export class JavaSubscriptions {
  readonly #channels = new Map<string, Map<string, JavaEntry>>();
  readonly #locks = new Map<string, Promise<unknown>>();
  readonly #send: (...words: string[]) => Promise<Reply>;
  readonly #worldNow: () => number;

  constructor(send: (...words: string[]) => Promise<Reply>, worldNow: () => number) {
    this.#send = send;
    this.#worldNow = worldNow;
  }

  /** @param name - of the lock @throws JavaTimeoutError */
  async subscribe(channel: string, name: string, ms: number): Promise<JavaEntry> {
    const got = this.#alone(channel, () => this.#enter(channel, name));
    try {
      return await within(ms, 'subscribing', got, false);
    } catch (error) {
      // Whoever did not wait for it has no use for it.
      got.then(
        () => this.unsubscribe(channel, name),
        () => undefined,
      );
      throw error;
    }
  }

  unsubscribe(channel: string, name: string): void {
    const done = this.#alone(channel, async () => {
      const entries = this.#channels.get(channel);
      const entry = entries?.get(name);
      if (entries === undefined || entry === undefined || --entry.count > 0) return;
      entries.delete(name);
      if (entries.size > 0) return;
      this.#channels.delete(channel);
      await this.#send('UNSUBSCRIBE', channel);
    });
    done.catch(() => undefined);
  }

  /** The connection is there again. */
  resubscribe(): void {
    for (const channel of this.#channels.keys()) this.#send('SUBSCRIBE', channel).catch(() => undefined);
  }

  message(channel: string, message: string): void {
    for (const entry of this.#channels.get(channel)?.values() ?? []) {
      if (message === '0') entry.wakeOne();
      if (message === '1') entry.wakeAll();
    }
  }

  async #enter(channel: string, name: string): Promise<JavaEntry> {
    let entries = this.#channels.get(channel);
    const known = entries?.get(name);
    if (known !== undefined) {
      known.count++;
      return known;
    }
    const entry = new JavaEntry(this.#worldNow);
    if (entries !== undefined) {
      entries.set(name, entry);
      return entry;
    }
    this.#channels.set(channel, (entries = new Map([[name, entry]])));
    try {
      await this.#send('SUBSCRIBE', channel);
      return entry;
    } catch (error) {
      this.#channels.delete(channel);
      // It may arrive all the same.
      this.#send('UNSUBSCRIBE', channel).catch(() => undefined);
      throw error;
    }
  }

  /** One after another for each channel. */
  #alone<T>(channel: string, run: () => Promise<T>): Promise<T> {
    const before = this.#locks.get(channel) ?? Promise.resolve();
    const mine = before.then(run, run);
    this.#locks.set(
      channel,
      mine.catch(() => undefined),
    );
    return mine;
  }
}
