import type { Loop } from '../engine/Loop';
import { encode } from '../net/resp';
import type { SimSocket } from '../net/SimSocket';
import { SLOT_COUNT, slotOf } from '../../../lib/util/names';
import { RedisError, type Reply, Status } from '../../../lib/testing/store/replies';
import type { SimCluster } from './SimCluster';
import type { Membership, SimServer } from './SimServer';

const OK = new Status('OK');
/** Commands that concern no key. */
const KEYLESS = /^(ping|client|select|script|wait|publish|subscribe|unsubscribe|info|hello|pubsub)$/;
/** As a master that has just begun says: it does not trust its own view yet (Redis: CLUSTER_WRITABLE_DELAY). */
const DOWN = new RedisError('CLUSTERDOWN The cluster is down');
const LOADING = new RedisError('LOADING Redis is loading the dataset in memory');
const UNSTABLE = new RedisError('TRYAGAIN Multiple keys request during rehashing of slot');
const CROSSED = new RedisError("CROSSSLOT Keys in request don't hash to the same slot");

/** The slot of a key or a channel. */
const slots = new Map<string, number>();
export function slotOfKey(key: string): number {
  let slot = slots.get(key);
  if (slot === undefined) slots.set(key, (slot = slotOf(key)));
  return slot;
}

/** What makes a server a node of a cluster: whom it believes to own which slot, and whom it sends elsewhere. */
export class ClusterNode implements Membership {
  readonly server: SimServer;
  readonly index: number;
  /** Whose replica it is. */
  master: ClusterNode | undefined;
  /** Which node owns each slot, as far as this one knows, and of which change it knows that. */
  readonly owners = new Uint8Array(SLOT_COUNT);
  readonly #versions = new Uint32Array(SLOT_COUNT);
  /** Slots that it gives away, and those that it gets. */
  readonly migrating = new Map<number, ClusterNode>();
  readonly importing = new Map<number, ClusterNode>();
  /** Whether other nodes cannot be reached. */
  cut = false;
  /** Until when it loads its data, and does not serve slots. */
  loadingUntil = 0;
  downUntil = 0;
  readonly #loop: Loop;
  readonly #cluster: SimCluster;
  readonly #channels = new Map<string, Set<SimSocket>>();
  readonly #asking = new Set<SimSocket>();
  /** The slot of the command that runs. */
  #slot: number | undefined;
  #slotsReply: string | undefined;

  constructor(loop: Loop, cluster: SimCluster, server: SimServer, index: number) {
    this.#loop = loop;
    this.#cluster = cluster;
    this.server = server;
    this.index = index;
  }

  /** Sharded channels that somebody listens to here. */
  get channels(): string[] {
    return [...this.#channels.keys()];
  }

  listens(socket: SimSocket, channel: string): boolean {
    return this.#channels.get(channel)?.has(socket) ?? false;
  }

  /** Whether it takes part: other nodes reach it. */
  get present(): boolean {
    return this.server.up && !this.cut && this.#loop.now >= this.loadingUntil;
  }

  get #well(): boolean {
    return this.#loop.now >= this.downUntil && (this.cut || !this.#cluster.uncovered);
  }

  answer(socket: SimSocket, command: string, args: readonly string[]): string | undefined {
    const asking = this.#asking.delete(socket);
    if (command === 'info') return encode(this.#info());
    if (this.#loop.now < this.loadingUntil) return encode(LOADING);
    switch (command) {
      case 'asking':
        this.#asking.add(socket);
        return encode(OK);
      case 'readonly':
        return encode(OK);
      case 'cluster':
        return this.#about(args);
      case 'pubsub':
        if (!args[0]?.toLowerCase().startsWith('shard')) return undefined;
        return encode(this.#countListeners(args));
    }
    if (KEYLESS.test(command)) return undefined;
    if (/^s(un)?subscribe$|^spublish$/.test(command)) return this.#sharded(socket, command, args);
    const refusal = this.#refusal(keysOf(command, args), asking, false);
    if (refusal !== undefined) {
      this.#loop.note(`${this.server.name} refuses ${command}`, () => {
        const who = socket.process?.id;
        return `${this.server.name} < ${who} ${command} ${args.slice(1, 4).join(' ')} > ${refusal.message}`;
      });
      return encode(refusal);
    }
    return undefined;
  }

  closed(socket: SimSocket): void {
    this.#asking.delete(socket);
    for (const channel of [...this.#channels.keys()]) this.#forget(channel, socket);
  }

  publish(channel: string, message: string, sharded: boolean): number {
    if (!sharded) {
      for (const node of this.#cluster.nodes) {
        if (node !== this) this.#cluster.send(this, node, () => node.server.hear(channel, message));
      }
      return this.server.hear(channel, message);
    }
    if (slotOfKey(channel) !== this.#slot) {
      throw new RedisError('ERR Script attempted to access keys that do not hash to the same slot');
    }
    for (const node of this.#cluster.nodes) {
      if (node.master === this) this.#cluster.send(this, node, () => node.#tell(channel, message));
    }
    return this.#tell(channel, message);
  }

  /** Slots have another owner. @param version - of the change */
  learn(changed: readonly number[], owner: ClusterNode, version: number): void {
    let lost = false;
    for (const slot of changed) {
      if (this.#versions[slot]! >= version) continue;
      this.#versions[slot] = version;
      const before = this.owners[slot];
      if (before === owner.index) continue;
      this.owners[slot] = owner.index;
      if (before === this.index) lost = true;
      if (before === this.index || before === this.master?.index) this.#drop(slot);
      this.migrating.delete(slot);
      this.importing.delete(slot);
    }
    this.#slotsReply = undefined;
    if (lost && this.master === undefined && !this.owners.includes(this.index)) this.#cluster.demote(this);
  }

  /** What it says about the cluster has changed. */
  renew(): void {
    this.#slotsReply = undefined;
  }

  /** Whether a command may run here; the answer where it may not. As getNodeByQuery() of Redis. */
  #refusal(keys: readonly string[], asking: boolean, isPubSub: boolean): RedisError | undefined {
    this.#slot = undefined;
    const [first] = keys;
    if (first === undefined) return undefined;
    const slot = slotOfKey(first);
    if (keys.some((key) => slotOfKey(key) !== slot)) return CROSSED;
    this.#slot = slot;
    this.#cluster.used.add(slot);
    if (!this.#well) return DOWN;
    const owner = this.owners[slot]!;
    const isOwn = owner === this.index;
    const target = isOwn ? this.migrating.get(slot) : undefined;
    const isImported = !isOwn && this.importing.has(slot);
    if (!isPubSub && (target !== undefined || isImported)) {
      const missing = keys.filter((key) => this.server.store.entry(key) === undefined).length;
      if (target !== undefined && missing > 0) {
        return missing < keys.length ? UNSTABLE : new RedisError(`ASK ${slot} ${target.server.endpoint}`);
      }
      if (isImported && asking) {
        return new Set(keys).size > 1 && missing > 0 ? UNSTABLE : undefined;
      }
    }
    if (isOwn || (isPubSub && this.master?.index === owner)) return undefined;
    return new RedisError(`MOVED ${slot} ${this.#cluster.nodes[owner]!.server.endpoint}`);
  }

  #sharded(socket: SimSocket, command: string, args: readonly string[]): string {
    if (!this.#cluster.sharded) return encode(new RedisError(`ERR unknown command '${command}'`));
    if (command === 'sunsubscribe') return args.map((channel) => this.#leave(socket, channel)).join('');
    const refusal = this.#refusal(command === 'spublish' ? args.slice(0, 1) : args, false, true);
    const { name } = this.server;
    this.#loop.note(`${name} ${command}`, () => {
      return `${name} < ${socket.process?.id} ${command} ${args.join(' ')}${refusal ? ` > ${refusal.message}` : ''}`;
    });
    if (refusal !== undefined) return encode(refusal);
    if (command === 'spublish') return encode(this.publish(args[0]!, args[1]!, true));
    return args.map((channel) => this.#join(socket, channel)).join('');
  }

  #join(socket: SimSocket, channel: string): string {
    let sockets = this.#channels.get(channel);
    if (sockets === undefined) this.#channels.set(channel, (sockets = new Set()));
    sockets.add(socket);
    return encode(['ssubscribe', channel, this.#count(socket)]);
  }

  #leave(socket: SimSocket, channel: string): string {
    this.#loop.note(`${this.server.name} < ${socket.process?.id} sunsubscribe ${channel}`);
    this.#forget(channel, socket);
    return encode(['sunsubscribe', channel, this.#count(socket)]);
  }

  #forget(channel: string, socket: SimSocket): void {
    const sockets = this.#channels.get(channel);
    sockets?.delete(socket);
    if (sockets?.size === 0) this.#channels.delete(channel);
  }

  #count(socket: SimSocket): number {
    return [...this.#channels.values()].filter((sockets) => sockets.has(socket)).length;
  }

  #tell(channel: string, message: string): number {
    const sockets = [...(this.#channels.get(channel) ?? [])];
    const text = encode(['smessage', channel, message]);
    for (const socket of sockets) socket.deliver(text, 'message');
    return sockets.length;
  }

  /** Nobody hears of a slot here any more, and is told so. */
  #drop(slot: number): void {
    for (const [channel, sockets] of [...this.#channels]) {
      if (slotOfKey(channel) !== slot) continue;
      for (const socket of [...sockets]) {
        this.#loop.note(`${this.server.name} drops ${channel} of ${socket.process?.id}`);
        this.#forget(channel, socket);
        socket.deliver(encode(['sunsubscribe', channel, this.#count(socket)]), 'message');
      }
    }
  }

  #countListeners([list = '', ...channels]: readonly string[]): Reply {
    if (!this.#cluster.sharded)
      return new RedisError(`ERR Unknown subcommand or wrong number of arguments for '${list}'`);
    return channels.flatMap((channel): Reply[] => [channel, this.#channels.get(channel)?.size ?? 0]);
  }

  #info(): Reply {
    const loading = Number(this.#loop.now < this.loadingUntil);
    const role = this.master === undefined ? `master\r\nconnected_slaves:${this.server.replicaCount}` : 'slave';
    return `redis_version:7.0.15\r\nloading:${loading}\r\nloading_eta_seconds:1\r\nrole:${role}\r\n`;
  }

  #about([what = '']: readonly string[]): string {
    if (what.toLowerCase() !== 'slots') return encode(new RedisError(`ERR unknown subcommand '${what}'`));
    this.#slotsReply ??= encode(this.#ranges());
    this.#loop.note(`${this.server.name} tells its slots`);
    return this.#slotsReply;
  }

  #ranges(): Reply {
    const ranges: Reply[] = [];
    for (let from = 0; from < SLOT_COUNT;) {
      const owner = this.owners[from]!;
      let to = from;
      while (to + 1 < SLOT_COUNT && this.owners[to + 1] === owner) to++;
      const master = this.#cluster.nodes[owner]!;
      const replicas = this.#cluster.nodes.filter((node) => node.master === master && node.present);
      ranges.push([from, to, ...[master, ...replicas].map(({ server }) => server.announced)]);
      from = to + 1;
    }
    return ranges;
  }
}

function keysOf(command: string, args: readonly string[]): readonly string[] {
  if (command === 'eval' || command === 'evalsha') return args.slice(2, 2 + Number(args[1]));
  return command === 'del' || command === 'exists' ? args : args.slice(0, 1);
}
