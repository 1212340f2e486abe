import { Redis, type Cluster, type RedisOptions } from 'ioredis';
import { isIP } from 'node:net';
import * as nodeTls from 'node:tls';
import type { ClusterTopology, NodeAddress } from '../config/Topology';
import { runOutside } from '../util/outside';
import { chosenConnector, type LoginPlan } from './link/connectors';
import { ClusterLink } from './cluster/ClusterLink';
import { ClusterSubscriber } from './pubsub/ClusterSubscriber';
import { type ClusterOptions, ClusterView } from './cluster/ClusterView';
import { connectionOptions, nameOption, nodeKey, parseNodeKey, translator } from './link/connectionOptions';
import { ConnectionMonitor, type Connections, type ConnectSettings } from './ConnectionMonitor';
import { ConnectionSubscriber, type ListenOptions } from './pubsub/ConnectionSubscriber';
import { Executor } from './Executor';
import { startNodesOf } from './link/ioredisCompat';
import { ownOptionsOf, type OwnRedisOptions } from './link/ownOptions';
import { MastersSubscriber } from './pubsub/MastersSubscriber';
import { ShardedSubscriber } from './pubsub/ShardedSubscriber';
import { type KeyEventSource, NO_SUBSCRIBER, type Subscriber } from './pubsub/Subscriber';
import { StandaloneLink } from './link/StandaloneLink';

/**
 * How often the cluster of a user's own client is asked for its slots, in ms, unless that client says how often
 * (Redisson's default).
 */
const SCAN_INTERVAL_MS = 5_000;

/** What is known of a cluster before the first answer. */
interface ClusterSource extends Pick<ClusterOptions, 'seeds' | 'translate' | 'scanInterval'> {
  /** For errors. */
  readonly address: string;
  /** The options of the connections to a node. */
  readonly optionsOf: (address: NodeAddress, roleOf: LoginPlan['roleOf']) => OwnRedisOptions;
}

/** Connects to a cluster. */
export function connectCluster(settings: ConnectSettings, topology: ClusterTopology): Connections {
  const endpoint = topology.nodes.find(({ host }) => isIP(host) === 0)?.host;
  return join(settings, {
    address: topology.nodes.map(nodeKey).join(', '),
    seeds: () => Promise.resolve(topology.nodes),
    optionsOf: ({ host }, roleOf) => namedFor(host, endpoint, connectionOptions(settings, roleOf)),
    translate: translator(topology.natMapper),
    scanInterval: topology.scanInterval,
  });
}

/**
 * The options of a node that the cluster calls by its address: its certificate may have the name that the user gave.
 * (Redisson: `sslHostname` of ClusterConnectionManager.)
 */
function namedFor(host: string, endpoint: string | undefined, options: OwnRedisOptions): OwnRedisOptions {
  const { tls } = options;
  if (tls === undefined || endpoint === undefined || isIP(host) === 0) return options;
  const checkServerIdentity =
    tls.checkServerIdentity ??
    ((_name: string, cert: nodeTls.PeerCertificate) =>
      nodeTls.checkServerIdentity(host, cert) && nodeTls.checkServerIdentity(endpoint, cert));
  return { ...options, tls: { ...tls, servername: endpoint, checkServerIdentity } };
}

/**
 * Connects to the cluster of a user's own client, with that client's options. See {@link startNodesOf}.
 */
export function connectClusterCopy(settings: ConnectSettings, client: Cluster): Connections {
  const { redisOptions, natMap, slotsRefreshInterval } = client.options;
  const startNodes = startNodesOf(client);
  const common = { ...redisOptions, ...ownOptionsOf(settings), ...nameOption(settings) };
  const special = new Map<string, RedisOptions>();
  return join(settings, {
    address: 'the cluster of the given client',
    async seeds() {
      const nodes = await startNodes();
      for (const node of nodes) special.set(nodeKey(node), node);
      return nodes;
    },
    optionsOf: (address) => ({ ...special.get(nodeKey(address)), ...common }),
    translate(address) {
      const key = nodeKey(address);
      const mapped = typeof natMap === 'function' ? natMap(key) : natMap?.[key];
      return mapped ?? parseNodeKey(key);
    },
    scanInterval: slotsRefreshInterval ?? SCAN_INTERVAL_MS,
  });
}

function join(settings: ConnectSettings, source: ClusterSource): Connections {
  const { timeout, logins, slavesSyncTimeout: syncTimeout, tracking } = settings;
  // The replicas are known as soon as the cluster is; until then each node is taken for a master.
  const roleOf: LoginPlan['roleOf'] = (address) => (view.isReplica(address) ? 'slave' : 'master');
  // Outside any context: a redirected command may need a node that was not connected before.
  const open = (address: NodeAddress, more?: Pick<RedisOptions, 'Connector'>): Redis => {
    const options = source.optionsOf(address, roleOf);
    return runOutside(() => new Redis({ ...options, host: address.host, port: address.port, ...more }));
  };
  const view = new ClusterView({
    ...source,
    connect(address) {
      const redis = open(address);
      const onClose = tracking?.follow(redis, timeout);
      const onSilence = (): void => {
        subscriber.probe();
        tracking?.probe();
      };
      return new StandaloneLink(redis, { address: nodeKey(address), timeout, logins, syncTimeout, onSilence, onClose });
    },
    shardedSubscriptionMode: settings.shardedSubscriptionMode,
  });
  const listenAt = (address: NodeAddress, moved?: ListenOptions['moved'], more?: Pick<RedisOptions, 'Connector'>) => {
    const reopen = (): Redis => open(address, more);
    const listening = { timeout, onSilence: () => view.trouble(), moved, logins, open: reopen };
    return new ConnectionSubscriber(reopen(), listening);
  };
  const listen = (sharded: boolean): Subscriber =>
    sharded
      ? new ShardedSubscriber(view, listenAt)
      : listenAnywhere(view, logins && { logins, roleOf }, (address, more) => listenAt(address, undefined, more));
  const subscriber: Subscriber = settings.commandsOnly
    ? NO_SUBSCRIBER
    : new ClusterSubscriber(view.known, listen, (channel) => view.countListeners(channel));
  const link = new ClusterLink(view, source.address, syncTimeout);
  const executor = new Executor(link, settings);
  const keyEvents: KeyEventSource = { database: 0, open: () => new MastersSubscriber(view, listenAt) };
  return { executor, subscriber, monitor: new ConnectionMonitor(link, executor), keyEvents };
}

/**
 * Listens at one node of a cluster, a different one after each disconnect: a classic message reaches all nodes.
 *
 * Exceptions: messages of a master that dies, and those on their way to a node that the others do not reach. So when
 * a master is demoted the waiters try again, and a subscriber connected to it moves to another node.
 */
function listenAnywhere(
  view: ClusterView,
  login: LoginPlan | undefined,
  listenAt: (address: NodeAddress, more: Pick<RedisOptions, 'Connector'>) => ConnectionSubscriber,
): Subscriber {
  const first = view.someNode(undefined)!;
  let last: string | undefined;
  const Connector = chosenConnector(
    () => {
      const node = view.someNode(last) ?? first;
      last = nodeKey(node);
      return Promise.resolve(node);
    },
    false,
    login,
  );
  const subscriber = listenAt(first, { Connector });
  let masters = [...view.masters.keys()];
  view.onChange(() => {
    const isGone = masters.some((key) => !view.masters.has(key));
    masters = [...view.masters.keys()];
    if (isGone) subscriber.missed(last === undefined || view.masters.has(last));
  });
  return subscriber;
}
