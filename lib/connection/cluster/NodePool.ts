import type { NodeAddress } from '../../config/Topology';
import { inTime } from '../../util/timing';
import { nodeKey } from '../link/connectionOptions';
import type { LinkEvents } from '../link/Link';
import type { StandaloneLink } from '../link/StandaloneLink';

/** A node of a cluster and the connection to it. */
export interface ClusterNode {
  readonly key: string;
  readonly address: NodeAddress;
  readonly link: StandaloneLink;
  /** Monotonic time until which it stays open without slots. */
  keepUntil: number;
}

/** The connections to the nodes of a cluster, by `host:port`. */
export class NodePool {
  readonly #connect: (address: NodeAddress) => StandaloneLink;
  readonly #eventsOf: (key: string) => LinkEvents;
  readonly #nodes = new Map<string, ClusterNode>();

  /** @param connect - opens a connection @param eventsOf - receives the events of a node */
  constructor(connect: (address: NodeAddress) => StandaloneLink, eventsOf: (key: string) => LinkEvents) {
    this.#connect = connect;
    this.#eventsOf = eventsOf;
  }

  /** The node of a key, if it is connected or connecting. */
  get(key: string): ClusterNode | undefined {
    return this.#nodes.get(key);
  }

  /** The nodes that can be used now. */
  get usable(): ClusterNode[] {
    return [...this.#nodes.values()].filter(({ link }) => link.ready);
  }

  /** Why the nodes refuse the connection, while no node is usable. */
  get refusal(): Error | undefined {
    return this.usable.length > 0 ? undefined : this.#links.find(({ refusal }) => refusal !== undefined)?.refusal;
  }

  /** The last error of one of the nodes. */
  get lastError(): Error | undefined {
    return this.#links.find(({ lastError }) => lastError !== undefined)?.lastError;
  }

  /** Connects to a node, unless it is connected already. */
  open(address: NodeAddress): ClusterNode {
    const key = nodeKey(address);
    let node = this.#nodes.get(key);
    if (node === undefined) {
      node = { key, address, link: this.#connect(address), keepUntil: 0 };
      node.link.events = this.#eventsOf(key);
      this.#nodes.set(key, node);
    }
    return node;
  }

  /** Connects to all these nodes and closes the others. */
  retain(masters: ReadonlyMap<string, NodeAddress>): void {
    for (const address of masters.values()) this.open(address);
    const now = performance.now();
    for (const { key, link, keepUntil } of this.#nodes.values()) {
      if (masters.has(key) || keepUntil > now) continue;
      this.#nodes.delete(key);
      void link.close();
    }
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await Promise.all(this.#links.map((link) => link.close()));
  }

  get #links(): StandaloneLink[] {
    return [...this.#nodes.values()].map(({ link }) => link);
  }
}

/** How long a node may take to answer a question about its cluster, in ms; then another node is asked. */
const TIMEOUT_MS = 1_000;

/** The reply of a node, or an error when it takes too long. */
export async function askNode(link: StandaloneLink, command: string, ...args: string[]): Promise<unknown> {
  const sentAt = performance.now();
  const answered = await inTime(link.send(command, args), TIMEOUT_MS);
  if (answered !== undefined) return answered.value;
  link.unanswered(undefined, sentAt);
  throw new Error(`${link.address} does not answer`);
}
