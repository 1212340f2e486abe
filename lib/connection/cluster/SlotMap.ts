import type { NodeAddress } from '../../config/Topology';
import { SLOT_COUNT } from '../../util/names';
import { nodeKey, parseNodeKey } from '../link/connectionOptions';

/**
 * The master of each slot of a cluster, as far as it is known.
 *
 * | slots     | owner          |
 * |-----------|----------------|
 * | 0 … 16383 | `host:port` of its master, or none |
 */
export class SlotMap {
  readonly #translate: (address: NodeAddress) => NodeAddress;
  #owners: (string | undefined)[] = new Array<string | undefined>(SLOT_COUNT).fill(undefined);
  #masters = new Map<string, NodeAddress>();
  #replicas = new Map<string, NodeAddress>();

  /** @param translate - from announced addresses to those that can be reached */
  constructor(translate: (address: NodeAddress) => NodeAddress) {
    this.#translate = translate;
  }

  /** The masters that own slots. */
  get masters(): ReadonlyMap<string, NodeAddress> {
    return this.#masters;
  }

  /** Every server in the last answer, the masters first. */
  get all(): readonly NodeAddress[] {
    return [...this.#masters.values(), ...this.#replicas.values()];
  }

  /** Whether a server was a replica in the last answer. */
  isReplica(key: string): boolean {
    return this.#replicas.has(key) && !this.#masters.has(key);
  }

  /** Whether each slot has an owner. */
  get complete(): boolean {
    return !this.#owners.includes(undefined);
  }

  /** The key of the master of each slot, by the last answer and the redirects since. */
  get owners(): readonly (string | undefined)[] {
    return this.#owners;
  }

  /** The key of the master of a slot. */
  ownerOf(slot: number): string | undefined {
    return this.#owners[slot];
  }

  /**
   * Takes over a node's answer to `CLUSTER SLOTS`.
   * @param reply - `[from, to, [host, port, …] of the master, … of its replicas]` for each range
   * @param asked - the node that answered; a range without a host is its own
   * @returns `moved`: a slot with an owner has another owner now; `grown`: slots without an owner have one now
   */
  load(reply: unknown, asked: NodeAddress): 'same' | 'grown' | 'moved' {
    const before = this.#owners;
    this.#owners = new Array<string | undefined>(SLOT_COUNT).fill(undefined);
    this.#masters = new Map();
    this.#replicas = new Map();
    for (const [from, to, master, ...replicas] of reply as [number, number, ...unknown[][]][]) {
      if (master === undefined) continue;
      const owner = this.#note(this.#masters, master, asked);
      this.#owners.fill(owner, Number(from), Number(to) + 1);
      for (const replica of replicas) this.#note(this.#replicas, replica, asked);
    }
    const changed = before.filter((owner, slot) => owner !== this.#owners[slot]);
    if (changed.some((owner) => owner !== undefined)) return 'moved';
    return changed.length > 0 ? 'grown' : 'same';
  }

  /**
   * Takes over a redirect.
   * @param reply - `MOVED 3999 127.0.0.1:6381`, or the same with `ASK`, which changes nothing
   * @param asked - the node that answered; an answer without a host means that node
   * @returns the node it names
   */
  redirect(reply: string, asked: NodeAddress): NodeAddress | undefined {
    const [kind, slot, target] = reply.split(' ');
    const { host, port } = parseNodeKey(target ?? '');
    const index = Number(slot);
    if (!Number.isInteger(port) || !Number.isInteger(index) || index < 0 || index >= SLOT_COUNT) return undefined;
    const address = this.#translate({ host: host === '' ? asked.host : host, port });
    if (kind === 'MOVED') {
      this.#masters.set(nodeKey(address), address);
      this.#owners[index] = nodeKey(address);
    }
    return address;
  }

  #note(nodes: Map<string, NodeAddress>, [host, port]: unknown[], asked: NodeAddress): string {
    // A node that does not know its own address leaves it out; one that may not give it says `?`.
    const known = typeof host === 'string' && host !== '' && host !== '?';
    const address = this.#translate({ host: known ? host : asked.host, port: Number(port) });
    nodes.set(nodeKey(address), address);
    return nodeKey(address);
  }
}
