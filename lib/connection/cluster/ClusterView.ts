import pDefer from 'p-defer';
import type { ShardedSubscriptionMode } from '../../config/Settings';
import type { NodeAddress } from '../../config/Topology';
import { Alarm } from '../../util/Alarm';
import { slotOf } from '../../util/names';
import { jittered } from '../../util/timing';
import { once } from '../../util/warnings';
import { askNode, type ClusterNode, NodePool } from './NodePool';
import { nodeKey } from '../link/connectionOptions';
import type { LinkEvents } from '../link/Link';
import { isReply, noCluster, noShardedPubSub } from '../link/replyErrors';
import { SlotMap } from './SlotMap';
import type { StandaloneLink } from '../link/StandaloneLink';

/** First pause before the slots of a cluster in trouble are read again, in ms; it doubles up to the longest. */
const FIRST_REFRESH_MS = 50;
const MAX_REFRESH_MS = 500;
/** After this many failed refreshes the usual interval is enough. */
const MANY_REFRESHES = 100;
/**
 * Keeps the target of a redirect open this long although it owns no slot yet, in ms: its first slot is on the way.
 */
const KEEP_MS = 60_000;

/** What a view needs. */
export interface ClusterOptions {
  /** The first nodes to ask, also when none of the known nodes answers. */
  readonly seeds: () => Promise<readonly NodeAddress[]>;
  /** Connects to a node. */
  readonly connect: (address: NodeAddress) => StandaloneLink;
  /** Translates announced addresses to those that can be reached. */
  readonly translate: (address: NodeAddress) => NodeAddress;
  /** How often to read the slots, in ms. */
  readonly scanInterval: number;
  readonly shardedSubscriptionMode: ShardedSubscriptionMode;
}

/**
 * The known state of a cluster: its masters, with a connection to each, and their slots. It is refreshed from time to
 * time, soon when trouble is reported, and then repeatedly until every slot has a usable master.
 *
 * States: starting (asks the seeds) -> known (slots loaded, pub/sub decided) <-> in trouble; closed.
 */
export class ClusterView {
  events: LinkEvents | undefined;
  readonly #options: ClusterOptions;
  readonly #slots: SlotMap;
  readonly #pool: NodePool;
  readonly #known = pDefer<boolean>();
  /** Whether pub/sub is sharded, once the cluster is known. Stays pending if it is closed before. */
  readonly known: Promise<boolean> = this.#known.promise;
  readonly #listeners = new Set<() => void>();
  #sharded: boolean | undefined;
  readonly #alarm = new Alarm(() => {
    if (!this.#refreshing) void this.#refresh();
  });
  #refreshing = false;
  readonly #warnNoCount = once(warnNoCount);
  #refreshes = 0;
  #refreshError: Error | undefined;
  /** Why the cluster cannot be used with this configuration. */
  #unfit: Error | undefined;
  #closed = false;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#slots = new SlotMap(options.translate);
    this.#pool = new NodePool(options.connect, (key) => ({
      ready: () => {
        if (this.#sharded === undefined) this.#refreshIn(0);
        else this.events?.ready();
      },
      lost: () => {
        this.events?.lost();
        this.trouble();
      },
      replaced: () => this.#replaced((slot) => this.ownerOf(slot) === key),
      refused: (error) => {
        if (this.refusal !== undefined) this.events?.refused(error);
      },
    }));
    // At once: with an unref'd timer the process could end before the first socket opens.
    void this.#refresh();
  }

  /** Whether pub/sub is sharded; `undefined` until the cluster is known. */
  get sharded(): boolean | undefined {
    return this.#sharded;
  }

  get refusal(): Error | undefined {
    return this.#pool.refusal ?? this.#unfit;
  }

  get lastError(): Error | undefined {
    return this.#pool.lastError ?? this.#refreshError;
  }

  /** The masters, by key. */
  get masters(): ReadonlyMap<string, NodeAddress> {
    return this.#slots.masters;
  }

  /** Whether a server was a replica at the last refresh. */
  isReplica(address: NodeAddress): boolean {
    return this.#slots.isReplica(nodeKey(address));
  }

  /** The key of the master of a slot, if it is known. */
  ownerOf(slot: number): string | undefined {
    return this.#slots.ownerOf(slot);
  }

  /** The master of a slot, if it is known. */
  nodeOf(slot: number): ClusterNode | undefined {
    const owner = this.#slots.ownerOf(slot);
    return owner === undefined ? undefined : this.#pool.get(owner);
  }

  /** Any node, if possible a master that answers. @param not - the key of a node to avoid */
  someNode(not: string | undefined): NodeAddress | undefined {
    const answering = this.#pool.usable;
    const masters = answering.filter(({ key }) => this.#slots.masters.has(key));
    const usable = (masters.length > 0 ? masters : answering).map(({ address }) => address);
    const nodes = usable.length > 0 ? usable : this.#slots.all;
    const others = nodes.filter((node) => nodeKey(node) !== not);
    return pick(others.length > 0 ? others : nodes);
  }

  /**
   * Counts the listeners of a classic channel, each on one of the masters.
   * @returns `undefined` if that cannot be known
   */
  async countListeners(channel: string): Promise<number | undefined> {
    try {
      const asked = this.#pool.usable.map(({ link }) => askNode(link, 'pubsub', 'NUMSUB', channel));
      const replies = (await Promise.all(asked)) as [string, number | string][];
      return replies.reduce((sum, [, count]) => sum + Number(count), 0);
    } catch (error) {
      if ((error as Error).message.startsWith('NOPERM')) this.#warnNoCount();
      return undefined;
    }
  }

  /** A node has redirected a command. @param reply - its `MOVED` or `ASK`. @returns the node it named, unless closed */
  redirect(reply: string, from: NodeAddress): ClusterNode | undefined {
    // An answer that comes after close() must not open a connection: it would never be closed.
    const target = this.#closed ? undefined : this.#slots.redirect(reply, from);
    if (target === undefined) return undefined;
    const node = this.#pool.open(target);
    node.keepUntil = performance.now() + KEEP_MS;
    if (reply.startsWith('MOVED')) {
      this.events?.lost();
      this.#changed();
      this.#replaced((slot) => slot === Number(reply.split(' ')[1]));
      this.trouble();
    }
    return node;
  }

  /** Reports trouble: refreshes soon. */
  trouble(): void {
    this.#refreshIn(FIRST_REFRESH_MS);
  }

  /** @param listener - called when slots have other owners. @returns a function that removes it */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#alarm.off();
    this.#listeners.clear();
    await this.#pool.close();
  }

  #refreshIn(ms: number): void {
    if (!this.#closed) this.#alarm.setBy(performance.now() + ms);
  }

  async #refresh(): Promise<void> {
    this.#refreshing = true;
    try {
      const node = pick(this.#pool.usable);
      if (node !== undefined) await this.#ask(node);
      else await this.#begin();
      this.#refreshError = undefined;
    } catch (error) {
      this.#refreshError = error as Error;
      if (error === this.#unfit) this.events?.refused(error as Error);
    }
    this.#refreshing = false;
    if (this.well) this.#refreshes = 0;
    else this.#refreshes++;
    const { scanInterval } = this.#options;
    if (this.#refreshes === 0 || this.#refreshes > MANY_REFRESHES) this.#refreshIn(scanInterval);
    else
      this.#refreshIn(jittered(Math.min(FIRST_REFRESH_MS * 2 ** (this.#refreshes - 1), MAX_REFRESH_MS, scanInterval)));
  }

  /** Whether every slot has a usable master. */
  get well(): boolean {
    if (this.#sharded === undefined || !this.#slots.complete) return false;
    return [...this.#slots.masters.keys()].every((key) => this.#pool.get(key)?.link.ready);
  }

  /** No node is connected: connects to all known nodes. The first that answers is asked. */
  async #begin(): Promise<void> {
    for (const address of this.#slots.all) this.#pool.open(address);
    for (const address of await this.#options.seeds()) {
      if (!this.#closed) this.#pool.open(address);
    }
  }

  async #ask(node: ClusterNode): Promise<void> {
    const reply = await this.#slotsOf(node);
    // A node that has just been reset knows no other node.
    if (this.#closed || reply.length === 0) return;
    const { owners } = this.#slots;
    const change = this.#slots.load(reply, node.address);
    this.#pool.retain(this.#slots.masters);
    if (change === 'moved') this.events?.lost();
    if (change !== 'same') this.#changed();
    if (this.#sharded === undefined) {
      this.#sharded = await this.#decide(node);
      this.#unfit = undefined;
      this.#known.resolve(this.#sharded);
    }
    this.events?.ready();
    if (change === 'moved') this.#replaced((slot) => owners[slot] !== undefined && owners[slot] !== this.ownerOf(slot));
  }

  async #slotsOf({ link }: ClusterNode): Promise<unknown[]> {
    try {
      return (await askNode(link, 'cluster', 'SLOTS')) as unknown[];
    } catch (error) {
      const none = noCluster(error as Error);
      // It will never be one. Of a known cluster it is a stranger at an old address.
      if (none !== undefined && this.#sharded === undefined) throw (this.#unfit = none);
      throw error;
    }
  }

  #replaced(concerns: (slot: number) => boolean): void {
    this.events?.replaced?.((key) => concerns(slotOf(key)));
  }

  /** Source: Redisson's ClusterConnectionManager asks the same, once. */
  async #decide({ link }: ClusterNode): Promise<boolean> {
    const mode = this.#options.shardedSubscriptionMode;
    if (mode === 'OFF') return false;
    try {
      await askNode(link, 'pubsub', 'SHARDNUMSUB', '0');
      return true;
    } catch (error) {
      if (!isReply(error as Error)) throw error;
      if (mode === 'AUTO') return false;
      const unfit = noShardedPubSub(error as Error);
      // Without sharded pub/sub no waiter would be woken, and no error would say why.
      if (unfit !== undefined) throw (this.#unfit = unfit);
      return true;
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
    this.events?.ready();
  }
}

/** Warns that the user may not count listeners. */
function warnNoCount(): void {
  process.emitWarning(
    'This user may not count the subscribers of a channel. On a cluster with classic pub/sub an unlock does not report ' +
      'how many processes wait, so this process may get a contended lock more or less often than others. Grant the ' +
      'user +pubsub|numsub, see docs/security.md.',
    { code: 'IOREDISSON_NO_NUMSUB' },
  );
}

function pick<T>(items: readonly T[]): T | undefined {
  return items[Math.floor(Math.random() * items.length)];
}
