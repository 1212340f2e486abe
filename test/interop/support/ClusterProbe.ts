import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { RedisCluster } from '../../support/RedisCluster';
import { sleepUntil } from '../../support/sleepUntil';
import { JAVA_FALLS_ASLEEP_MS } from './Probe';
import type { Side } from './Stage';

/** Looks at all nodes of a cluster from outside of both clients. */
export class ClusterProbe {
  readonly #clients: readonly Redis[];

  private constructor(clients: readonly Redis[]) {
    this.#clients = clients;
  }

  static async open(cluster: RedisCluster): Promise<ClusterProbe> {
    const probe = new ClusterProbe(cluster.nodes.map((node) => new Redis(node.url)));
    await probe.#onEach((redis) => redis.ping());
    return probe;
  }

  async close(): Promise<void> {
    await this.#onEach((redis) => redis.quit());
  }

  /** Resolves as soon as a connection is subscribed to `channel`; for Java also once it sleeps. */
  async untilSubscribed(channel: string, waiter: Side): Promise<void> {
    await sleepUntil(async () => (await this.subscribers(channel)) > 0, {
      message: `a subscriber of ${channel}`,
      timeout: 20_000,
    });
    if (waiter === 'java') await sleep(JAVA_FALLS_ASLEEP_MS);
  }

  /** The number of connections subscribed to the channel, over all nodes; sharded or not. */
  async subscribers(channel: string): Promise<number> {
    const counts = await this.#onEach(async (redis) => {
      const [, plain] = (await redis.pubsub('NUMSUB', channel)) as [string, number];
      const [, sharded] = (await redis.call('PUBSUB', 'SHARDNUMSUB', channel)) as [string, number];
      return plain + sharded;
    });
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Whether any node has a subscriber of that sharded channel. */
  async isSharded(channel: string): Promise<boolean> {
    const lists = await this.#onEach((redis) => redis.call('PUBSUB', 'SHARDCHANNELS', channel) as Promise<string[]>);
    return lists.flat().includes(channel);
  }

  /** All keys of all nodes, sorted; without the unlock-latch keys of Java, which live for an instant. */
  async keys(): Promise<string[]> {
    const keys = await this.#onEach((redis) => redis.keys('*'));
    return keys
      .flat()
      .filter((key) => !key.startsWith('redisson_unlock_latch:'))
      .sort();
  }

  #onEach<T>(action: (redis: Redis) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#clients.map(action));
  }
}
