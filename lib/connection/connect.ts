import { Redis, type Cluster } from 'ioredis';
import type { NodeAddress } from '../config/Topology';
import { runOutside } from '../util/outside';
import { ConnectionMonitor, type Connections, type ConnectSettings } from './ConnectionMonitor';
import { chosenConnector, type LoginPlan, sentinelConnector } from './link/connectors';
import { connectCluster, connectClusterCopy } from './connectCluster';
import { connectionOptions, nameOption, nodeKey, sentinelOptions, sharePassword } from './link/connectionOptions';
import { Logins } from './link/Logins';
import { loginSource } from './link/loginSources';
import { ConnectionSubscriber, endpointOf, type ListenOptions } from './pubsub/ConnectionSubscriber';
import { Executor } from './Executor';
import { checkClientsIoredis, checkIoredis } from './link/ioredisCompat';
import { MasterFinder } from './link/MasterFinder';
import { KeyTracking } from './pubsub/KeyTracking';
import { type KeyEventSource, NO_SUBSCRIBER } from './pubsub/Subscriber';
import { ownOptionsOf } from './link/ownOptions';
import { StandaloneLink } from './link/StandaloneLink';

/**
 * Pause between two rounds of searching for the master among a master and its slaves, in ms (as replicated servers).
 */
const MASTER_SLAVE_SCAN_MS = 1_000;
/**
 * How often a master with replicas is asked whether it still is the master, in ms: nothing else would notify a waiter.
 */
const MASTER_SLAVE_ROLE_MS = 5_000;

export type { Connections };

/**
 * Opens the connections in the background; commands and subscriptions wait for them. Runs outside the caller's
 * context, which the sockets would keep: a client is often made during a first request.
 *
 * @throws ConfigError where the installed ioredis cannot be used
 */
export function connect(settings: ConnectSettings): Connections {
  checkIoredis();
  const { credentials, connectTimeout, trackHolds, commandsOnly } = settings;
  const asked = credentials && new Logins(loginSource(credentials.reveal(), connectTimeout), settings);
  const logins = settings.logins ?? asked;
  const tracking = trackHolds && commandsOnly !== true ? new KeyTracking() : undefined;
  return runOutside(() => ({ ...connectTo({ ...settings, logins, tracking }), logins: logins?.source, tracking }));
}

function connectTo(settings: ConnectSettings): Connections {
  const { topology } = settings;
  switch (topology.kind) {
    case 'single': {
      const options = { ...connectionOptions(settings), ...topology.address };
      return connectServer(settings, () => new Redis(options), nodeKey(topology.address), false);
    }
    case 'sentinel': {
      const { clientName, logins } = settings;
      const sentinelLogins = topology.sentinelPassword === undefined ? logins : undefined;
      const Connector = sentinelConnector(clientName, logins, sentinelLogins);
      const options = { ...connectionOptions(settings), ...sentinelOptions(settings, topology), Connector };
      const address = `${topology.masterName} of the sentinels ${topology.sentinels.map(nodeKey).join(', ')}`;
      const open = (): Redis => sharePassword(new Redis(options), settings, topology);
      return connectServer(settings, open, address, true);
    }
    case 'masterSlave': {
      const nodes = [topology.master, ...topology.slaves];
      const slaves = new Set(topology.slaves.map(nodeKey));
      const roleOf = (address: NodeAddress) => (slaves.has(nodeKey(address)) ? 'slave' : 'master');
      return connectFound(settings, nodes, MASTER_SLAVE_SCAN_MS, MASTER_SLAVE_ROLE_MS, roleOf);
    }
    case 'replicated': {
      const { nodes, scanInterval } = topology;
      return connectFound(settings, nodes, scanInterval, scanInterval);
    }
    case 'cluster':
      return connectCluster(settings, topology);
    case 'client':
      return connectCopy(settings, topology.client.reveal() as unknown as Redis | Cluster);
  }
}

/** Connects as the user's own client does. */
function connectCopy(settings: ConnectSettings, client: Redis | Cluster): Connections {
  if (client.isCluster) return connectClusterCopy(settings, client as Cluster);
  const redis = client as Redis;
  checkClientsIoredis(redis);
  const { host, port, path, sentinels, name } = redis.options;
  const own = { ...ownOptionsOf(settings), ...nameOption(settings) };
  if (sentinels !== undefined && sentinels !== null) {
    const Connector = redis.options.Connector ?? sentinelConnector(settings.clientName);
    // Ours listens to the sentinels itself.
    const openMaster = (): Redis => redis.duplicate({ ...own, Connector, failoverDetector: false });
    return connectServer(settings, openMaster, `${name} of the client's sentinels`, true);
  }
  const open = (): Redis => redis.duplicate(own);
  return connectServer(settings, open, path ?? `${host ?? 'localhost'}:${port ?? 6379}`, false);
}

/** Connects to the master among some servers. */
function connectFound(
  settings: ConnectSettings,
  nodes: readonly NodeAddress[],
  pause: number,
  roleInterval: number,
  roleOf?: LoginPlan['roleOf'],
): Connections {
  const options = connectionOptions(settings, roleOf);
  const finder = new MasterFinder(nodes, { connection: options, timeout: settings.timeout, pause });
  const { logins } = settings;
  const plan: LoginPlan | undefined = logins && { logins, roleOf: () => 'master' };
  const Connector = chosenConnector((trouble, unwanted) => finder.find(trouble, unwanted), true, plan);
  const open = (): Redis => new Redis({ ...options, Connector });
  return connectServer(settings, open, nodes.map(nodeKey).join(', '), true, roleInterval);
}

/**
 * @param open - makes a connection to the (present) master
 * @param address - for errors
 * @param replicated - whether the master has replicas that confirm writes, and a replica may replace it
 * @param roleInterval - how often to check that it still is the master, in ms; `undefined`: never
 */
function connectServer(
  settings: ConnectSettings,
  open: () => Redis,
  address: string,
  replicated: boolean,
  roleInterval?: number,
): Connections {
  const { timeout, commandsOnly, logins, tracking } = settings;
  const listening: ListenOptions = { timeout, onSilence: () => link.probe(), logins, open };
  const subscriber = commandsOnly === true ? undefined : new ConnectionSubscriber(open(), listening);
  const commands = open();
  let events: ConnectionSubscriber | undefined;
  let before: string | undefined;
  commands.on('ready', () => {
    const endpoint = endpointOf(commands);
    // A name may have several addresses of one server, or lead to a new server: a changed address counts as a new
    // server.
    const moved = before !== undefined && before !== endpoint;
    before = endpoint;
    if (!replicated && !moved) return;
    subscriber?.follow(endpoint);
    events?.follow(endpoint);
  });
  const link = new StandaloneLink(commands, {
    address,
    timeout,
    logins,
    roleInterval,
    syncTimeout: replicated ? settings.slavesSyncTimeout : 0,
    onSilence: () => {
      subscriber?.probe();
      tracking?.probe();
    },
    onClose: tracking?.follow(commands, timeout),
  });
  const executor = new Executor(link, settings);
  const keyEvents: KeyEventSource = {
    database: commands.options.db ?? 0,
    open: () => (events = runOutside(() => new ConnectionSubscriber(open(), listening))),
  };
  return {
    executor,
    subscriber: subscriber ?? NO_SUBSCRIBER,
    monitor: new ConnectionMonitor(link, executor),
    keyEvents,
  };
}
