import type { LockHold, RLock } from '../../../lib/api';
import type { App } from './App';
import { drawWish, judge, pause } from './lockTasks';
import type { World } from './World';

/** One use of several locks at once: of all, or of most of them. */
export async function useMulti(world: World, app: App): Promise<void> {
  const { random, oracle, loop } = world;
  const red = random.chance(50);
  const members: RLock[] = [];
  const keys: string[] = [];
  if (red) {
    // The same name on each server; on one server three names.
    const name = `red${random.below(2)}`;
    const places = world.servers.length > 1 ? world.servers.map(() => name) : [1, 2, 3].map((i) => `${name}:${i}`);
    places.forEach((place, i) => members.push(app.clients[i % app.clients.length]!.getLock(place)));
    keys.push(`red/${name}`);
  } else {
    for (const i of [0, 1, 2]) {
      if (members.length > 0 && random.chance(30)) continue;
      const index = random.below(world.servers.length);
      members.push(app.clients[index]!.getLock(`member${i}`));
      keys.push(`${world.servers[index]!.name}/member${i}`);
    }
    // In whatever order they are given.
    if (random.chance(50)) members.reverse();
  }
  const client = app.clients[0]!;
  const lock = red ? client.getRedLock(...members) : client.getMultiLock(...members);
  const wish = drawWish(world);
  const leaseTime = wish.leaseTime === -1 ? -1 : Math.max(wish.leaseTime, 500);
  const options = { leaseTime, ...(wish.waitTime !== undefined && { waitTime: wish.waitTime }) };
  const full = { ...options, ...(wish.signal && { signal: wish.signal }) };
  const what = `${red ? 'red' : 'multi'} ${keys.join('+')} ${JSON.stringify(options)}`;
  // A member is held from its own reply on, which may come long before the last one's.
  const since = loop.now;
  const inside = async (hold: LockHold): Promise<void> => {
    if (!hold.isHeld) return;
    const owner = `${app.process.id}:${hold.threadId}`;
    const alive = (): boolean => hold.isHeld && !hold.signal.aborted;
    const leaving = keys.map((key) => oracle.enter({ app, key, shared: false, owner, since, alive }));
    await pause(random.around(20));
    for (const leave of leaving) leave();
  };
  try {
    if (random.chance(50)) {
      await world.operation(app, `withLock ${what}`, undefined, () => lock.withLock(inside, full));
    } else {
      const hold = await world.operation(app, `acquire ${what}`, undefined, () => lock.acquire(full));
      await inside(hold);
      await world.operation(app, `unlock ${what}`, undefined, () => hold.unlock());
    }
  } catch (error) {
    judge(world, app, error, what, { ...wish, leaseTime });
  }
}
