import { Redis } from 'ioredis';
import { RedisServer } from '../../tools/redisServer';
import { sleepUntil } from './sleepUntil';

/** What a {@link ReplicatedRedis} is made of. */
export interface ReplicatedRedisOptions {
  /** Default 1. */
  readonly replicas?: number;
  /** Default 0: a plain master with replicas. */
  readonly sentinels?: number;
  /** Of master and replicas, not of the sentinels. */
  readonly password?: string;
  /** So long the master may be silent before the sentinels choose another. Default 1000. */
  readonly downAfterMs?: number;
}

/** A private master with replicas on free ports and, if asked for, sentinels that watch over them. */
export class ReplicatedRedis {
  /** What the sentinels call the master. */
  readonly masterName = 'mymaster';
  /** The master at the start; after a failover another one is. */
  readonly master: RedisServer;
  readonly replicas: readonly RedisServer[];
  readonly sentinels: readonly RedisServer[];

  private constructor(master: RedisServer, replicas: readonly RedisServer[], sentinels: readonly RedisServer[]) {
    this.master = master;
    this.replicas = replicas;
    this.sentinels = sentinels;
  }

  /** Resolves when all replicas are in sync and all sentinels know them and each other. */
  static async start(options: ReplicatedRedisOptions = {}): Promise<ReplicatedRedis> {
    const { replicas = 1, sentinels = 0, password, downAfterMs = 1_000 } = options;
    const started: RedisServer[] = [];
    const start = async (...given: Parameters<typeof RedisServer.start>): Promise<RedisServer> => {
      const server = await RedisServer.start(...given);
      started.push(server);
      return server;
    };
    const secret = password === undefined ? {} : { password };
    const auth = password === undefined ? [] : ['--masterauth', password];
    try {
      const master = await start({ ...secret, args: [...auth, '--repl-diskless-sync-delay', '0'] });
      const replicaOf = ['--replicaof', master.host, String(master.port), '--repl-diskless-sync-delay', '0'];
      const followers = await times(replicas, () => start({ ...secret, args: [...auth, ...replicaOf] }));
      const watchers = await times(sentinels, () => start(sentinelOptions(master, sentinels, password, downAfterMs)));
      const group = new ReplicatedRedis(master, followers, watchers);
      await group.#inSync();
      return group;
    } catch (error) {
      await Promise.all(started.map((server) => server.stop()));
      throw error;
    }
  }

  /** Makes the sentinels choose another master and resolves to it once they agree; the old one follows it then. */
  async failover(): Promise<RedisServer> {
    const [sentinel] = this.sentinels;
    if (sentinel === undefined) throw new Error('there are no sentinels');
    const port = await masterPort(sentinel, this.masterName);
    // It refuses until it has heard from a replica often enough to trust it.
    await sleepUntil(
      () => ask(sentinel, (client) => client.call('SENTINEL', 'FAILOVER', this.masterName).catch(() => undefined)),
      { timeout: 30_000, interval: 100, message: 'the sentinel begins a failover' },
    );
    return this.untilMasterIsNot(port);
  }

  /** Resolves to the new master once all sentinels name another one than that on `port` and it takes writes. */
  async untilMasterIsNot(port: number): Promise<RedisServer> {
    const named = await sleepUntil(async () => this.#agreedMaster(port), { timeout: 30_000, interval: 50 });
    await sleepUntil(async () => ask(named, async (client) => (await client.role())[0] === 'master'), {
      timeout: 30_000,
      interval: 50,
    });
    return named;
  }

  /** Sentinels first, so that they start no failover. */
  async stop(): Promise<void> {
    await Promise.all(this.sentinels.map((server) => server.stop()));
    await Promise.all([this.master, ...this.replicas].map((server) => server.stop()));
  }

  async #agreedMaster(notPort: number): Promise<RedisServer | undefined> {
    const ports = await Promise.all(this.sentinels.map((sentinel) => masterPort(sentinel, this.masterName)));
    if (new Set(ports).size !== 1 || ports[0] === notPort) return undefined;
    return [this.master, ...this.replicas].find((server) => server.port === ports[0]);
  }

  async #inSync(): Promise<void> {
    await replicasFollow(this.master, this.replicas.length);
    const sentinels = `sentinels=${this.sentinels.length}`;
    for (const sentinel of this.sentinels) {
      await untilSaid(sentinel, (client) => client.info('sentinel'), [`slaves=${this.replicas.length}`, sentinels]);
    }
  }
}

/**
 * Resolves when so many replicas confirm what a master writes. To call themselves connected is not enough: the master
 * may miss their first sign of life, and then begins to send only with the next one, a second later.
 * @param key - what is written for that, for a moment
 */
export async function replicasFollow(master: RedisServer, count: number, key = 'ioredisson:test'): Promise<void> {
  const follow = async (client: Redis): Promise<boolean> => {
    await client.set(key, '', 'PX', 1);
    if ((await client.wait(count, 200)) < count) return false;
    // The answer of WAIT alone means nothing while there is no replication to confirm.
    const confirmed = (await client.info('replication')).match(/^slave\d+:.*state=online,offset=[1-9]/gm);
    return (confirmed?.length ?? 0) >= count;
  };
  await ask(master, (client) =>
    sleepUntil(() => follow(client), { timeout: 30_000, interval: 20, message: `${count} replicas follow` }),
  );
}

function sentinelOptions(
  master: RedisServer,
  sentinels: number,
  password: string | undefined,
  downAfterMs: number,
): Parameters<typeof RedisServer.start>[0] {
  const quorum = Math.floor(sentinels / 2) + 1;
  return {
    args: ['--sentinel'],
    config: [
      `sentinel monitor mymaster ${master.host} ${master.port} ${quorum}`,
      `sentinel down-after-milliseconds mymaster ${downAfterMs}`,
      'sentinel failover-timeout mymaster 5000',
      ...(password === undefined ? [] : [`sentinel auth-pass mymaster ${password}`]),
    ],
  };
}

async function masterPort(sentinel: RedisServer, name: string): Promise<number> {
  const address = await ask(sentinel, (client) => client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name));
  return Number((address as [string, string])[1]);
}

async function untilSaid(
  server: RedisServer,
  question: (client: Redis) => Promise<string>,
  facts: string[],
): Promise<void> {
  await ask(server, (client) =>
    sleepUntil(
      async () => {
        const answer = await question(client);
        return facts.every((fact) => answer.includes(fact));
      },
      { timeout: 30_000, interval: 20, message: facts.join(', ') },
    ),
  );
}

async function ask<T>(server: RedisServer, question: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(server.url, { enableReadyCheck: false });
  try {
    return await question(client);
  } finally {
    client.disconnect();
  }
}

async function times(count: number, start: () => Promise<RedisServer>): Promise<RedisServer[]> {
  return Promise.all(Array.from({ length: count }, start));
}
