import { Redis } from 'ioredis';
import { slotOf } from '../../lib/util/names';
import { RedisServer } from '../../tools/redisServer';
import { replicasFollow } from './ReplicatedRedis';
import { sleepUntil } from './sleepUntil';

const SLOTS = 16384;

/** What a {@link RedisCluster} is made of. */
export interface RedisClusterOptions {
  /** Default 3, which share the slots evenly and in order. */
  readonly masters?: number;
  /** Of each master. Default 0. */
  readonly replicas?: number;
  /** More arguments for every server. */
  readonly args?: readonly string[];
}

/** A private Redis Cluster on free ports, ready when {@link RedisCluster.start} resolves. */
export class RedisCluster {
  /** In the order of their slots. */
  readonly masters: readonly RedisServer[];
  /** Those of the first master first. */
  readonly replicas: readonly RedisServer[];

  private constructor(masters: readonly RedisServer[], replicas: readonly RedisServer[]) {
    this.masters = masters;
    this.replicas = replicas;
  }

  static async start(options: RedisClusterOptions = {}): Promise<RedisCluster> {
    const { masters = 3, replicas = 0, args = [] } = options;
    const servers: RedisServer[] = [];
    try {
      for (let i = 0; i < masters * (1 + replicas); i++) servers.push(await startNode(args));
      const cluster = new RedisCluster(servers.slice(0, masters), servers.slice(masters));
      await cluster.#join();
      return cluster;
    } catch (error) {
      await stopAll(servers);
      throw error;
    }
  }

  /** Masters, then replicas. */
  get nodes(): readonly RedisServer[] {
    return [...this.masters, ...this.replicas];
  }

  /** `redis://` addresses of all nodes. */
  get urls(): string[] {
    return this.nodes.map((node) => node.url);
  }

  /** For `new Cluster(cluster.startupNodes)`. */
  get startupNodes(): { host: string; port: number }[] {
    return this.nodes.map(({ host, port }) => ({ host, port }));
  }

  async stop(): Promise<void> {
    await stopAll(this.nodes);
  }

  async #join(): Promise<void> {
    const clients = this.nodes.map((node) => new Redis(node.url));
    try {
      const [first] = this.masters;
      const ids = await Promise.all(clients.map(async (client) => String(await client.cluster('MYID'))));
      await Promise.all(
        clients.map(async (client, index) => {
          if (index < this.masters.length) await client.cluster('ADDSLOTS', ...slotsOf(index, this.masters.length));
          await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
        }),
      );
      // Only now: a node that has been met may not be given an epoch any more.
      if (first !== undefined) {
        await Promise.all(clients.slice(1).map((client) => client.call('CLUSTER', 'MEET', first.host, first.port)));
      }
      await Promise.all(clients.map((client) => knows(client, `cluster_known_nodes:${clients.length}`)));
      await Promise.all(
        clients.slice(this.masters.length).map(async (client, index) => {
          await client.call('CLUSTER', 'REPLICATE', ids[index % this.masters.length] ?? '');
          await sleepUntil(async () => (await client.info('replication')).includes('master_link_status:up'), PATIENTLY);
        }),
      );
      await Promise.all(
        clients.map(async (client) => {
          await knows(client, 'cluster_state:ok');
          await sleepUntil(async () => (await replicasKnownTo(client)) === this.replicas.length, PATIENTLY);
        }),
      );
      await Promise.all(
        this.masters.map((master, index) => {
          const key = keyIn(slotsOf(index, this.masters.length));
          return replicasFollow(master, this.replicas.length / this.masters.length, key);
        }),
      );
    } finally {
      for (const client of clients) client.disconnect();
    }
  }
}

const PATIENTLY = { timeout: 20_000, interval: 20 };

function knows(client: Redis, fact: string): Promise<unknown> {
  return sleepUntil(async () => String(await client.cluster('INFO')).includes(fact), {
    ...PATIENTLY,
    message: `the cluster says ${fact}`,
  });
}

async function replicasKnownTo(client: Redis): Promise<number> {
  return String(await client.cluster('NODES')).split(/\bslave\b/).length - 1;
}

async function startNode(args: readonly string[]): Promise<RedisServer> {
  const own = ['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf', '--cluster-node-timeout', '2000'];
  // A replica would otherwise wait five seconds for others to come along.
  const eager = ['--repl-diskless-sync-delay', '0'];
  return RedisServer.start({ args: [...own, ...eager, ...args] });
}

function slotsOf(index: number, masters: number): number[] {
  const from = Math.floor((index * SLOTS) / masters);
  const to = Math.floor(((index + 1) * SLOTS) / masters);
  return Array.from({ length: to - from }, (_, offset) => from + offset);
}

function keyIn(slots: readonly number[]): string {
  for (let i = 0; ; i++) if (slots.includes(slotOf(`ioredisson:test:${i}`))) return `ioredisson:test:${i}`;
}

async function stopAll(servers: readonly RedisServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()));
}
