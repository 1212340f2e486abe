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
  /** Settled when that has acknowledged it. A new one while an interruption lasts. */
  subscribed: DeferredPromise<void>;
  /** Whether it was ever acknowledged: its listeners count on it. */
  live: boolean;
  /** Whether its listeners were told of an interruption that lasts. */
  interrupted: boolean;
  /** Tells of an interruption if a move takes long. */
  late: NodeJS.Timeout | undefined;
  /** How often a node has redirected it. */
  moves: number;
}

/** A channel that is redirected moves on at once this many times, and then ... */
const FREE_MOVES = 3;
/** ... after this many ms each time: the nodes of the cluster do not agree yet. So long, too, a refused one waits. */
const MOVE_PAUSE_MS = 100;
/** A move that takes longer than this is an interruption, in ms. */
const LATE_MS = 100;

/** Makes the connection that listens at one master. */
export type OpenShard = (address: NodeAddress, moved: (channel: string, error: Error) => void) => ConnectionSubscriber;

/**
 * Sharded pub/sub: each channel is subscribed at the master that owns its slot, on one connection for each master,
 * opened for its first channel. When a slot gets another owner, its channels follow, and their waiters try again.
 *
 * A channel is: wanted -> live <-> interrupted (its shard is silent, refuses it, or has no owner) ... -> forgotten.
 * Each has a state of its own: a shard that hangs says nothing about the channels of another one.
 */
export class ShardedSubscriber implements Subscriber {
  events: SubscriberEvents | undefined;
  readonly countsReceivers = true;
  readonly #view: ClusterView;
  readonly #open: OpenShard;
  readonly #shards = new Map<string, ConnectionSubscriber>();
  readonly #subscriptions = new Map<string, ChannelSubscription>();
  /** The channels whose listeners were told of an interruption that lasts. */
  readonly #interrupted = new Set<string>();
  /** Channels that were acknowledged again in this turn. */
  readonly #restored = new Set<string>();
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
      const state = { live: false, interrupted: false, late: undefined, moves: 0 };
      this.#subscriptions.set(channel, (subscription = { shard: undefined, subscribed: pDefer<void>(), ...state }));
      void this.#settle(channel, subscription);
    }
    return subscription.subscribed.promise;
  }

  unsubscribe(channel: string): void {
    const subscription = this.#subscriptions.get(channel);
    if (subscription === undefined) return;
    this.#forget(channel, subscription);
    this.#shards.get(subscription.shard ?? '')?.unsubscribe(channel);
    if (subscription.interrupted && this.#interrupted.size === 0) this.events?.restored([]);
  }

  probe(): void {
    for (const shard of this.#shards.values()) shard.probe();
  }

  close(): void {
    this.#closed = true;
    for (const [channel, subscription] of this.#subscriptions) {
      this.#forget(channel, subscription);
      subscription.subscribed.reject(new ShutdownError());
    }
    for (const shard of this.#shards.values()) shard.close();
    this.#shards.clear();
  }

  #forget(channel: string, { late }: ChannelSubscription): void {
    clearTimeout(late);
    this.#subscriptions.delete(channel);
    this.#interrupted.delete(channel);
    this.#restored.delete(channel);
  }

  /** Subscribes a channel where its slot is, until that has succeeded or nobody wants it. Never rejects. */
  async #settle(channel: string, subscription: ChannelSubscription): Promise<void> {
    const key = this.#view.ownerOf(slotOf(channel));
    subscription.shard = key;
    if (subscription.live) subscription.late ??= setTimeout(() => this.#interrupt([channel]), LATE_MS).unref();
    const address = key === undefined ? undefined : this.#view.masters.get(key);
    if (key === undefined || address === undefined) return this.#view.trouble();
    const isCurrent = (): boolean => subscription.shard === key && this.#subscriptions.get(channel) === subscription;
    try {
      if (subscription.moves > FREE_MOVES) await pause(MOVE_PAUSE_MS, undefined, { ref: false });
      if (!isCurrent()) return;
      await this.#shard(key, address).subscribe(channel);
      // Moved on meanwhile: that move settles it.
      if (isCurrent()) this.#acknowledged(channel, subscription);
    } catch (error) {
      if (!isCurrent()) return;
      if (subscription.live) {
        // Its listeners count on it, and the connection has forgotten it.
        this.#interrupt([channel]);
        await pause(MOVE_PAUSE_MS, undefined, { ref: false });
        if (isCurrent()) return this.#settle(channel, subscription);
      } else {
        this.#forget(channel, subscription);
        subscription.subscribed.reject(error);
      }
    }
  }

  #acknowledged(channel: string, subscription: ChannelSubscription): void {
    subscription.moves = 0;
    clearTimeout(subscription.late);
    subscription.late = undefined;
    if (subscription.live) return this.#restore([channel]);
    subscription.live = true;
    subscription.subscribed.resolve();
  }

  #shard(key: string, address: NodeAddress): ConnectionSubscriber {
    let shard = this.#shards.get(key);
    if (shard === undefined) {
      shard = this.#open(address, (channel, error) => this.#moved(channel, error, address));
      shard.events = {
        message: (channel, message) => this.events?.message(channel, message),
        interrupted: () => {
          this.#interrupt(this.#channelsOf(key));
          this.#view.trouble();
        },
        // A move there has an acknowledgement of its own.
        restored: () =>
          this.#restore(this.#channelsOf(key).filter((one) => this.#subscriptions.get(one)?.late === undefined)),
      };
      this.#shards.set(key, shard);
    }
    return shard;
  }

  /** The live channels of a shard. */
  #channelsOf(key: string): string[] {
    return [...this.#subscriptions].flatMap(([channel, { shard, live }]) => (live && shard === key ? [channel] : []));
  }

  /** Messages of these live channels may be lost from now on. */
  #interrupt(channels: readonly string[]): void {
    for (const channel of channels) {
      const subscription = this.#subscriptions.get(channel)!;
      this.#restored.delete(channel);
      if (subscription.interrupted) continue;
      subscription.interrupted = true;
      this.#interrupted.add(channel);
      subscription.subscribed = pDefer<void>();
      subscription.subscribed.promise.catch(() => undefined);
    }
    if (channels.length > 0) this.events?.interrupted(channels);
  }

  /** These live channels are subscribed again. Those of one turn are reported together. */
  #restore(channels: readonly string[]): void {
    if (channels.length === 0) return;
    if (this.#restored.size === 0) queueMicrotask(() => this.#tellRestored());
    for (const channel of channels) this.#restored.add(channel);
  }

  #tellRestored(): void {
    const channels = [...this.#restored];
    this.#restored.clear();
    if (channels.length === 0) return;
    for (const channel of channels) {
      const subscription = this.#subscriptions.get(channel)!;
      if (!this.#interrupted.delete(channel)) continue;
      subscription.interrupted = false;
      subscription.subscribed.resolve();
    }
    this.events?.restored(channels);
    // Others are still gone.
    if (this.#interrupted.size > 0) this.events?.interrupted([...this.#interrupted]);
  }

  /** A shard no longer owns the slot of a channel, and has forgotten the channel. */
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
    const orphans: string[] = [];
    for (const [channel, subscription] of this.#subscriptions) {
      const { shard, live } = subscription;
      const owner = this.#view.ownerOf(slotOf(channel));
      if (owner === undefined && !this.#view.masters.has(shard ?? '')) {
        subscription.shard = undefined;
        if (live && shard !== undefined) orphans.push(channel);
      }
      if (owner === undefined || owner === shard) continue;
      this.#shards.get(shard ?? '')?.unsubscribe(channel);
      void this.#settle(channel, subscription);
    }
    for (const [key, shard] of this.#shards) {
      if (this.#view.masters.has(key)) continue;
      this.#shards.delete(key);
      shard.close();
    }
    this.#interrupt(orphans);
  }
}
