import type { NodeAddress } from '../../config/Topology';
import { ShutdownError } from '../../errors';
import type { ClusterView } from '../cluster/ClusterView';
import type { ConnectionSubscriber } from './ConnectionSubscriber';
import type { Subscriber, SubscriberEvents } from './Subscriber';

/** The connection that listens at one master. */
interface Master {
  readonly subscriber: ConnectionSubscriber;
  /** The channels requested there, with their acknowledgements. */
  readonly asked: Map<string, Promise<void>>;
}

/**
 * Listens at every master of a cluster to the same classic channels: a node sends events about its keys only to
 * clients that listen at that node. It follows the masters as they come and go.
 */
export class MastersSubscriber implements Subscriber {
  events: SubscriberEvents | undefined;
  readonly countsReceivers = false;
  readonly #view: ClusterView;
  readonly #open: (address: NodeAddress) => ConnectionSubscriber;
  readonly #masters = new Map<string, Master>();
  readonly #channels = new Set<string>();
  readonly #stopFollowing: () => void;
  #closed = false;

  /** @param open - makes the connection that listens at one master */
  constructor(view: ClusterView, open: (address: NodeAddress) => ConnectionSubscriber) {
    this.#view = view;
    this.#open = open;
    this.#stopFollowing = view.onChange(() => this.#follow());
  }

  async subscribe(channel: string): Promise<void> {
    this.#channels.add(channel);
    await this.#view.known;
    this.#follow();
    for (;;) {
      const masters = [...this.#masters.values()];
      const replies = await Promise.allSettled(masters.map(async ({ asked }) => asked.get(channel)));
      if (this.#closed) throw new ShutdownError();
      // Masters that left meanwhile do not count; new ones do.
      const present = [...this.#masters.values()];
      if (!present.every((master) => masters.includes(master))) continue;
      const failed = replies.find((reply, i) => reply.status === 'rejected' && present.includes(masters[i]!));
      if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
      return;
    }
  }

  unsubscribe(channel: string): void {
    this.#channels.delete(channel);
    for (const { subscriber, asked } of this.#masters.values()) {
      if (asked.delete(channel)) subscriber.unsubscribe(channel);
    }
  }

  probe(): void {
    for (const { subscriber } of this.#masters.values()) subscriber.probe();
  }

  close(): void {
    this.#closed = true;
    this.#stopFollowing();
    for (const { subscriber } of this.#masters.values()) subscriber.close();
    this.#masters.clear();
  }

  /** Listens at all current masters, and at no other. */
  #follow(): void {
    if (this.#closed) return;
    const { masters } = this.#view;
    for (const [key, { subscriber }] of this.#masters) {
      if (masters.has(key)) continue;
      this.#masters.delete(key);
      subscriber.close();
    }
    for (const [key, address] of masters) {
      const { subscriber, asked } = this.#masters.get(key) ?? this.#add(key, address);
      for (const channel of this.#channels) {
        if (asked.has(channel)) continue;
        const subscribed = subscriber.subscribe(channel);
        // No caller waits for the answer of a master that joined later. The connection retries by itself where that
        // can help.
        subscribed.catch(() => undefined);
        asked.set(channel, subscribed);
      }
    }
  }

  #add(key: string, address: NodeAddress): Master {
    const subscriber = this.#open(address);
    subscriber.events = {
      message: (channel, message) => this.events?.message(channel, message),
      interrupted: () => {
        this.events?.interrupted();
        this.#view.trouble();
      },
      restored: () => this.events?.restored(),
    };
    const master = { subscriber, asked: new Map<string, Promise<void>>() };
    this.#masters.set(key, master);
    return master;
  }
}
