import { ALL_KINDS } from '../../../lib/kinds/allKinds';
import type { LockHold, RLock } from '../../../lib/api';
import * as errors from '../../../lib/errors';
import type { SimStore } from '../server/SimStore';
import type { App } from './App';
import type { HoldRecord } from './Oracle';
import { ERROR_MS, type LockKindName, type LockPlace, type World } from './World';

/** The reason of our own aborts. */
const ABORTED = new Error('aborted by the task');

/** Clocks that run at different speeds differ by less in a lease, in ms. */
const CLOCK_MS = 500;

/** How somebody asks who cannot be aborted. */
export const PLAIN_WISH: Wish = { waitTime: 0, leaseTime: -1, signal: undefined };

/** A pause of the process whose code runs. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** How a call asks for a lock. */
export interface Wish {
  readonly waitTime: number | undefined;
  readonly leaseTime: number;
  readonly signal: AbortSignal | undefined;
}

/** The longest lease, in ms, that each owner of a lock has asked for. An inner hold ends with the outer one. */
export type Leases = ReadonlyMap<string, number>;

/** Where a hold stands. */
interface Call {
  /** How many uses of locks are around it. */
  readonly depth: number;
  /** Whether it is a section. */
  readonly scoped: boolean;
  readonly askedAt: number;
  /** The longest lease that the thread has asked for, in ms. */
  readonly leaseMs: number;
  /** What the uses around it have asked for. */
  readonly around: Leases;
  /** The sections around it. */
  readonly sections: readonly Section[];
}

/** A callback of `withLock`. */
export interface Section {
  readonly hold: LockHold;
  /** The number of its server. */
  readonly index: number;
}

export function drawWish({ random }: World): Wish {
  const waitTime = random.of([undefined, undefined, 0, random.between(1, 50), random.between(50, 2_000), 20_000]);
  const leases = [-1, -1, -1, random.between(100, 2_000), 10_000, random.chance(20) ? random.between(2, 40) : 5_000];
  let signal: AbortSignal | undefined;
  if (random.chance(12)) {
    const controller = new AbortController();
    signal = controller.signal;
    setTimeout(() => controller.abort(ABORTED), random.around(100));
  }
  return { waitTime, leaseTime: Math.ceil(random.of(leases)), signal };
}

/**
 * A name of a lock of that kind. `x` and `{x}` share a channel, and are both drawn; but of fair locks they also share
 * the queue, so that one waits for the other, and of read/write locks the keys of read holds: there, each number has
 * one of the two.
 */
export function drawName({ random, profile }: World, kind: LockKindName): string {
  const number = random.below(profile.namesPerKind);
  const isReadWrite = kind === 'read' || kind === 'write';
  const base = `${isReadWrite ? 'rw' : kind}${number}`;
  const braces = isReadWrite || /air/.test(kind) ? number % 2 === 1 : random.chance(25);
  return braces ? `{${base}}` : base;
}

/**
 * One use of a lock.
 *
 * @param depth - how many of this task are around it
 * @param around - what those have asked for
 * @param sections - those around it
 */
export async function useLock(
  world: World,
  app: App,
  depth = 0,
  around: Leases = new Map(),
  sections: readonly Section[] = [],
): Promise<void> {
  const { random } = world;
  const left = ticketsOf(world);
  if (depth === 0 && left.length > 0 && random.chance(50)) return takeUp(world, app, left.shift()!);
  const index = random.below(world.servers.length);
  const kind = random.of(world.profile.kinds);
  const name = drawName(world, kind);
  const place = world.place(world.servers[index]!, kind, name);
  const lock = world.lockOf(app.clients[index]!, kind, name);
  const wish = drawWish(world);
  // Two that wait for each other's locks would wait for ever.
  if (depth > 0) Object.assign(wish, { waitTime: random.between(0, 300) });
  const options = { leaseTime: wish.leaseTime, ...(wish.waitTime !== undefined && { waitTime: wish.waitTime }) };
  const full = { ...options, ...(wish.signal && { signal: wish.signal }) };
  const what = `${kind} ${name} ${JSON.stringify(options)}`;
  const askedAt = world.loop.now;
  const leaseMs = longest(world, wish.leaseTime);
  const ended = app.use(place.key);
  const mayGoOn = goesOn(sections, index);
  /** What the hold is to be judged by: once it is being detached, by the lease of its ticket. */
  let judged = wish;
  try {
    if (random.chance(40)) {
      await world.operation(app, `withLock ${what}`, place, () =>
        lock.withLock((hold) => {
          const own = [...sections, { hold, index }];
          return inside(world, app, place, lock, hold, {
            depth,
            scoped: true,
            askedAt,
            leaseMs,
            around,
            sections: own,
          });
        }, full),
      );
    } else {
      const hold = await world.operation(app, `acquire ${what}`, place, () =>
        wish.waitTime === 0 ? lock.tryAcquireHold(full) : lock.acquire(full),
      );
      if (hold === null) return;
      await inside(world, app, place, lock, hold, { depth, scoped: false, askedAt, leaseMs, around, sections });
      if (depth === 0 && DETACHABLE.has(kind) && random.chance(20)) {
        judged = { ...wish, leaseTime: TICKET_MS };
        try {
          const ticket = await world.operation(app, `detach ${what}`, undefined, () =>
            hold.detach({ leaseTime: TICKET_MS }),
          );
          left.push({ ticket, place, index });
          return;
        } catch (error) {
          // Where it was refused the hold is still its caller's.
          judge(world, app, error, what, judged, mayGoOn);
        }
      }
      await world.operation(app, `unlock ${what}`, undefined, () => hold.unlock());
    }
  } catch (error) {
    // A nested use that meets the section around it.
    if (depth > 0 && /nonReentrant/.test(kind) && error instanceof errors.IllegalMonitorStateError) return;
    judge(world, app, error, what, judged, mayGoOn);
  } finally {
    ended();
  }
}

/** A hold that has left its process. */
interface Left {
  readonly ticket: string;
  readonly place: LockPlace;
  readonly index: number;
}

/** The lease of a ticket, in ms: shorter than a server may be silent without a fault. */
const TICKET_MS = 450;
const tickets = new WeakMap<World, Left[]>();
const DETACHABLE: ReadonlySet<string> = new Set(
  ALL_KINDS.filter((kind) => kind.move !== undefined).map(({ name }) => name),
);

function ticketsOf(world: World): Left[] {
  const known = tickets.get(world) ?? [];
  tickets.set(world, known);
  return known;
}

/** Some process takes up a hold that another one has left. Its lease may be over by then. */
async function takeUp(world: World, app: App, { ticket, place, index }: Left): Promise<void> {
  const client = app.clients[index]!;
  const lock = world.lockOf(client, place.kind, place.name);
  const what = `attach ${place.kind} ${place.name}`;
  const askedAt = world.loop.now;
  const ended = app.use(place.key);
  const call = { depth: 0, scoped: false, askedAt, leaseMs: longest(world, -1), around: new Map(), sections: [] };
  try {
    const hold = await world.operation(app, what, undefined, () => client.attach(ticket));
    await inside(world, app, place, lock, hold, call);
    await world.operation(app, `unlock ${what}`, undefined, () => hold.unlock());
  } catch (error) {
    judge(world, app, error, what, { waitTime: undefined, leaseTime: 0, signal: undefined });
  } finally {
    ended();
  }
}

/**
 * Whether a drain lets calls go on: those of a client that has a section around them which is still live.
 * @returns tells whether one was live now, and is live still
 */
function goesOn(sections: readonly Section[], wanted: number): () => boolean {
  const isLive = ({ hold }: Section): boolean => hold.isHeld && !hold.signal.aborted;
  const live = sections.filter((section) => section.index === wanted && isLive(section));
  return () => live.some(isLive);
}

/** What is done with a lock. */
async function inside(
  world: World,
  app: App,
  place: LockPlace,
  lock: RLock,
  hold: LockHold,
  call: Call,
): Promise<void> {
  const { random, oracle, loop } = world;
  const { depth, askedAt, around } = call;
  for (const operation of world.operations) {
    if (operation.app === app && operation.waitsFor === place) operation.waitsFor = undefined;
  }
  const since = loop.now;
  if (!hold.isHeld) return;
  const owner = `${app.process.id}:${hold.threadId}`;
  const alive = (): boolean => hold.isHeld && !hold.signal.aborted;
  const { key } = place;
  const half = `${key} ${place.kind} ${owner}`;
  const leaseMs = Math.max(call.leaseMs, around.get(half) ?? 0);
  const leases = new Map([...around, [half, leaseMs]]);
  const record = recordOf(world, app, place, hold);
  const leave = oracle.enter({ app, key, shared: place.kind === 'read', owner, since, record, alive });
  const [field = ''] = record.fields;
  const left = world.events?.enters(field, place.name);
  if (left !== undefined) hold.signal.addEventListener('abort', left);
  if (place.kind === 'fenced') oracle.token(key, hold.token!, askedAt);
  try {
    const steps = 1 + random.below(3);
    const work = random.chance(world.profile.longHolds) ? random.around(4_000) : random.around(15);
    for (let step = 0; step < steps; step++) {
      await pause(work / steps);
      checkHeld(world, app, place, hold, since, leaseMs);
      if (depth < 2 && random.chance(12)) await useLock(world, app, depth + 1, leases, call.sections);
    }
    if (depth < 2 && random.chance(15) && !/nonReentrant/.test(place.kind)) {
      await reenter(world, app, place, lock, hold, { ...call, leaseMs });
      // What the inner releases, and repeats of them, have left.
      await pause(random.around(15));
      checkHeld(world, app, place, hold, since, leaseMs);
    }
  } finally {
    leave();
    left?.();
  }
}

/** Takes the same lock again; in a section also in branches beside each other, which take turns. */
async function reenter(
  world: World,
  app: App,
  place: LockPlace,
  lock: RLock,
  hold: LockHold,
  { scoped, leaseMs, sections }: Call,
): Promise<void> {
  const { random, oracle } = world;
  const index = world.servers.indexOf(place.server);
  let inBranch = 0;
  const branch = async (): Promise<void> => {
    const waitTime = Math.ceil(random.between(0, 500));
    const leaseTime = random.of([-1, 1_000]);
    const options = { waitTime, leaseTime };
    const mayGoOn = goesOn(sections, index);
    const what = `reenter ${place.kind} ${place.name} ${JSON.stringify(options)}`;
    const work = async (inner: LockHold): Promise<void> => {
      const since = world.loop.now;
      const counts = scoped && place.kind !== 'read' && inner.isHeld;
      if (counts && inBranch++ > 0 && hold.isHeld) oracle.violate(`two branches inside of ${place.key}`);
      await pause(random.around(10));
      checkHeld(world, app, place, inner, since, longest(world, leaseTime, leaseMs));
      if (counts) inBranch--;
    };
    try {
      if (scoped) {
        await world.operation(app, what, undefined, () => lock.withLock(work, options));
      } else {
        const inner = await world.operation(app, what, undefined, () =>
          lock.acquire({ ...options, threadId: hold.threadId }),
        );
        await work(inner);
        await world.operation(app, `unlock ${what}`, undefined, () => inner.unlock());
      }
    } catch (error) {
      judge(world, app, error, what, { waitTime, leaseTime, signal: undefined }, mayGoOn);
    }
  };
  await Promise.all(Array.from({ length: scoped ? 1 + random.below(3) : 1 }, branch));
}

/** The longer one, in ms. @param leaseTime - -1: the watchdog's */
function longest(world: World, leaseTime: number, otherMs = 0): number {
  return Math.max(leaseTime === -1 ? world.profile.settings.lockWatchdogTimeout : leaseTime, otherMs);
}

function recordOf(world: World, app: App, { server, name, kind }: LockPlace, { threadId }: LockHold): HoldRecord {
  const id = app.clients[world.servers.indexOf(server)]!.getId();
  return { server: server.name, name, fields: [`${id}:${threadId}${kind === 'write' ? ':write' : ''}`] };
}

/**
 * Whether Redis has a lock for an owner. With `localHandOver` it may have it under another name of the same client,
 * except for a reader; two of them are not inside at once, which is judged elsewhere.
 */
export function isKnown(store: Pick<SimStore, 'hash'>, name: string, owner: string, local = false): boolean {
  const hash = store.hash(name);
  const [client = '', , half = ''] = owner.split(':');
  if (!local || (half === '' && hash?.has('mode') === true)) return hash?.has(owner) === true;
  return [...(hash?.keys() ?? [])].some((field) => field.startsWith(`${client}:`) && field.endsWith(half));
}

/**
 * Whoever believes to hold a lock must be right. When a server has lost its data, a client may be wrong as long as the
 * lease lasts that was confirmed before; a renewal tells it sooner.
 */
function checkHeld(world: World, app: App, place: LockPlace, hold: LockHold, since: number, leaseMs: number): void {
  if (!hold.isHeld || hold.signal.aborted) return;
  const record = recordOf(world, app, place, hold);
  const [owner = ''] = record.fields;
  const lostAt = world.oracle.lastLoss(place.server.name, place.name);
  if (world.oracle.hasLost(place.server.name, place.name, since) && world.loop.now - lostAt < leaseMs + CLOCK_MS)
    return;
  if (isKnown(place.server.store, place.name, owner, world.profile.settings.localHandOver)) return;
  if (world.oracle.misled(record)) return;
  world.oracle.violate(
    `${owner} believes to hold ${place.key}, which Redis does not know (${hold.remainingLeaseMs} ms)`,
  );
}

/**
 * Whether an error has a cause.
 * @param mayGoOn - whether the call is in a live section, so that a drain lets it go on
 */
export function judge(world: World, app: App, error: unknown, what: string, wish: Wish, mayGoOn?: () => boolean): void {
  const explained = world.troubled && world.loop.now - world.troubleEnds < ERROR_MS;
  // Nobody who takes a lock of a cluster has to know where it is.
  const astray = error instanceof errors.CommandError && /^(MOVED|ASK|CROSSSLOT)$/.test(error.reply ?? '');
  if (error === ABORTED && wish.signal?.aborted) return;
  if (error instanceof errors.LockTimeoutError && wish.waitTime !== undefined) return;
  if (error instanceof errors.ShutdownError && app.leaving && !(mayGoOn?.() === true && isDraining(world, app))) return;
  if (error instanceof errors.LockLostError || error instanceof errors.IllegalMonitorStateError) {
    if (explained || app.leaving || wish.leaseTime !== -1) return;
  }
  if (
    explained &&
    !astray &&
    (error instanceof errors.ConnectionError ||
      error instanceof errors.CommandTimeoutError ||
      error instanceof errors.CommandError ||
      error instanceof errors.NoSyncedReplicasError ||
      error instanceof errors.SubscriptionTimeoutError)
  ) {
    return;
  }
  // All tokens were revoked while its client was logging in, and its time was over before the next login.
  const revokes = world.tokens?.profile.revokedEveryMs !== undefined;
  const isShort = wish.waitTime !== undefined && wish.waitTime < LOGIN_MS;
  if (revokes && isShort && error instanceof errors.ConnectionError && /WRONGPASS/.test(error.message)) return;
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  world.oracle.violate(`${app.process.id} ${what}: ${text}`);
}

/** A client whose login was refused has another token, and is in, after so long, in ms. */
const LOGIN_MS = 1_000;
/** Timers of Node fire up to a millisecond early, and clocks run at different speeds, in ms. */
const EARLY_MS = 2;

/** Whether a process that ends still lets work under locks go on. */
export function isDraining({ loop }: World, { drainsUntil }: App): boolean {
  return loop.now < drainsUntil - EARLY_MS;
}
