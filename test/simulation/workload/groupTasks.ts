import type { LockHold } from '../../../lib/api';
import { groupValues } from '../../../lib/kinds/group';
import type { Served } from '../server/SimServer';
import type { App } from './App';
import type { HoldRecord } from './Oracle';
import { drawWish, judge, type Leases, pause } from './lockTasks';
import type { Wanted, World } from './World';

const VALUES = ['a', 'b', 'c', 'd'];
/** Of a hundred uses so many take the first two: those who want exactly the same values hand them over. */
const ALIKE = 40;
/** Values that are always taken together, beside some of the others. */
const CROWD = Array.from({ length: 2_000 }, (_, i) => `v${i}`);
/** Of a hundred uses of a group so many take the crowd, too. */
const CROWDED = 2;
/** Those who ended a call for a group have released its values so long after, in ms. */
const GHOST_MS = 3_000;
/** Leases of clients whose clocks run at the same speed differ by less, in ms. */
const CLOCK_MS = 500;

/** Some values of a group of a server. */
interface Place {
  readonly server: Served;
  readonly name: string;
  readonly values: readonly string[];
  /** Whether it has the crowd, too. */
  readonly crowded: boolean;
}

/**
 * One use of some values of a group.
 *
 * @param depth - how many of this task are around it
 * @param around - what those have asked for
 */
export async function useGroup(world: World, app: App, depth = 0, around: Leases = new Map()): Promise<void> {
  const { random } = world;
  const index = random.below(world.servers.length);
  const server = world.servers[index]!;
  const name = `group${random.below(world.profile.namesPerKind)}`;
  const chosen = random.chance(ALIKE) ? VALUES.slice(0, 2) : VALUES.filter(() => random.chance(40));
  const values = chosen.length > 0 ? chosen : [random.of(VALUES)];
  // In whatever order they are given.
  if (random.chance(50)) values.reverse();
  const crowded = random.chance(CROWDED);
  const place = { server, name, values, crowded };
  const lock = app.clients[index]!.getMultiLock(name, crowded ? [...values, ...CROWD] : values);
  const wish = drawWish(world);
  // Two that wait for each other's values would wait for ever.
  if (depth > 0) Object.assign(wish, { waitTime: random.between(0, 300) });
  const options = { leaseTime: wish.leaseTime, ...(wish.waitTime !== undefined && { waitTime: wish.waitTime }) };
  const full = { ...options, ...(wish.signal && { signal: wish.signal }) };
  const what = `group ${name} ${values.join('+')}${crowded ? '+crowd' : ''} ${JSON.stringify(options)}`;
  const leaseMs = wish.leaseTime === -1 ? world.profile.settings.lockWatchdogTimeout : wish.leaseTime;
  const waitsFor = wanted(place);
  const ended = app.use(`${server.name}/${name}`);
  try {
    if (random.chance(60)) {
      await world.operation(app, `withLock ${what}`, waitsFor, () =>
        lock.withLock((hold) => inside(world, app, place, hold, { waitsFor, leaseMs, around, depth }), full),
      );
    } else {
      const hold = await world.operation(app, `acquire ${what}`, waitsFor, () =>
        wish.waitTime === 0 ? lock.tryAcquireHold(full) : lock.acquire(full),
      );
      if (hold === null) return;
      await inside(world, app, place, hold, { waitsFor, leaseMs, around, depth: 2 });
      await world.operation(app, `unlock ${what}`, undefined, () => hold.unlock());
    }
  } catch (error) {
    judge(world, app, error, what, wish);
  } finally {
    ended();
  }
}

function keyOf({ server, name }: Place, value: string): string {
  return `${server.name}/${name}/${value}`;
}

/** @param depth - from 2 on nothing is taken inside */
async function inside(
  world: World,
  app: App,
  place: Place,
  hold: LockHold,
  { waitsFor, leaseMs, around, depth }: { waitsFor: Wanted; leaseMs: number; around: Leases; depth: number },
): Promise<void> {
  const { server, name, crowded } = place;
  const values = crowded ? [...place.values, CROWD[0]!] : place.values;
  const { random, oracle, loop } = world;
  for (const operation of world.operations) {
    if (operation.app === app && operation.waitsFor === waitsFor) operation.waitsFor = undefined;
  }
  if (!hold.isHeld) return;
  const since = loop.now;
  const owner = `${app.process.id}:${hold.threadId}`;
  const token = `${app.clients[world.servers.indexOf(server)]!.getId()}:${hold.threadId}`;
  const alive = (): boolean => hold.isHeld && !hold.signal.aborted;
  const keys = [waitsFor.key, ...values.map((value) => keyOf(place, value))];
  // Values that the thread has already keep the longer lease.
  const leases = new Map(around);
  const leaseOf = (value: string): number => leases.get(`${keyOf(place, value)} ${token}`) ?? 0;
  for (const value of values) leases.set(`${keyOf(place, value)} ${token}`, Math.max(leaseMs, leaseOf(value)));
  const recordOf = (some: readonly string[]): HoldRecord => {
    const fields = groupValues(some).fields.map((field) => `${field}:${token}:expire_time`);
    return { server: server.name, name, fields };
  };
  const leaving = keys.map((key, i) => {
    const record = recordOf(i === 0 ? values : [values[i - 1]!]);
    return oracle.enter({ app, key, shared: false, owner, since, record, alive });
  });
  const check = (): void => {
    const lostAt = oracle.lastLoss(server.name, name);
    if (!alive()) return;
    const lostFor = lostAt >= since ? loop.now - lostAt : Infinity;
    const gone = values
      .filter((value) => lostFor >= leaseOf(value) + CLOCK_MS)
      .filter((value) => !isKnown(world, holderOf(server, name, value), token))
      .filter((value) => !oracle.misled(recordOf([value])));
    const lostOfCrowd = crowded && lostFor >= leaseOf(CROWD[0]!) + CLOCK_MS ? missing(world, server, name, token) : 0;
    if (lostOfCrowd > 0 && !gone.includes(CROWD[0]!) && !oracle.misled(recordOf([CROWD[0]!])))
      gone.push(`${lostOfCrowd} of the crowd`);
    if (gone.length > 0) oracle.violate(`${token} believes to hold ${gone.join('+')} of ${server.name}/${name}`);
  };
  try {
    const work = random.chance(world.profile.longHolds) ? random.around(4_000) : random.around(15);
    for (const part of [1, 2]) {
      await pause(work / 2);
      check();
      if (part === 1 && depth < 2 && random.chance(20)) {
        await useGroup(world, app, depth + 1, leases);
        check();
      }
    }
  } finally {
    for (const leave of leaving) leave();
  }
}

/** Who has a value, of those whose time is not over. */
function holderOf(server: Served, name: string, value: string): string | undefined {
  return holderOfField(server, name, groupValues([value]).fields[0]!);
}

function holderOfField({ store, clock }: Served, name: string, field: string): string | undefined {
  const hash = store.hash(name);
  const holder = hash?.get(field);
  return Number(hash?.get(`${field}:${holder}:expire_time`) ?? 0) >= clock ? holder : undefined;
}

/** With `localHandOver` Redis may have a value for another owner of the same client. */
function isKnown({ profile }: World, holder: string | undefined, token: string): boolean {
  if (profile.settings.localHandOver !== true) return holder === token;
  return holder?.startsWith(token.slice(0, token.lastIndexOf(':') + 1)) === true;
}

let crowdFields: readonly string[] | undefined;

/** How many values of the crowd somebody has not got. */
function missing(world: World, server: Served, name: string, token: string): number {
  // Hashed once: it is slow.
  crowdFields ??= groupValues(CROWD).fields;
  const has = (field: string): boolean => isKnown(world, holderOfField(server, name, field), token);
  return crowdFields.filter((field) => !has(field)).length;
}

function wanted({ server, name, values: some, crowded }: Place): Wanted {
  const values = crowded ? [...some, CROWD[0]!] : some;
  return {
    key: `${server.name}/${name}/${[...values].sort().join('+')}+`,
    patienceMs: () => 2_500,
    isFree: () => values.every((value) => holderOf(server, name, value) === undefined),
  };
}

/** Looks for values of clients that live, and have no call for that group. */
export function lookForGroupGhosts({ servers, profile, apps, oracle }: World): void {
  for (const server of servers) {
    for (let i = 0; i < profile.namesPerKind; i++) {
      const key = `${server.name}/group${i}`;
      for (const value of [...VALUES, CROWD[0]!, CROWD.at(-1)!]) {
        const owner = holderOf(server, `group${i}`, value);
        const app = apps.find(({ clients }) => clients.some((client) => client.getId() === owner?.slice(0, 36)));
        if (app === undefined || !app.running || app.leaving || app.unusedFor(key) < GHOST_MS) continue;
        oracle.violate(`${app.process.id} has left ${value} of ${key}, owned by ${owner}`);
      }
    }
  }
}
