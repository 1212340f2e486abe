import type { Loop } from '../engine/Loop';
import type { SimSocket } from '../net/SimSocket';
import { SLOT_COUNT } from '../../../lib/util/names';
import type { SimStore } from './SimStore';
import { ClusterNode, slotOfKey } from './ClusterNode';
import { type Served, SimServer } from './SimServer';

const MASTERS = 3;
const PORT = 7_000;
/** Nodes hear of each other within this, in ms. */
const BUS_MS = 1;
/** What a node has missed it learns after so many ms. */
const GOSSIP_MS = 1_000;
/** A node that has just begun does not serve slots for so long, in ms (Redis: CLUSTER_WRITABLE_DELAY). */
const WRITABLE_DELAY_MS = 2_000;

/** What a seed decides about its cluster. */
export interface ClusterProfile {
  /** Whether its servers have sharded pub/sub. */
  readonly sharded: boolean;
  /** Whether a failover may lose what no replica has confirmed. */
  readonly lossy: boolean;
  /** Whether no slot is served while one has no owner (`cluster-require-full-coverage`). */
  readonly fullCoverage: boolean;
  /** How long a node may be silent before its replica takes over, in ms. */
  readonly nodeTimeoutMs: number;
  /** How often clients ask for the slots, in ms. */
  readonly scanIntervalMs: number;
}

/** A cluster of three masters with a replica each. What is really where, and how nodes get to know it. */
export class SimCluster implements Served {
  readonly name = 'c0';
  readonly nodes: readonly ClusterNode[];
  readonly profile: ClusterProfile;
  /** Slots of commands that there were. */
  readonly used = new Set<number>();
  /** Slots that are being moved. */
  readonly moving = new Map<number, { readonly from: ClusterNode; readonly to: ClusterNode }>();
  /** Masters that are gone, and nobody has taken over. */
  readonly gone = new Set<ClusterNode>();
  /** Those of them that the others have noticed. */
  readonly failed = new Set<ClusterNode>();
  /** Who has taken over from whom. */
  readonly #heirs = new Map<ClusterNode, ClusterNode>();
  readonly #loop: Loop;
  /** Who owns each slot, and since which change. */
  readonly #owners = new Uint8Array(SLOT_COUNT);
  readonly #versions = new Uint32Array(SLOT_COUNT);
  #version = 0;
  /** When the last message from one node to another arrives. */
  readonly #arrivals = new Map<string, number>();

  constructor(loop: Loop, profile: ClusterProfile, scriptNames: ReadonlyMap<string, string>) {
    this.#loop = loop;
    this.profile = profile;
    this.nodes = Array.from({ length: 2 * MASTERS }, (_, i) => {
      const server = new SimServer(loop, `n${i}`, scriptNames, i < MASTERS ? 1 : 0);
      server.address = `10.0.0.${i + 1}`;
      server.port = PORT;
      const node = new ClusterNode(loop, this, server, i);
      server.member = node;
      return node;
    });
    for (let i = 0; i < MASTERS; i++) {
      this.nodes[MASTERS + i]!.master = this.nodes[i]!;
      const [from, to] = [i, i + 1].map((part) => Math.floor((part * SLOT_COUNT) / MASTERS));
      for (const { owners } of this.nodes) owners.fill(i, from, to);
      this.#owners.fill(i, from, to);
    }
  }

  get sharded(): boolean {
    return this.profile.sharded;
  }

  get servers(): SimServer[] {
    return this.nodes.map(({ server }) => server);
  }

  /** Those that own slots. */
  get masters(): ClusterNode[] {
    return this.nodes.filter(({ index }) => this.#owners.includes(index));
  }

  get clock(): number {
    return this.servers[0]!.clock;
  }

  get commands(): number {
    return this.servers.reduce((sum, { commands }) => sum + commands, 0);
  }

  get renewals(): number {
    return this.servers.reduce((sum, { renewals }) => sum + renewals, 0);
  }

  get connections(): SimSocket[] {
    return this.servers.flatMap(({ connections }) => connections);
  }

  get channels(): string[] {
    return [...new Set(this.nodes.flatMap(({ server, channels }) => [...server.channels, ...channels]))];
  }

  listens(socket: SimSocket, channel: string): boolean {
    return this.nodes.some((node) => node.server.listens(socket, channel) || node.listens(socket, channel));
  }

  /** Whether some slots have no owner, and no others are served for that. */
  get uncovered(): boolean {
    return this.profile.fullCoverage && this.failed.size > 0;
  }

  /** The server at an address. */
  at(host: string, port: number): SimServer | undefined {
    return this.servers.find((server) => server.address === host && server.port === port);
  }

  /** All keys, wherever they are. */
  readonly store: Served['store'] = {
    entry: (key) => this.#storeOf(key).entry(key),
    value: (key) => this.#storeOf(key).value(key),
    text: (key) => this.#storeOf(key).text(key),
    hash: (key) => this.#storeOf(key).hash(key),
    sortedSet: (key) => this.#storeOf(key).sortedSet(key),
    ttl: (key) => this.#storeOf(key).ttl(key),
    dump: () => {
      const dumps = this.masters.flatMap(({ server: { store } }) =>
        Object.entries(store.dump()).filter(([key]) => this.#storeOf(key) === store),
      );
      return Object.fromEntries(dumps);
    },
  };

  /** Who owns a slot. */
  ownerOf(slot: number): ClusterNode {
    return this.nodes[this.#owners[slot]!]!;
  }

  #storeOf(key: string): SimStore {
    const slot = slotOfKey(key);
    const to = this.moving.get(slot)?.to.server.store;
    return to?.entry(key) !== undefined ? to : this.ownerOf(slot).server.store;
  }

  /** Something goes from one node to another: in order, and it gets lost where one of them is not there. */
  send(from: ClusterNode, to: ClusterNode, arrived: () => void, meanMs = BUS_MS): void {
    if (from.cut || to.cut) return;
    const loop = this.#loop;
    const way = `${from.index} ${to.index}`;
    const at = Math.max(this.#arrivals.get(way) ?? 0, loop.now + loop.random.around(meanMs));
    this.#arrivals.set(way, at);
    loop.after(at - loop.now, () => {
      if (!to.cut && to.server.up) to.server.whenListening(arrived);
    });
  }

  /** The keys of a slot may be moved now. */
  open(slot: number, to: ClusterNode): void {
    const from = this.ownerOf(slot);
    this.moving.set(slot, { from, to });
    to.importing.set(slot, from);
    from.migrating.set(slot, to);
  }

  /** Moves a key of a slot that is being moved. */
  moveKey(key: string): void {
    const { from, to } = this.moving.get(slotOfKey(key))!;
    const [source, target] = [from.server.store, to.server.store];
    const { value, expireAt } = source.entry(key)!;
    target.put(key, value);
    target.entry(key)!.expireAt = expireAt;
    source.delete(key);
    for (const { server } of [from, to]) server.moved(key, server === to.server);
    this.#loop.note(`${key} goes from ${from.server.name} to ${to.server.name}`);
  }

  /** Slots get another owner. It knows at once, the others hear of it. @param former - who knows at once, too */
  assign(slots: readonly number[], owner: ClusterNode, former?: ClusterNode): void {
    const loop = this.#loop;
    const version = ++this.#version;
    for (const slot of slots) {
      this.#owners[slot] = owner.index;
      this.#versions[slot] = version;
      this.moving.delete(slot);
    }
    owner.learn(slots, owner, version);
    former?.learn(slots, owner, version);
    for (const node of this.nodes) {
      const meanMs = loop.random.of([BUS_MS, 30, 200]);
      if (node !== owner) this.send(owner, node, () => node.learn(slots, owner, version), meanMs);
    }
    loop.after(GOSSIP_MS, () => {
      for (const node of this.nodes) this.#catchUp(node);
    });
  }

  /** A master is gone: the others notice in a while. */
  miss(master: ClusterNode): void {
    this.gone.add(master);
    this.#loop.after(this.profile.nodeTimeoutMs, () => {
      if (this.gone.has(master)) this.failed.add(master);
    });
  }

  /**
   * A replica takes over what its master owned.
   * @param store - what it has of it
   * @param inAgreement - whether its master serves nobody any more
   */
  promote(replica: ClusterNode, store: SimStore, inAgreement = false): void {
    const old = replica.master!;
    this.#loop.note(`${replica.server.name} takes over from ${old.server.name}`);
    replica.master = undefined;
    this.#heirs.set(old, replica);
    replica.server.lead(store);
    this.gone.delete(old);
    this.failed.delete(old);
    const slots: number[] = [];
    this.#owners.forEach((owner, slot) => owner === old.index && slots.push(slot));
    this.assign(slots, replica, inAgreement ? old : undefined);
  }

  /** A master whose slots another one has taken over is its replica, and in a while has its data. */
  demote(node: ClusterNode): void {
    const master = this.#heirs.get(node)!;
    this.#loop.note(`${node.server.name} follows ${master.server.name}`);
    node.master = master;
    node.migrating.clear();
    node.server.follow();
    master.server.attach(this.#loop.random.of([20, 300, 1_500]));
    for (const each of this.nodes) each.renew();
  }

  /** A node is there again, after it was down or cut off: it learns what has changed. @param began - it was down */
  rejoin(node: ClusterNode, began: boolean): void {
    const { now, random } = this.#loop;
    const loadingMs = began ? random.of([0, 100, 700]) : 0;
    node.loadingUntil = now + loadingMs;
    if (began) node.downUntil = node.loadingUntil + WRITABLE_DELAY_MS;
    this.#loop.after(loadingMs + random.between(1, 300), () => node.server.whenListening(() => this.#catchUp(node)));
  }

  #catchUp(node: ClusterNode): void {
    if (!node.present) return;
    // Slots of one owner and version: of each node a map from versions to slots.
    const changed = this.nodes.map(() => new Map<number, number[]>());
    for (let slot = 0; slot < SLOT_COUNT; slot++) {
      const version = this.#versions[slot]!;
      if (version === 0) continue;
      const byVersion = changed[this.#owners[slot]!]!;
      const slots = byVersion.get(version);
      if (slots === undefined) byVersion.set(version, [slot]);
      else slots.push(slot);
    }
    for (const owner of this.masters) {
      for (const [version, slots] of changed[owner.index]!) node.learn(slots, owner, version);
    }
  }
}
