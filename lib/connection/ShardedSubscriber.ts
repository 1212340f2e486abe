import pDefer, { type DeferredPromise } from 'p-defer';
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeAddress } from '../config/Topology';
import { ShutdownError } from '../errors';
import { slotOf } from '../util/slot';
import type { ClusterView } from './ClusterView';
import type { ConnectionSubscriber } from './ConnectionSubscriber';
import { isReply } from './replyErrors';
import type { Subscriber, SubscriberEvents } from './Subscriber';

/** Where a channel is subscribed. */
interface Home {
  /** The master it is subscribed at, or about to be; `undefined` while nobody owns its slot. */
  shard: string | undefined;
  readonly subscribed: DeferredPromise<void>;
  /** How often it was sent elsewhere. */
  moves: number;
}

/** A channel that is sent from node to node goes at once so many times, and then ... */
const FREE_MOVES = 3;
/** ... each time after so many ms: the cluster has not made up its mind. */
const MOVE_PAUSE_MS = 100;

/** Makes the connection that listens at one master. */
export type OpenShard = (address: NodeAddress, moved: (channel: string, error: Error) => void) => ConnectionSubscriber;

/**
 * Sharded pub/sub: each channel is subscribed at the master that owns its slot, on one connection for each master, made
 * when its first channel comes. When a slot gets another owner, its channels follow, and their waiters are told to look
 * again.
 */
export class ShardedSubscriber implements Subscriber {
  events: SubscriberEvents | undefined;
  readonly countsReceivers = true;
  readonly #view: ClusterView;
  readonly #open: OpenShard;
  readonly #shards = new Map<string, ConnectionSubscriber>();
  readonly #homes = new Map<string, Home>();
  /** Shards that cannot be heard now. */
  readonly #silent = new Set<string>();
  #closed = false;

  constructor(view: ClusterView, open: OpenShard) {
    this.#view = view;
    this.#open = open;
    view.onChange(() => this.#follow());
  }

  subscribe(channel: string): Promise<void> {
    if (this.#closed) return Promise.reject(new ShutdownError());
    let home = this.#homes.get(channel);
    if (home === undefined) {
      this.#homes.set(channel, (home = { shard: undefined, subscribed: pDefer<void>(), moves: 0 }));
      void this.#settle(channel, home);
    }
    return home.subscribed.promise;
  }

  unsubscribe(channel: string): void {
    const home = this.#homes.get(channel);
    if (home === undefined) return;
    this.#homes.delete(channel);
    this.#shards.get(home.shard ?? '')?.unsubscribe(channel);
  }

  probe(): void {
    for (const shard of this.#shards.values()) shard.probe();
  }

  close(): void {
    this.#closed = true;
    for (const home of this.#homes.values()) home.subscribed.reject(new ShutdownError());
    this.#homes.clear();
    for (const shard of this.#shards.values()) shard.close();
    this.#shards.clear();
  }

  /** Subscribes a channel where its slot is. Rejects never. */
  async #settle(channel: string, home: Home): Promise<void> {
    const key = this.#view.ownerOf(slotOf(channel));
    home.shard = key;
    const address = key === undefined ? undefined : this.#view.masters.get(key);
    if (key === undefined || address === undefined) return this.#view.trouble();
    try {
      if (home.moves > FREE_MOVES) await pause(MOVE_PAUSE_MS, undefined, { ref: false });
      if (home.shard !== key || this.#homes.get(channel) !== home) return;
      await this.#shard(key, address).subscribe(channel);
      home.moves = 0;
      home.subscribed.resolve();
    } catch (error) {
      // Moved on meanwhile: whoever moved it has settled it anew.
      if (home.shard !== key || this.#homes.get(channel) !== home) return;
      this.#homes.delete(channel);
      home.subscribed.reject(error);
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
    const home = this.#homes.get(channel);
    if (home !== undefined) {
      home.shard = undefined;
      home.moves++;
    }
    // Tells everybody who lives in that slot.
    if (isReply(error)) this.#view.redirect(error.message, from);
    this.#follow();
  }

  /** Takes every channel to the owner of its slot, and leaves masters that own nothing any more. */
  #follow(): void {
    const moves: Promise<void>[] = [];
    let healed = false;
    for (const [channel, home] of this.#homes) {
      const owner = this.#view.ownerOf(slotOf(channel));
      if (owner === undefined && !this.#view.masters.has(home.shard ?? '')) home.shard = undefined;
      if (owner === undefined || owner === home.shard) continue;
      this.#shards.get(home.shard ?? '')?.unsubscribe(channel);
      moves.push(this.#settle(channel, home));
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
