import pDefer from 'p-defer';
import { ShutdownError } from '../../errors';
import type { Subscriber, SubscriberEvents } from './Subscriber';

/**
 * Listens in a cluster: to classic or to sharded pub/sub. Until it is known which, it only records what is wanted.
 */
export class ClusterSubscriber implements Subscriber {
  events: SubscriberEvents | undefined;
  readonly countListeners: (channel: string) => Promise<number | undefined>;
  readonly #chosen: Promise<Subscriber>;
  #subscriber: Subscriber | undefined;
  #sharded = false;
  readonly #over = pDefer<never>();
  #closed = false;

  /**
   * @param sharded - whether pub/sub is sharded; may stay pending
   * @param open - makes the subscriber for that
   * @param countListeners - how many listen to a classic channel on all nodes
   */
  constructor(
    sharded: Promise<boolean>,
    open: (sharded: boolean) => Subscriber,
    countListeners: (channel: string) => Promise<number | undefined>,
  ) {
    this.countListeners = countListeners;
    this.#chosen = Promise.race([this.#over.promise, sharded]).then((choice) => {
      if (this.#closed) throw new ShutdownError();
      this.#sharded = choice;
      const subscriber = open(choice);
      subscriber.events = this.events;
      return (this.#subscriber = subscriber);
    });
    this.#chosen.catch(() => undefined);
  }

  get countsReceivers(): boolean {
    return this.#sharded;
  }

  subscribe(channel: string): Promise<void> {
    return this.#chosen.then((subscriber) => subscriber.subscribe(channel));
  }

  unsubscribe(channel: string): void {
    void this.#chosen.then((subscriber) => subscriber.unsubscribe(channel)).catch(() => undefined);
  }

  probe(): void {
    this.#subscriber?.probe();
  }

  close(): void {
    this.#closed = true;
    this.#over.reject(new ShutdownError());
    this.#subscriber?.close();
  }
}
