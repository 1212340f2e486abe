import { Redis } from 'ioredis';
import { slotOf } from '../../lib/util/names';
import type { RedisCluster } from './RedisCluster';
import type { RedisServer } from '../../tools/redisServer';
import { skip } from './skip';
import { sleepUntil } from './sleepUntil';
import { uniqueName } from './uniqueName';

const PATIENTLY = { timeout: 30_000, interval: 20 };

/** Asks one server something on a connection of its own. */
export async function askServer<T>(server: RedisServer, question: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(server.url, { enableReadyCheck: false });
  client.on('error', () => undefined);
  try {
    return await question(client);
  } finally {
    client.disconnect();
  }
}

/** Whether its servers know sharded pub/sub: Redis 7 and later, Valkey. */
export async function knowsShards(cluster: RedisCluster): Promise<boolean> {
  const known = await askServer(cluster.masters[0]!, (client) => client.call('COMMAND', 'INFO', 'SPUBLISH'));
  return (known as unknown[])[0] !== null;
}

/** Skips a test, or a suite in its `before`, where the servers do not know sharded pub/sub. */
export async function needShards(context: Mocha.Context, cluster: RedisCluster): Promise<void> {
  if (!(await knowsShards(cluster))) skip(context, 'before Redis 7 there is no sharded pub/sub');
}

/** The node that owns the slot of a key, as the nodes that run say. */
export async function ownerOf(cluster: RedisCluster, key: string): Promise<RedisServer> {
  const slot = slotOf(key);
  return sleepUntil(async () => (await ranges(cluster)).find(({ from, to }) => from <= slot && slot <= to)?.master, {
    ...PATIENTLY,
    message: `slot ${slot} has an owner`,
  });
}

/** The nodes that own slots, as one that runs says. */
export async function mastersOf(cluster: RedisCluster): Promise<RedisServer[]> {
  return [...new Set((await ranges(cluster)).map(({ master }) => master))];
}

/** A name whose slot that node owns. */
export async function nameOn(cluster: RedisCluster, owner: RedisServer, prefix?: string): Promise<string> {
  for (;;) {
    const name = uniqueName(prefix);
    if ((await ownerOf(cluster, name)) === owner) return name;
  }
}

/** Moving the slot of a key to another master, step by step. */
export interface SlotMigration {
  readonly from: RedisServer;
  readonly to: RedisServer;
  /** Moves the keys of the slot: from now on the old owner answers `ASK`. */
  moveKeys(): Promise<void>;
  /** Tells all nodes who the owner is: from now on the others answer `MOVED`. */
  finish(): Promise<void>;
}

/** Begins to move the slot of a key to another master, by default to the next one. */
export async function beginMigration(cluster: RedisCluster, key: string, target?: RedisServer): Promise<SlotMigration> {
  const slot = slotOf(key);
  const from = await ownerOf(cluster, key);
  const others = (await mastersOf(cluster)).filter((node) => node !== from);
  const to = target ?? others[0]!;
  const [fromId, toId] = await Promise.all([from, to].map(idOf));
  await askServer(to, (client) => client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId!));
  await askServer(from, (client) => client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId!));
  return {
    from,
    to,
    moveKeys: () =>
      askServer(from, async (client) => {
        const keys = (await client.call('CLUSTER', 'GETKEYSINSLOT', slot, 1000)) as string[];
        if (keys.length > 0) await client.call('MIGRATE', to.host, to.port, '', 0, 5000, 'KEYS', ...keys);
      }),
    async finish() {
      for (const node of [to, from, ...others.filter((other) => other !== to)]) {
        await askServer(node, (client) => client.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId!));
      }
    },
  };
}

/** Moves the slot of a key with its keys to another master, by default to the next one. */
export async function migrateSlot(cluster: RedisCluster, key: string, target?: RedisServer): Promise<SlotMigration> {
  const migration = await beginMigration(cluster, key, target);
  await migration.moveKeys();
  await migration.finish();
  return migration;
}

/** The new owner of the slot of a key, if another node than that has taken over and serves. */
async function newOwner(cluster: RedisCluster, key: string, former: RedisServer): Promise<RedisServer | undefined> {
  const owner = await ownerOf(cluster, key);
  if (owner === former || !owner.isRunning) return undefined;
  const state = await askServer(owner, (client) => client.call('CLUSTER', 'INFO'));
  return String(state).includes('cluster_state:ok') ? owner : undefined;
}

/** Resolves to the new owner of the slot of a key, once another node than that has taken over and serves. */
export async function untilOwnerIsNot(cluster: RedisCluster, key: string, former: RedisServer): Promise<RedisServer> {
  return sleepUntil(() => newOwner(cluster, key, former), { ...PATIENTLY, message: 'another node owns the slot' });
}

/**
 * Redis gives a failover up that the other masters have not voted for after 5 s, and they vote about one shard only
 * once in two node time-outs: not soon after an earlier failover.
 */
const GIVEN_UP_MS = 6_000;

/** Makes a replica of the owner of a key's slot take over without losing anything, and resolves to it. */
export async function failOver(cluster: RedisCluster, key: string): Promise<RedisServer> {
  const owner = await ownerOf(cluster, key);
  const id = await idOf(owner);
  // After an earlier failover the former master may still be on its way to become the replica of this one.
  const replica = await sleepUntil(
    async () => {
      const lines = String(await askServer(owner, (client) => client.cluster('NODES'))).split('\n');
      const line = lines.find((each) => each.includes(` slave ${id} `) && /\d connected/.test(each));
      const port = Number(/:(\d+)@/.exec(line ?? '')?.[1]);
      const node = cluster.nodes.find((one) => one.port === port);
      if (node === undefined) return undefined;
      const info = String(await askServer(node, (client) => client.info('replication')));
      return info.includes('master_link_status:up') ? node : undefined;
    },
    { ...PATIENTLY, message: 'the owner has a replica' },
  );
  let askedAt = -Infinity;
  return sleepUntil(
    async () => {
      if (performance.now() - askedAt > GIVEN_UP_MS) {
        askedAt = performance.now();
        // An error, too, where it has just become the master.
        await askServer(replica, (client) => client.call('CLUSTER', 'FAILOVER')).catch(() => undefined);
      }
      return newOwner(cluster, key, owner);
    },
    { ...PATIENTLY, message: 'the replica has taken over' },
  );
}

async function idOf(server: RedisServer): Promise<string> {
  return askServer(server, async (client) => String(await client.cluster('MYID')));
}

async function ranges(cluster: RedisCluster): Promise<{ from: number; to: number; master: RedisServer }[]> {
  const running = cluster.nodes.find((node) => node.isRunning);
  if (running === undefined) throw new Error('no node of the cluster runs');
  type Range = [from: number, to: number, master: [host: string, port: number]];
  const slots = (await askServer(running, (client) => client.call('CLUSTER', 'SLOTS'))) as Range[];
  return slots.map(([from, to, [, port]]) => ({ from, to, master: cluster.nodes.find((node) => node.port === port)! }));
}
