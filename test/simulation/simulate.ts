import { enter } from './engine/install';
import { SortedSet } from '../../lib/testing/store/Store';
import { EPOCH } from './engine/Loop';
import { JavaClient } from './java/JavaClient';
import type { App } from './workload/App';
import type { LockEvent } from './workload/Events';
import { lookForGroupGhosts, useGroup } from './workload/groupTasks';
import { useLock } from './workload/lockTasks';
import { useMulti } from './workload/multiTasks';
import { useJava } from './workload/javaTasks';
import { useSynchronizer } from './workload/synchronizerTasks';
import type { Served } from './server/SimServer';
import { FaultPlan } from './workload/faults';
import type { GivenProfile } from './workload/clusterWorlds';
import { DESTROYED_MS, World } from './workload/World';

/** A world that ran. */
export interface Result {
  readonly seed: number;
  readonly operations: number;
  readonly commands: number;
  readonly steps: number;
  readonly virtualMs: number;
  /** Of everything that happened, in order. */
  readonly hash: string;
  readonly violations: readonly string[];
  readonly profile: object;
}

/** Everything must have settled so long after the end, in ms. */
const SETTLE_MS = 300_000;
/** The wall clocks of the processes are wrong by less than so many ms. */
const MAX_SKEW_MS = 3_000;
/** The longest lease there is, in ms. */
const LONGEST_LEASE_MS = 31_000;
/** When the servers are looked at first. */
const OPEN = 'while the clients are open';
/** So long the claims of a fair queue stay, in ms. */
const CLAIMS_MS = 10_000;

/** Runs the world of a seed. @param profile - what is not as the seed says @param told - given its events at the end */
export async function simulate(
  seed: number,
  budget: number,
  trace?: (line: string) => void,
  profile?: GivenProfile,
  told?: (events: readonly LockEvent[]) => void,
): Promise<Result> {
  const world = new World(seed, budget, trace, profile, told !== undefined);
  const unhandled = (error: unknown): void =>
    world.oracle.violate(`unhandled: ${error instanceof Error ? error.stack : String(error)}`);
  process.on('unhandledRejection', unhandled);
  process.on('uncaughtException', unhandled);
  try {
    await live(world);
  } catch (error) {
    unhandled(error);
  } finally {
    if (world.oracle.violations.length > 0)
      for (const server of world.servers) trace?.(`${server.name} has ${JSON.stringify(server.store.dump(), null, 1)}`);
    enter(undefined);
    process.off('unhandledRejection', unhandled);
    process.off('uncaughtException', unhandled);
  }
  const { loop, oracle, servers } = world;
  if (world.events !== undefined) told?.(world.events.events);
  return {
    seed,
    operations: world.begun,
    commands: servers.reduce((sum, { commands }) => sum + commands, 0),
    steps: loop.steps,
    virtualMs: loop.now,
    hash: (loop.hash >>> 0).toString(16).padStart(8, '0'),
    violations: oracle.violations,
    profile: world.profile,
  };
}

async function live(world: World): Promise<void> {
  const { loop, oracle, profile } = world;
  const broken = (): boolean => oracle.violations.length > 0;
  const startApp = (java: boolean): App => world.start(java, (app) => runTasks(world, app));
  for (let i = 0; i < profile.apps; i++) startApp(i < profile.javaApps);
  const faults = new FaultPlan(world, startApp);
  faults.begin();
  if (profile.groups > 0) world.lookForMore = () => lookForGroupGhosts(world);
  await loop.run(() => broken() || world.begun >= world.budget);
  world.stopping = true;
  if (broken()) return;
  await loop.run(() => broken() || world.operations.size === 0, loop.now + SETTLE_MS);
  // Calls that are under way when a world ends early are no finding of their own.
  if (broken()) return;
  if (world.troubled) killStuckJava(world);
  for (const { app, what, since } of world.operations) {
    oracle.violate(`does not settle: ${app.process.id} ${what}, since ${since.toFixed(3)}`);
  }
  if (broken()) return;
  // What a connection still delivers arrives before the last fault is over.
  const calmAt = Math.max(loop.now, world.troubleEnds);
  await loop.run(broken, calmAt + (world.troubled ? LONGEST_LEASE_MS : 500));
  // Nobody renews it, so that it is gone then.
  const leftMs = Math.max(0, ...world.servers.map((server) => world.java?.leftForMs(server) ?? 0));
  if (leftMs > 0) await loop.run(broken, loop.now + leftMs + 1);
  checkServers(world, OPEN);
  await checkIdle(world, broken);
  if (broken()) return;
  await shutDown(world, broken);
  if (broken()) return;
  await loop.run(broken, loop.now + LONGEST_LEASE_MS);
  checkServers(world, 'after the shutdown');
}

/** A waiter of Java that has missed a message sleeps for as long as the server told it, which may be minutes. */
function killStuckJava(world: World): void {
  for (const { app, waitsFor } of [...world.operations]) {
    if (!app.java || waitsFor?.patienceMs() !== Infinity || !app.process.alive) continue;
    app.crash(false);
    world.forget(app);
  }
}

function runTasks(world: World, app: App): void {
  const { profile } = world;
  for (let i = 0; i < profile.tasks; i++) {
    void (async () => {
      for (;;) {
        await think(world, app);
        if (world.stopping || app.leaving) return;
        world.begun++;
        await world.operation(app, 'use', undefined, () => use(world, app, i));
      }
    })();
  }
}

/** The pause before an operation. Not a timer of the process: one that is still running at the end is nobody's leak. */
function think({ loop, random, profile }: World, app: App): Promise<void> {
  return new Promise((resolve) => {
    loop.after(random.around(profile.thinkMs), resolve, { process: app.process, kind: 'think' });
  });
}

/** @param task - its number in the process */
function use(world: World, app: App, task: number): Promise<void> {
  if (app.java) return useJava(world, app, task);
  const { random, profile } = world;
  if (profile.groups > 0 && random.chance(profile.groups)) return useGroup(world, app);
  if (random.chance(profile.synchronizers)) return useSynchronizer(world, app);
  if (random.chance(profile.multis)) return useMulti(world, app);
  return useLock(world, app);
}

/** Clients that hold nothing renew nothing. */
async function checkIdle({ loop, servers, oracle, profile }: World, broken: () => boolean): Promise<void> {
  const count = (): number => servers.reduce((sum, { renewals }) => sum + renewals, 0);
  const before = count();
  await loop.run(broken, loop.now + profile.settings.lockWatchdogTimeout / 2);
  if (count() > before) oracle.violate(`${count() - before} renewals, and nobody holds anything`);
}

/** Closes all clients, and looks what they leave. */
export async function shutDown(world: World, broken: () => boolean): Promise<void> {
  const { loop, oracle, apps, random } = world;
  let open = 0;
  await loop.run(broken, Math.max(loop.now, ...apps.map(({ process }) => process.frozenUntil)));
  for (const app of apps) {
    app.leaving = true;
    for (const client of [...app.clients, ...app.javaClients]) {
      open++;
      world.spawn(app.process, () => {
        const closed =
          client instanceof JavaClient
            ? client.shutdown()
            : client.shutdown(random.chance(50) ? { drain: 1_000 } : undefined);
        closed.then(
          () => open--,
          (error: Error) => oracle.violate(`shutdown rejects: ${error.message}`),
        );
      });
    }
  }
  await loop.run(() => broken() || open === 0, loop.now + 10_000);
  if (open > 0) oracle.violate(`${open} clients do not shut down`);
  await loop.run(broken, loop.now + DESTROYED_MS);
  for (const app of apps) world.checkClosed(app);
}

/** Looks for what is left in the servers. */
export function checkServers(world: World, when: string): void {
  for (const server of world.servers) {
    const alive = server.connections.filter(({ process }) => process?.alive);
    for (const [key, [type, content, ttl]] of Object.entries(server.store.dump())) {
      if (/token/.test(key) || type === 'string') continue;
      if (onlyOverPermits(server, key, world.loop.now)) continue;
      if (ttl > 0 && onlyOverValues(content, world.loop.now)) continue;
      // Nobody may come to delete the claims of a queue that is gone.
      if (/lock_claim/.test(key) && ttl > 0 && ttl <= CLAIMS_MS) continue;
      // A waiter that died stands in the queue until somebody comes by.
      if (world.troubled && /queue|timeout/.test(key)) continue;
      world.oracle.violate(`${server.name} has ${key} ${when}: ${type} ${JSON.stringify(content)} for ${ttl} ms`);
    }
    for (const channel of server.channels) {
      // A client that has held or waited for something for 5 s can be asked for as long afterwards.
      if (when === OPEN && channel.startsWith('ioredisson:client:')) continue;
      const some = alive.filter((socket) => server.listens(socket, channel));
      if (some.length > 0) world.oracle.violate(`${some.length} listen to ${channel} ${when}`);
    }
  }
}

/** Whether there is nothing but permits whose lease is over: whoever asks for one next takes them back. */
function onlyOverPermits({ store }: Served, key: string, now: number): boolean {
  const value = store.value(key);
  if (!(value instanceof SortedSet) || !/permits/.test(key)) return false;
  return value.sorted.every(([, expiry]) => expiry <= EPOCH + now + MAX_SKEW_MS);
}

/**
 * Whether a hash has nothing but values of a group whose leases are over. Whoever was blocked beyond his lease, after
 * the server had refused his release, sends no other one; later holds of other values keep the hash, until the last
 * lease that was given is over. Whoever asks for such a value gets it.
 */
function onlyOverValues(content: unknown, now: number): boolean {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return false;
  const ends = Object.entries(content).filter(([field]) => field.endsWith(':expire_time'));
  // Each value has three fields: its holder, when that one's lease ends, and how many holds he has.
  return Object.keys(content).length === 3 * ends.length && ends.every(([, end]) => Number(end) <= EPOCH + now);
}
