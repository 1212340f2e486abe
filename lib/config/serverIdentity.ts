import type { Settings } from './Settings';
import type { NodeAddress, RedisClientLike, Topology } from './Topology';

/**
 * A text that identifies the servers of a client, the same in every process: the configured addresses, and the
 * database. It does not use what the servers report, since a failover changes that. Processes that use different names
 * for one server (`localhost` here, an IP address there) get different identities.
 */
export function serverIdentity({ topology, database }: Settings): string {
  switch (topology.kind) {
    case 'single':
      return `${addresses([topology.address])}/${database}`;
    case 'sentinel':
      return `${topology.masterName}@${addresses(topology.sentinels)}/${database}`;
    case 'masterSlave':
      return `${addresses([topology.master, ...topology.slaves])}/${database}`;
    case 'cluster':
    case 'replicated':
      return `${addresses(topology.nodes)}/${database}`;
    case 'client':
      return clientIdentity(topology.client.reveal(), database);
  }
}

function clientIdentity(client: RedisClientLike, database: number): string {
  const { startupNodes, options = {} } = client as {
    readonly startupNodes?: unknown;
    readonly options?: Record<string, unknown>;
  };
  if (Array.isArray(startupNodes)) return `${addresses(startupNodes as Partial<NodeAddress>[])}/${database}`;
  const { host, port, path, sentinels, name, db } = options;
  const at = Array.isArray(sentinels)
    ? `${String(name)}@${addresses(sentinels as Partial<NodeAddress>[])}`
    : typeof path === 'string'
      ? path
      : addresses([{ host: host as string, port: port as number }]);
  return `${at}/${typeof db === 'number' ? db : database}`;
}

function addresses(nodes: readonly Partial<NodeAddress>[]): string {
  const texts = nodes.map(({ host = '127.0.0.1', port = 6379 }) => `${host.toLowerCase()}:${port}`);
  return texts.sort().join(',');
}

/** Whether a client is one of `ioredisson/testing`: its port is 0. */
export function isInMemory(topology: Topology): boolean {
  return topology.kind === 'single' && topology.address.port === 0;
}
