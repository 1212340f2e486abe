import pDefer, { type DeferredPromise } from 'p-defer';
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeAddress } from '../../config/Topology';
import { ShutdownError } from '../../errors';
import { slotOf } from '../../util/names';
import type { ClusterView } from '../cluster/ClusterView';
import type { ConnectionSubscriber } from './ConnectionSubscriber';
import { isReply } from '../link/replyErrors';
import type { Subscriber, SubscriberEvents } from './Subscriber';

/** Where a channel is subscribed. */
interface ChannelSubscription {
  /** The master at which it is subscribed, or about to be; `undefined` while its slot has no owner. */
  shard: string | undefined;
  readonly subscribed: DeferredPromise<void>;
  /** How often a node has redirected it. */
  moves: number;
}

/** A channel that is redirected moves on at once this many times, and then ... */
const FREE_MOVES = 3;
/** ... after this many ms each time: the nodes of the cluster do not agree yet. */
const MOVE_PAUSE_MS = 100;

/** Makes the connection that listens at one master. */
export type OpenShard = (address: NodeAddress, moved: (channel: string, error: Error) => void) => ConnectionSubscriber;

/**
 * Sharded pub/sub: each channel is subscribed at the master that owns its slot, on one connection for each master,
 * opened for its first channel. When a slot gets another owner, its channels follow, and their waiters try again.
 */
export class ShardedSubscriber implements Subscriber {
  events: SubscriberEvents | undefined;
  readonly countsReceivers = true;
  readonly #view: ClusterView;
  readonly #open: OpenShard;
  readonly #shards = new Map<string, ConnectionSubscriber>();
  readonly #subscriptions = new Map<string, ChannelSubscription>();
  /** Shards whose messages are lost for now. */
  readonly #silent = new Set<string>();
  #closed = false;

  constructor(view: ClusterView, open: OpenShard) {
    this.#view = view;
    this.#open = open;
    view.onChange(() => this.#follow());
  }

  subscribe(channel: string): Promise<void> {
    if (this.#closed) return Promise.reject(new ShutdownError());
    let subscription = this.#subscriptions.get(channel);
    if (subscription === undefined) {
      this.#subscriptions.set(channel, (subscription = { shard: undefined, subscribed: pDefer<void>(), moves: 0 }));
      void this.#settle(channel, subscription);
    }
    return subscription.subscribed.promise;
  }

  unsubscribe(channel: string): void {
    const subscription = this.#subscriptions.get(channel);
    if (subscription === undefined) return;
    this.#subscriptions.delete(channel);
    this.#shards.get(subscription.shard ?? '')?.unsubscribe(channel);
  }

  probe(): void {
    for (const shard of this.#shards.values()) shard.probe();
  }

  close(): void {
    this.#closed = true;
    for (const subscription of this.#subscriptions.values()) subscription.subscribed.reject(new ShutdownError());
    this.#subscriptions.clear();
    for (const shard of this.#shards.values()) shard.close();
    this.#shards.clear();
  }

  /** Subscribes a channel where its slot is. Never rejects. */
  async #settle(channel: string, subscription: ChannelSubscription): Promise<void> {
    const key = this.#view.ownerOf(slotOf(channel));
    subscription.shard = key;
    const address = key === undefined ? undefined : this.#view.masters.get(key);
    if (key === undefined || address === undefined) return this.#view.trouble();
    try {
      if (subscription.moves > FREE_MOVES) await pause(MOVE_PAUSE_MS, undefined, { ref: false });
      if (subscription.shard !== key || this.#subscriptions.get(channel) !== subscription) return;
      await this.#shard(key, address).subscribe(channel);
      subscription.moves = 0;
      subscription.subscribed.resolve();
    } catch (error) {
      // Moved on meanwhile: that move settles it.
      if (subscription.shard !== key || this.#subscriptions.get(channel) !== subscription) return;
      this.#subscriptions.delete(channel);
      subscription.subscribed.reject(error);
    }
  }

  #shard(key: string, address: NodeAddress): ConnectionSubscriber {
    let shard = this.#shards.get(key);
    if (shard === undefined) {
      shard = this.#open(address, (channel, error) => this.#moved(channel, error, address));
      shard.events = {
        message: (channel, message) => this.events?.message(channel, message),
        interrupted: () => {
          this.#silent.add(key);
          this.events?.interrupted();
          this.#view.trouble();
        },
        restored: () => this.#restored(key),
      };
      this.#shards.set(key, shard);
    }
    return shard;
  }

  #restored(key: string): void {
    this.#silent.delete(key);
    this.events?.restored();
    // Others are still gone.
    if (this.#silent.size > 0) this.events?.interrupted();
  }

  /** A shard does not own the slot of a channel any more, and has forgotten the channel. */
  #moved(channel: string, error: Error, from: NodeAddress): void {
    const subscription = this.#subscriptions.get(channel);
    if (subscription !== undefined) {
      subscription.shard = undefined;
      subscription.moves++;
    }
    // Notifies every channel of that slot.
    if (isReply(error)) this.#view.redirect(error.message, from);
    this.#follow();
  }

  /** Moves every channel to the owner of its slot, and disconnects from masters without slots. */
  #follow(): void {
    const moves: Promise<void>[] = [];
    let healed = false;
    for (const [channel, subscription] of this.#subscriptions) {
      const owner = this.#view.ownerOf(slotOf(channel));
      if (owner === undefined && !this.#view.masters.has(subscription.shard ?? '')) subscription.shard = undefined;
      if (owner === undefined || owner === subscription.shard) continue;
      this.#shards.get(subscription.shard ?? '')?.unsubscribe(channel);
      moves.push(this.#settle(channel, subscription));
    }
    for (const [key, shard] of this.#shards) {
      if (this.#view.masters.has(key)) continue;
      this.#shards.delete(key);
      healed = this.#silent.delete(key) || healed;
      shard.close();
    }
    if (moves.length > 0 || (healed && this.#silent.size === 0))
      void Promise.all(moves).then(() => this.events?.restored());
  }
}
