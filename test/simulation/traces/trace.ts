import { enter } from '../engine/install';
import { Random } from '../engine/Random';
import type { GivenProfile } from '../workload/clusterWorlds';
import type { App, AppSettings } from '../workload/App';
import { pause } from '../workload/lockTasks';
import { World } from '../workload/World';
import { type LockHold, type LockLostError, ShutdownError } from '../../../lib';
import type { Trace, WorldKind } from './worldKinds';

/** The one lock of these worlds. */
const NAME = 'lock0';
/** Calls of each thread. */
const CALLS = 2;
/** What calls are like in a world: any; most are given up at once; all wait for each other; holds move by ticket. */
const MOODS = ['any', 'any', 'impatient', 'patient', 'tickets'] as const;
type Mood = (typeof MOODS)[number];
/** So long works on who has lost its lock by a shutdown, in ms, if that is a small part of the lease. */
const STAYS_MS = 300;
/** Everything has settled so long after the last call, in ms: what nobody owns has been looked for until then. */
const SETTLE_MS = 15_000;

/**
 * Runs a world that is small enough for TLC: two or three processes, each with one or two threads that keep their ids,
 * and one plain lock. Connections break, and what was written to them may arrive late.
 */
export async function trace(seed: number, kind: WorldKind, note?: (line: string) => void): Promise<Trace> {
  const world = new World(seed, Infinity, note, profileOf(seed, kind), true);
  const { loop, random, oracle } = world;
  try {
    let busy = 0;
    const tickets: string[] = [];
    const mood = kind === 'plain' ? random.of(MOODS) : random.of(['any', 'patient', 'patient'] as const);
    for (let i = 0; i < world.profile.apps; i++) {
      world.start(false, (app) => {
        for (let thread = 1; thread <= world.profile.tasks; thread++) {
          busy++;
          void work(world, kind, app, thread, mood, tickets).then(
            () => busy--,
            (error: unknown) => oracle.violate(String(error)),
          );
        }
      });
    }
    if (kind === 'failover') failOvers(world);
    if (kind === 'leases') shutDowns(world);
    // The patient do not break the relays of each other.
    const breaks = kind === 'plain' ? random.below(5) : random.of([0, 0, 1, 2]);
    for (let i = 0; i < breaks; i++) loop.after(random.between(10, 4_000), () => breakOne(world));
    await loop.run(() => false, 10);
    await loop.run(() => busy === 0, 120_000);
    await loop.run(() => false, loop.now + SETTLE_MS);
    const { localHandOver = false } = world.profile.settings;
    return { seed, events: world.events!.events, local: localHandOver, endedAt: Math.ceil(loop.now) };
  } finally {
    enter(undefined);
  }
}

/** What these worlds have in common; the seed decides the rest. */
function profileOf(seed: number, kind: WorldKind): GivenProfile {
  const random = new Random(seed + 2 ** 47);
  const profile = plainProfileOf(random);
  switch (kind) {
    case 'plain':
      return profile;
    case 'leases':
      return { ...profile, latencyMs: random.of([0.5, 5, 30, 100]) };
    case 'local':
      return {
        ...profile,
        apps: 1 + random.below(2),
        tasks: 2 + random.below(3),
        latencyMs: random.of([0.5, 2, 5]),
        settings: { ...profile.settings, maxHandOvers: 64, localHandOver: true },
      };
    case 'failover':
    default:
      return {
        ...profile,
        replicas: 1,
        settings: {
          ...profile.settings,
          localHandOver: random.chance(30),
        },
      };
  }
}

function plainProfileOf(random: Random): GivenProfile & { readonly settings: AppSettings } {
  return {
    servers: 1,
    replicas: 0,
    sentinels: 0,
    apps: 2 + random.below(2),
    tasks: 1 + random.below(3),
    kinds: ['lock'],
    namesPerKind: 1,
    latencyMs: random.of([0.5, 5, 30]),
    faults: [],
    settings: {
      lockWatchdogTimeout: random.of([1_500, 15_000]),
      maxHandOvers: random.of([0, 64, 64]),
      fairLockWaitTimeout: 60_000,
      lockWatchdogBatchSize: 100,
    },
  };
}

/** @param tickets - of holds that nobody has taken up: one at most */
async function work(
  world: World,
  kind: WorldKind,
  app: App,
  threadId: number,
  mood: Mood,
  tickets: string[],
): Promise<void> {
  const { random } = world;
  const lock = app.clients[0]!.getLock(NAME);
  const owner = `${app.clients[0]!.getId()}:${threadId}`;
  const events = world.events!;
  const { localHandOver = false, lockWatchdogTimeout } = world.profile.settings;
  const briefly = localHandOver && random.chance(85);
  for (let i = 0; i < (briefly ? 3 * CALLS : CALLS); i++) {
    await pause(random.of([0, random.between(1, 50), mood === 'patient' ? 0 : random.between(50, 600)]));
    const ticket = random.chance(70) ? tickets.pop() : undefined;
    if (ticket !== undefined) await takeUp(world, app, ticket);
    const leases = [
      -1,
      -1,
      kind === 'plain' ? random.between(50, 400) : random.between(600, 1_200),
      2_000,
      20_000,
      ...(mood === 'impatient' ? [20_000, 20_000, 20_000] : []),
    ];
    const leaseTime = mood === 'tickets' ? -1 : Math.ceil(random.of(leases));
    const waits = [0, random.between(1, 50), random.between(50, 1_000), 5_000, 5_000];
    const waitTime = mood === 'patient' ? 5_000 : Math.ceil(random.of(waits));
    const controller = new AbortController();
    const aborts = random.chance({ any: 15, impatient: 70, patient: 0, tickets: 0 }[mood]);
    const timer = aborts ? setTimeout(() => controller.abort(new Error('aborted')), random.around(30)) : undefined;
    const options = { threadId, leaseTime, signal: controller.signal };
    const take = (wait: number) =>
      wait === 0 ? lock.tryAcquireHold(options) : lock.acquire({ ...options, waitTime: wait });
    try {
      const hold = await take(waitTime);
      clearTimeout(timer);
      if (hold === null) {
        events.quits(owner, NAME);
        continue;
      }
      if (!hold.isHeld) continue;
      const leaves = events.enters(owner, NAME);
      let renewed = leaseTime === -1 && !localHandOver && lockWatchdogTimeout > 10 * STAYS_MS;
      hold.signal.addEventListener('abort', () =>
        renewed && isShutDown(hold) ? void setTimeout(leaves, STAYS_MS) : leaves(),
      );
      const long = [random.around(100), random.around(1_500), random.around(1_500)];
      // What is passed on before Redis knows was confirmed a moment ago.
      const brief = [random.around(1), random.around(2), random.around(200)];
      const workMs = random.of([random.around(5), ...(briefly ? brief : long)]);
      await pause(workMs / 2);
      if (random.chance(25)) {
        const again = reenter(world, app, threadId);
        // While the acquisition is under way.
        if (kind === 'leases' && random.chance(30)) void app.clients[0]!.shutdown();
        if (await again) return leaves();
      }
      if (kind === 'leases' && random.chance(70)) {
        renewed = false;
        await changeLease(world, hold);
      }
      await pause(workMs / 2);
      leaves();
      if (mood === 'tickets' && tickets.length === 0 && random.chance(60)) tickets.push(await hold.detach());
      else if (await isCutOff(hold.unlock())) return;
    } catch {
      clearTimeout(timer);
      events.quits(owner, NAME);
    }
  }
}

/** Whether a shutdown has cut off an unlock: whether that has run is not known, and its thread does nothing more. */
async function isCutOff(unlocked: Promise<void>): Promise<boolean> {
  try {
    await unlocked;
    return false;
  } catch (error) {
    if (error instanceof ShutdownError) return true;
    throw error;
  }
}

/** Whether a hold is lost because its client has shut down. Then it stays until its lease ends. */
function isShutDown({ signal }: LockHold): boolean {
  return (signal.reason as LockLostError).cause instanceof ShutdownError;
}

/** The lease of a hold gets shorter or longer; without waiting for the answer, sometimes, and once more. */
async function changeLease({ random }: World, hold: LockHold): Promise<void> {
  for (let i = 1 + random.below(2); i > 0; i--) {
    const leaseMs = Math.ceil(random.of([random.between(50, 400), 1_000, 2_000, 20_000]));
    const changed = hold.extend(leaseMs).catch(() => undefined);
    if (random.chance(70)) await changed;
    else await pause(random.around(5));
  }
}

/** One process or two shut down, under their sections and calls; they wait for them first, or not. */
function shutDowns(world: World): void {
  const { random, loop, apps } = world;
  for (let i = random.below(3); i > 0; i--) {
    loop.after(random.between(100, 3_000), () => {
      const { process, clients } = random.of([...apps]);
      const drain = random.of([0, 0, random.around(200)]);
      world.spawn(process, () => void clients[0]!.shutdown({ drain }));
    });
  }
}

/** A new thread takes up a hold that another one has left. */
async function takeUp({ random, events }: World, app: App, ticket: string): Promise<void> {
  try {
    const hold = await app.clients[0]!.attach(ticket);
    if (!hold.isHeld) return;
    const leaves = events!.enters(`${app.clients[0]!.getId()}:${hold.threadId}`, NAME);
    hold.signal.addEventListener('abort', leaves);
    await pause(random.around(50));
    leaves();
    await hold.unlock();
  } catch {
    // Its lease was over, or the connection is gone.
  }
}

/** The same thread takes the lock once more. @returns whether that was cut off, see {@link isCutOff} */
async function reenter({ random, events }: World, app: App, threadId: number): Promise<boolean> {
  const lock = app.clients[0]!.getLock(NAME);
  try {
    const hold = await lock.acquire({ threadId, waitTime: 500, leaseTime: random.of([-1, 1_000]) });
    await pause(random.around(10));
    return await isCutOff(hold.unlock());
  } catch {
    // The lock was lost, or the connection: the outer one learns of that as well.
    events!.quits(`${app.clients[0]!.getId()}:${threadId}`, NAME);
    return false;
  }
}

/** The master dies once or twice. Its replica has got nothing for a while before. */
function failOvers({ random, loop, nodes, events }: World): void {
  const server = nodes[0]!;
  // WAIT is not in the specification.
  server.hidesReplicas = true;
  const { replaced } = server;
  server.replaced = (former, got, lost) => {
    replaced?.(former, got, lost);
    events!.failsOver(got, NAME);
  };
  for (let i = 1 + random.below(2); i > 0; i--) {
    const at = random.between(100, 4_000);
    // Long enough for locks that are forgotten: clients are back within a moment.
    const deafMs = random.around(1_000);
    loop.after(at, () => server.stall(deafMs));
    loop.after(at + deafMs, () => server.failOver(random.between(50, 1_500)));
  }
}

/** A connection that carries commands breaks, now or with its next command or reply. */
function breakOne(world: World): void {
  const { random } = world;
  const [server] = world.nodes;
  const channels = server!.channels;
  const some = server!.connections.filter((socket) => !channels.some((channel) => server!.listens(socket, channel)));
  if (some.length === 0) return;
  const socket = random.of(some);
  const soon = (): number => random.of([0, random.around(5), random.around(100)]);
  const lateBy = random.chance(70) ? Math.min(random.of([random.around(50), random.around(1_000)]), 4_000) : undefined;
  const how = { clientIn: soon(), serverIn: soon(), lateBy };
  if (random.chance(25)) socket.break(how);
  else socket.trap = { at: random.of(['write', 'reply'] as const), how };
}
