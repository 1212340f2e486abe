import type { ClusterNode } from '../server/ClusterNode';
import { slotOfKey } from '../server/ClusterNode';
import type { SimCluster } from '../server/SimCluster';
import type { World } from './World';

/** All nodes know what has happened after so many ms. */
const KNOWN_MS = 1_500;

/** Slots are moved, or a replica takes over. */
export function clusterFault(world: World): void {
  const { random } = world;
  const cluster = world.cluster!;
  if (random.chance(50)) return void migrate(world, cluster);
  const masters = cluster.masters.filter((node) => mayFailOver(cluster, node));
  if (masters.length === 0) return;
  const master = random.of(masters);
  const kinds = cluster.profile.lossy ? [graceful, crash, cutOff, hang] : [graceful];
  random.of(kinds)(world, cluster, master);
}

/** Trouble of one node, which the cluster sits out. */
export function clusterServerFault(world: World): void {
  const { random } = world;
  const cluster = world.cluster!;
  const node = random.of(cluster.nodes);
  if (!node.present || cluster.gone.has(node)) return;
  // Less than what makes the others act.
  const ms = random.between(10, 0.9 * cluster.profile.nodeTimeoutMs);
  const isMaster = node.master === undefined;
  if (isMaster && random.chance(30)) {
    world.trouble(ms);
    if (node.server.followed) node.server.stall(ms);
  } else if (random.chance(60)) {
    world.trouble(ms + KNOWN_MS);
    node.server.pause(ms);
    if (!isMaster && node.master!.server.followed) node.master!.server.stall(ms);
  } else {
    world.trouble(ms + 4_000);
    node.server.restart(ms, false);
    if (!isMaster && node.master!.server.followed) node.master!.server.stall(ms);
    world.loop.after(ms, () => cluster.rejoin(node, true));
  }
}

/** Whether its replica can take over just now. */
function mayFailOver(cluster: SimCluster, master: ClusterNode): boolean {
  const involved = [...cluster.moving.values()].some(({ from, to }) => from === master || to === master);
  const replica = replicaOf(cluster, master);
  // One at a time: half of the masters could not elect a new one.
  return !involved && cluster.gone.size === 0 && master.present && master.server.followed && replica?.present === true;
}

function replicaOf(cluster: SimCluster, master: ClusterNode): ClusterNode | undefined {
  return cluster.nodes.find((node) => node.master === master);
}

/** CLUSTER FAILOVER: the replica has everything when it takes over. */
function graceful(world: World, cluster: SimCluster, master: ClusterNode): void {
  const replica = replicaOf(cluster, master)!;
  if (!replica.server.listening || !master.server.listening) return;
  world.trouble(KNOWN_MS);
  world.loop.note(`${master.server.name} is to be failed over`);
  cluster.promote(replica, master.server.store.copy(), true);
}

/** The master dies, and comes back when its replica has taken over. */
function crash(world: World, cluster: SimCluster, master: ClusterNode): void {
  const takeOverMs = timeToVote(world, cluster);
  const downMs = takeOverMs + world.random.between(10, 4_000);
  cluster.miss(master);
  const store = master.server.surrender();
  master.server.restart(downMs, false);
  succeed(world, cluster, master, store, takeOverMs);
  world.trouble(downMs + 4_000);
  world.loop.after(downMs, () => cluster.rejoin(master, true));
}

/** The other nodes do not reach the master. It goes on until it has noticed that itself. */
function cutOff(world: World, cluster: SimCluster, master: ClusterNode): void {
  const takeOverMs = timeToVote(world, cluster);
  const cutMs = takeOverMs + world.random.between(10, 4_000);
  world.loop.note(`${master.server.name} is cut off from the others for ${cutMs.toFixed()} ms`);
  master.cut = true;
  const store = master.server.surrender();
  world.trouble(cutMs + KNOWN_MS);
  cluster.miss(master);
  const { nodeTimeoutMs } = cluster.profile;
  world.loop.after(nodeTimeoutMs, () => (master.downUntil = Infinity));
  succeed(world, cluster, master, store, takeOverMs);
  world.loop.after(cutMs, () => {
    master.cut = false;
    master.downUntil = world.loop.now + Math.max(500, nodeTimeoutMs);
    cluster.rejoin(master, false);
  });
}

/** The master is stopped, and believes for a moment that it still is one when it goes on. */
function hang(world: World, cluster: SimCluster, master: ClusterNode): void {
  const takeOverMs = timeToVote(world, cluster);
  const ms = takeOverMs + world.random.between(10, 3_000);
  cluster.miss(master);
  master.cut = true;
  const store = master.server.surrender();
  master.server.pause(ms);
  world.trouble(ms + KNOWN_MS);
  succeed(world, cluster, master, store, takeOverMs);
  world.loop.after(ms, () => {
    master.cut = false;
    cluster.rejoin(master, false);
  });
}

function timeToVote({ random }: World, { profile }: SimCluster): number {
  return profile.nodeTimeoutMs + random.between(100, 1_200);
}

/** The replica takes over in so many ms. */
function succeed(
  world: World,
  cluster: SimCluster,
  master: ClusterNode,
  store: ReturnType<ClusterNode['server']['surrender']>,
  ms: number,
): void {
  const replica = replicaOf(cluster, master)!;
  const tryNow = (): void => {
    // It must be there itself.
    if (replica.present && replica.server.listening) return cluster.promote(replica, store);
    world.trouble(KNOWN_MS);
    world.loop.after(100, tryNow);
  };
  world.loop.after(ms, tryNow);
}

/** Moves a slot, key by key, to another master. */
async function migrate(world: World, cluster: SimCluster): Promise<void> {
  const { random, loop } = world;
  const slots = [...cluster.used].filter((slot) => !cluster.moving.has(slot));
  if (slots.length === 0) return;
  const slot = random.of(slots);
  const from = cluster.ownerOf(slot);
  const steady = (node: ClusterNode): boolean =>
    !cluster.gone.has(node) && node.present && node.master === undefined && node.owners[slot] === from.index;
  const targets = cluster.masters.filter((node) => node !== from && steady(node));
  if (targets.length === 0 || !steady(from)) return;
  const to = random.of(targets);
  cluster.moving.set(slot, { from, to });
  loop.note(`slot ${slot} goes from ${from.server.name} to ${to.server.name}`);
  const stepMs = random.of([2, 50, 300]);
  const step = async (): Promise<void> => {
    const ready = (): boolean => [from, to].every((node) => node.present && node.server.listening);
    do {
      world.trouble(2 * KNOWN_MS);
      await new Promise<void>((resolve) => void loop.after(random.around(stepMs), resolve));
    } while (!ready());
  };
  await step();
  to.importing.set(slot, from);
  await step();
  from.migrating.set(slot, to);
  for (;;) {
    await step();
    const key = Object.keys(from.server.store.dump()).find((one) => slotOfKey(one) === slot);
    if (key === undefined) break;
    cluster.moveKey(key);
  }
  loop.note(`slot ${slot} has gone from ${from.server.name} to ${to.server.name}`);
  cluster.assign([slot], to);
}
