import type { Reply } from '../../../lib/testing/store/replies';
import { within } from './JavaConnection';

/** A channel that threads of one Java client wait on: a semaphore that messages add to. */
export class JavaEntry {
  count = 1;
  #tokens = 0;
  #sleepers: (() => void)[] = [];

  /** A wake-up; one that comes while nobody sleeps is kept for the next. */
  wakeOne(): void {
    const sleeper = this.#sleepers.shift();
    if (sleeper === undefined) this.#tokens++;
    else sleeper();
  }

  wakeAll(): void {
    for (const sleeper of this.#sleepers.splice(0)) sleeper();
  }

  /** @param ms - at most so long */
  sleep(ms: number): Promise<void> {
    if (this.#tokens > 0) {
      this.#tokens--;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const woken = (): void => (clearTimeout(timer), resolve());
      const timer =
        ms === Infinity
          ? undefined
          : setTimeout(() => {
              this.#sleepers = this.#sleepers.filter((each) => each !== woken);
              resolve();
            }, ms);
      this.#sleepers.push(woken);
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

  constructor(send: (...words: string[]) => Promise<Reply>) {
    this.#send = send;
  }

  /** @param name - of the lock @throws JavaTimeoutError */
  async subscribe(channel: string, name: string, ms: number): Promise<JavaEntry> {
    const got = this.#alone(channel, () => this.#enter(channel, name));
    try {
      return await within(ms, 'subscribing', got);
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
    const entry = new JavaEntry();
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
