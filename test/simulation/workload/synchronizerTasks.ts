import type { RPermitExpirableSemaphore } from '../../../lib';
import type { App } from './App';
import { PLAIN_WISH, judge, pause } from './lockTasks';
import { PERMITS, type Wanted, type World } from './World';

/** How many the latches count. */
const COUNT = 2;
/** A permit whose lease lasts at least so long is valid for all, however wrong their clocks are, in ms. */
const SURE_MS = 8_000;

/** One use of a semaphore, of a permit with a lease, or of a latch. */
export async function useSynchronizer(world: World, app: App): Promise<void> {
  const index = world.random.below(world.servers.length);
  const number = world.random.below(world.profile.namesPerKind);
  switch (world.random.below(3)) {
    case 0:
      return useSemaphore(world, app, index, `semaphore${number}`);
    case 1:
      return usePermits(world, app, index, `permits${number}`);
    default:
      return useLatch(world, app, index, `latch${number}`);
  }
}

async function useSemaphore(world: World, app: App, index: number, name: string): Promise<void> {
  const { random, oracle, loop } = world;
  const server = world.servers[index]!;
  const semaphore = app.clients[index]!.getSemaphore(name);
  const key = `${server.name}/${name}`;
  const permits = 1 + random.below(PERMITS);
  const waitTime = random.of([0, random.between(1, 100), 5_000, 20_000]);
  const what = `semaphore ${name} ${permits} ${waitTime.toFixed()}`;
  const wanted: Wanted = {
    key,
    patienceMs: () => 2_500,
    isFree: () => Number(server.store.text(name) ?? 0) >= permits,
  };
  try {
    await world.operation(app, `set ${what}`, undefined, () => semaphore.trySetPermits(PERMITS));
    const askedAt = loop.now;
    const got = await world.operation(app, `acquire ${what}`, wanted, () => semaphore.tryAcquire(permits, waitTime));
    if (!got) return;
    const givenBack = oracle.lend(app, key, permits, askedAt);
    const leave = oracle.takePermits(app, key, permits, PERMITS + oracle.strays(key), loop.now);
    await pause(random.around(20));
    leave();
    try {
      await world.operation(app, `release ${what}`, undefined, () => semaphore.release(permits));
    } finally {
      givenBack();
    }
  } catch (error) {
    judge(world, app, error, what, PLAIN_WISH);
  }
}

async function usePermits(world: World, app: App, index: number, name: string): Promise<void> {
  const { random, oracle, loop } = world;
  const server = world.servers[index]!;
  const semaphore = app.clients[index]!.getPermitExpirableSemaphore(name);
  const key = `${server.name}/${name}`;
  const waitTime = random.of([0, random.between(1, 100), 5_000, 20_000]);
  const leaseTime = random.of([-1, 1_000, 20_000, random.between(2, 200)]);
  const permits = 1 + random.below(2);
  const ended = app.use(key);
  const what = `permits ${name} ${permits} ${waitTime.toFixed()} ${leaseTime.toFixed()}`;
  const wanted: Wanted = {
    key,
    patienceMs: () => 2_500,
    isFree: () => Number(server.store.text(name) ?? 0) >= permits,
  };
  try {
    await world.operation(app, `set ${what}`, undefined, () => semaphore.trySetPermits(PERMITS));
    if (leaseTime === -1 && random.chance(60))
      return await holdPermits(world, app, semaphore, wanted, permits, waitTime);
    const ids = await world.operation(app, `acquire ${what}`, wanted, () =>
      semaphore.tryAcquireMany(permits, waitTime, leaseTime),
    );
    if (ids.length === 0) return;
    const givenBack = world.permits.own(key, ids);
    const sure = leaseTime === -1 || leaseTime >= SURE_MS;
    const leave = sure ? oracle.takePermits(app, key, permits, PERMITS, loop.now) : undefined;
    await pause(Math.min(random.around(20), 2_000));
    leave?.();
    // What could not be given back still belongs to its caller.
    await world.operation(app, `release ${what}`, undefined, () => semaphore.tryReleaseMany(ids));
    givenBack();
  } catch (error) {
    judge(world, app, error, what, PLAIN_WISH);
  } finally {
    ended();
  }
}

/** Permits that the watchdog renews: while they are held, they are in Redis, and no more than there are. */
async function holdPermits(
  world: World,
  app: App,
  semaphore: RPermitExpirableSemaphore,
  wanted: Wanted,
  permits: number,
  waitTime: number,
): Promise<void> {
  const { random, oracle, loop } = world;
  const what = `hold ${semaphore.name} ${permits} ${waitTime.toFixed()}`;
  const hold = await world.operation(app, `acquire ${what}`, wanted, () =>
    semaphore.acquireHold({ permits, waitTime }),
  );
  const givenBack = world.permits.own(wanted.key, hold.ids);
  const leave = hold.isHeld ? oracle.takePermits(app, wanted.key, permits, PERMITS, loop.now) : undefined;
  hold.signal.addEventListener('abort', () => leave?.());
  try {
    await pause(random.around(random.chance(20) ? 2_000 : 20));
  } finally {
    leave?.();
    try {
      await world.operation(app, `release ${what}`, undefined, () => hold.release());
    } finally {
      givenBack();
    }
  }
}

async function useLatch(world: World, app: App, index: number, name: string): Promise<void> {
  const { random } = world;
  const server = world.servers[index]!;
  const latch = app.clients[index]!.getCountDownLatch(name);
  const key = `${server.name}/${name}`;
  const what = `latch ${name}`;
  const wanted: Wanted = { key, patienceMs: () => 2_500, isFree: () => server.store.entry(name) === undefined };
  try {
    if (random.chance(30)) {
      await world.operation(app, `set ${what}`, undefined, () => latch.trySetCount(COUNT));
    } else if (random.chance(50)) {
      await world.operation(app, `down ${what}`, undefined, () => latch.countDown());
    } else {
      const limit = random.of([random.between(1, 200), 5_000, 20_000]);
      await world.operation(app, `await ${what}`, wanted, () => latch.await(limit));
    }
  } catch (error) {
    judge(world, app, error, what, PLAIN_WISH);
  }
}
