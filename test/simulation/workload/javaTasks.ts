import { JavaMonitorStateError, type JavaClient, type JavaHold, type JavaKind } from '../java/JavaClient';
import { JavaTimeoutError } from '../java/JavaConnection';
import { RedisError } from '../../../lib/testing/store/replies';
import type { App } from './App';
import { drawName, pause } from './lockTasks';
import { ERROR_MS, JAVA_KINDS, type LockKindName, type LockPlace, type World } from './World';

const FORMS: Readonly<Partial<Record<LockKindName, JavaKind>>> = {
  fair: 'fair',
  nonReentrantFair: 'fair',
  read: 'read',
  write: 'write',
};

/** One use of a lock by a thread of Java. @param task - its number in the process */
export async function useJava(world: World, app: App, task: number): Promise<void> {
  const { random } = world;
  const index = random.below(world.servers.length);
  const kind = random.of(world.profile.kinds.filter((one) => JAVA_KINDS.test(one)));
  const form = FORMS[kind] ?? 'plain';
  const name = drawName(world, kind);
  const client = app.javaClients[index]!;
  const thread = 50 + task;
  const place = javaPlace(world, world.place(world.servers[index]!, kind, name), client, form, thread);
  const leaseMs = random.chance(60) ? -1 : Math.ceil(random.between(100, 5_000));
  const waitMs = random.of([undefined, undefined, 0, random.between(1, 50), random.between(50, 2_000), 20_000]);
  const what = `java ${form} ${name} ${waitMs?.toFixed() ?? 'for ever'} ${leaseMs}`;
  let hold: JavaHold | undefined;
  try {
    hold = await world.operation(app, `lock ${what}`, place, () =>
      waitMs === undefined
        ? client.lock(form, name, thread, leaseMs)
        : waitMs === 0
          ? client.tryLock(form, name, thread)
          : client.tryLockFor(form, name, thread, waitMs, leaseMs),
    );
    if (hold === undefined) return;
    const lease = waitMs === 0 ? -1 : leaseMs;
    try {
      await inside(world, app, client, place, hold, async (since) => {
        await pause(random.chance(4) ? random.around(4_000) : random.around(15));
        checkHeld(world, client, place, hold!, since);
        if (lease === -1 && random.chance(15)) await reenter(world, app, client, form, place, thread);
      });
    } finally {
      await world.operation(app, `unlock ${what}`, undefined, () => client.unlock(form, name, thread, lease));
    }
  } catch (error) {
    judge(world, app, error, what, hold);
  }
}

async function reenter(
  world: World,
  app: App,
  client: JavaClient,
  form: JavaKind,
  place: LockPlace,
  thread: number,
): Promise<void> {
  const what = `java reenter ${form} ${place.name}`;
  // If the lock is lost, it waits as any other does.
  const hold = await world.operation(app, what, place, () => client.lock(form, place.name, thread, -1));
  const since = world.loop.now;
  await pause(world.random.around(10));
  checkHeld(world, client, place, hold, since);
  await world.operation(app, `unlock ${what}`, undefined, () => client.unlock(form, place.name, thread, -1));
}

/**
 * What is done with a lock. Nobody tells a thread of Java that its lease is over: it is inside for as long as it lasts.
 */
async function inside(
  world: World,
  app: App,
  client: JavaClient,
  place: LockPlace,
  hold: JavaHold,
  work: (since: number) => Promise<void>,
): Promise<void> {
  for (const operation of world.operations) {
    if (operation.app === app && operation.waitsFor === place) operation.waitsFor = undefined;
  }
  const { key, kind } = place;
  const since = world.loop.now;
  const alive = (): boolean => world.loop.now <= hold.until && !client.isDisturbed(hold);
  const owner = `${app.process.id}:${hold.owner}`;
  const leave = world.oracle.enter({ app, key, shared: kind === 'read', owner, since, alive });
  try {
    await work(since);
  } finally {
    leave();
  }
}

/** Nobody takes a lock from a client of Java before its lease is over, but what it has sent itself and given up. */
function checkHeld(
  world: World,
  client: JavaClient,
  { server, name, key }: LockPlace,
  hold: JavaHold,
  since: number,
): void {
  if (world.loop.now > hold.until || server.store.hash(name)?.has(hold.owner) === true) return;
  if ((world.oracle.lostAt.get(server.name) ?? -1) >= since || client.isDisturbed(hold)) return;
  world.oracle.violate(`${hold.owner} has ${key} until ${hold.until.toFixed(3)}, and Redis does not know it`);
}

/**
 * Redisson does not look again when it has missed a message: its waiter sleeps for the time that the server told it, of
 * a fair lock until its own turn should come, which may be minutes, and whoever waits behind it waits for that. Only
 * while nothing was ever wrong no message is lost; then it sleeps on where the lease of somebody else has ended.
 */
function javaPlace(world: World, place: LockPlace, client: JavaClient, kind: JavaKind, thread: number): LockPlace {
  const patienceMs = (): number => (world.troubled && kind === 'fair' ? Infinity : place.patienceMs());
  const isExcused = (): boolean =>
    world.troubled
      ? client.sleepOf(kind, thread) !== undefined
      : world.java!.sleepsOn(place.server, place.name, client, kind, thread);
  return { ...place, patienceMs, isExcused };
}

function judge(world: World, app: App, error: unknown, what: string, hold: JavaHold | undefined): void {
  const explained = world.troubled && world.loop.now - world.troubleEnds < ERROR_MS;
  if (error instanceof JavaMonitorStateError && (explained || hold === undefined || world.loop.now > hold.until))
    return;
  if (explained && (error instanceof JavaTimeoutError || error instanceof RedisError)) return;
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  world.oracle.violate(`${app.process.id} ${what}: ${text}`);
}
