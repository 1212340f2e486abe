import { enter } from '../engine/install';
import { createHash } from 'node:crypto';
import type { ObjectKind, RLock } from '../../../lib/api';
import { KINDS } from '../../../lib/kinds/allKinds';
import type { Redisson } from '../../../lib/Redisson';
import { SAMPLES } from '../../redis/scripts/samples';
import { EVERY_LOCK, makeLock } from '../../support/kinds';
import { Loop, Phase, type SimProcess } from '../engine/Loop';
import { Random } from '../engine/Random';
import { JAVA_SCRIPTS } from '../java/javaScripts';
import { type ClusterProfile, SimCluster } from '../server/SimCluster';
import { type Served, SimServer } from '../server/SimServer';
import { type GivenProfile, withCluster, withGiven } from './clusterWorlds';
import { App, type AppSettings } from './App';
import { Events } from './Events';
import { FairOrder } from './FairOrder';
import { JavaOracle } from './JavaOracle';
import { LOCAL_HEIRS_MS, Oracle } from './Oracle';
import { PermitOracle } from './PermitOracle';
import { ShortenedLeases } from './ShortenedLeases';
import type { SimTokens, TokenProfile } from '../server/SimTokens';
import { SentinelWorld, withSentinels } from './sentinelWorlds';
import { tokensOf, withTokens } from './tokenWorlds';

/** Time for a client to notice and mend everything, in ms: only after it must a free lock have been taken. */
export const CALM_MS = 14_000;
/** An error may have had its cause so long ago, in ms. */
export const ERROR_MS = 40_000;
/** How long a lock may be free while somebody waits for it, in ms. */
const IDLE_MS = 2_500;
/** Dead and stopped waiters of a fair lock may cost the living so much, in ms. */
const FAIR_IDLE_MS = 6_000;
/** So long clients may need until they have heard that their connections are gone, in ms. */
export const DEAF_MS = 1_000;
const POLL_MS = 100;
/** So long after a client has closed, its connections are destroyed, in ms. */
export const DESTROYED_MS = 1_000;
/** So long after the last fault a client has released whatever no call of it owns any more, in ms. */
const GHOST_CALM_MS = 8_000;
/** A client may need so long to release what an ended call has left, in ms. */
const GHOST_MS = 3_000;

/** A call of a task that has not settled. */
export interface Operation {
  readonly app: App;
  readonly what: string;
  readonly since: number;
  /** What it waits for, as long as it does. */
  waitsFor: Wanted | undefined;
}

/** Something that calls wait for. */
export interface Wanted {
  /** For the oracle. */
  readonly key: string;
  /** How long it may be free while somebody waits for it, in ms. */
  patienceMs(): number;
  isFree(): boolean;
  /** Whether somebody who has waited since then may sleep beside it, although it is free. */
  isExcused?(since: number): boolean;
}

/** A lock of a server. */
export interface LockPlace extends Wanted {
  readonly server: Served;
  readonly name: string;
  readonly kind: LockKindName;
}

/** How many permits the semaphores of a world have. */
export const PERMITS = 3;

/** The locks that need no more than a name. Their order is part of what a seed says. */
export const LOCK_KINDS: readonly LockKindName[] = EVERY_LOCK.filter(({ lockOf }) => lockOf).map(({ name }) => name);
export type LockKindName = ObjectKind;

/** What a seed decides about its world. */
export interface Profile {
  readonly servers: number;
  /** Of each server. */
  readonly replicas: number;
  /** By way of which clients find the servers. */
  readonly sentinels: number;
  readonly apps: number;
  /** So many of them are of Java. */
  readonly javaApps: number;
  readonly tasks: number;
  /** Mean pause between two operations of a task, in ms. */
  readonly thinkMs: number;
  readonly kinds: readonly LockKindName[];
  readonly namesPerKind: number;
  /** Of a hundred operations so many use a synchronizer, and several locks at once. */
  readonly synchronizers: number;
  readonly multis: number;
  /** Of a hundred operations so many take values of a group. */
  readonly groups: number;
  readonly latencyMs: number;
  /** Of a hundred messages so many take up to 100 ms longer. @default 0.5 */
  readonly latencySpikes?: number;
  /** Of a hundred holds so many last for seconds. */
  readonly longHolds: number;
  readonly faults: readonly FaultFamily[];
  /** Between two bursts of faults, in ms. */
  readonly calmMs: number;
  /** So long after the last fault a free lock must be taken, in ms. */
  readonly healMs: number;
  readonly settings: AppSettings;
  /** A cluster in place of the servers. */
  readonly cluster?: ClusterProfile;
  /** What lets clients in. @default nobody asks */
  readonly tokens?: TokenProfile;
}

export type FaultFamily =
  'network' | 'server' | 'process' | 'memory' | 'disk' | 'shutdown' | 'cluster' | 'sentinel' | 'cut' | 'tokens';

const FAULTS: readonly FaultFamily[] = ['network', 'server', 'process', 'memory', 'disk', 'shutdown'];

const scriptNames = new Map([
  ...SAMPLES.map(({ script: { sha, name } }) => [sha, name] as const),
  ...Object.entries(JAVA_SCRIPTS).map(([name, text]) => [sha1(text), `java.${name}`] as const),
]);

function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

/** A simulated world: servers, processes, what they do, and what happens to them. */
export class World {
  readonly loop: Loop;
  readonly random: Random;
  readonly oracle: Oracle;
  readonly profile: Profile;
  readonly cluster: SimCluster | undefined;
  /** What clients are made for: servers, or one cluster. */
  readonly servers: readonly Served[];
  /** The servers, be they nodes of a cluster or not. */
  readonly nodes: readonly SimServer[];
  readonly apps: App[] = [];
  readonly sentinels: SentinelWorld | undefined;
  readonly tokens: SimTokens | undefined;
  readonly operations = new Set<Operation>();
  readonly permits: PermitOracle;
  /** Where they are noted. */
  readonly events: Events | undefined;
  /** Where Java takes part. */
  readonly java: JavaOracle | undefined;
  /** What else looks for holds that nobody owns. */
  lookForMore: () => void = () => undefined;
  begun = 0;
  stopping = false;
  /** When the last fault was over, in ms; `Infinity` while there is one. */
  troubleEnds = -Infinity;
  /** Whether there has been any fault. */
  troubled = false;
  #apps = 0;
  #ghostNames: readonly string[] | undefined;
  readonly #shortened: ShortenedLeases;
  readonly #idleSince = new Map<string, { at: number; entered: number }>();

  constructor(
    readonly seed: number,
    readonly budget: number,
    trace: ((line: string) => void) | undefined,
    profile?: GivenProfile,
    noted = false,
  ) {
    this.loop = new Loop(seed);
    if (noted) this.events = new Events(this.loop, scriptNames);
    this.loop.trace = trace;
    this.random = this.loop.random;
    this.oracle = new Oracle(this.loop);
    this.permits = new PermitOracle(this.loop, this.oracle);
    this.#shortened = new ShortenedLeases(this.loop);
    const drawn = drawProfile(this.random);
    this.profile = worldOf(drawn, seed, profile);
    if (this.profile.settings.localHandOver === true) this.oracle.heirsMs = LOCAL_HEIRS_MS;
    const { cluster, servers, replicas } = this.profile;
    if (cluster === undefined) {
      const serverOf = (_: unknown, i: number): SimServer => new SimServer(this.loop, `r${i}`, scriptNames, replicas);
      this.servers = this.nodes = Array.from({ length: servers }, serverOf);
    } else {
      this.cluster = new SimCluster(this.loop, cluster, scriptNames);
      this.servers = [this.cluster];
      this.nodes = this.cluster.servers;
      this.loop.dial = (host, port) => this.apps.find(({ process }) => process === this.loop.current)!.dial(host, port);
    }
    if (this.profile.tokens !== undefined) {
      const tokens = (this.tokens = tokensOf(this, this.profile.tokens));
      for (const node of this.nodes) node.tokens = tokens;
      this.loop.dial ??= (host) =>
        this.apps
          .find(({ process }) => process === this.loop.current)!
          .connect(this.nodes.find(({ name }) => name === host)!);
    }
    if (this.profile.sentinels > 0) this.sentinels = new SentinelWorld(this);
    // Where keys move from server to server, so does the queue.
    const stays = cluster === undefined || !this.profile.faults.some((family) => /server|cluster/.test(family));
    if (this.profile.javaApps > 0) this.java = new JavaOracle(ghostNames(this.profile), () => this.loop.now);
    // The scripts of Java take other waits off the scores than were put on, and so the living out of the queue.
    this.#observeScripts(this.profile.javaApps === 0 && stays ? this.#fairOrder() : undefined);
    for (const node of this.nodes) {
      const { name } = this.cluster ?? node;
      node.replaced = (former, got, lost) => this.oracle.replaced(name, former, got, lost);
    }
    enter(this.loop);
    this.#poll();
  }

  #fairOrder(): FairOrder {
    const { fairLockWaitTimeout } = this.profile.settings;
    return new FairOrder(this.loop, this.oracle, fairLockWaitTimeout, (id) => {
      const app = this.apps.find(({ clients }) => clients.some((client) => client.getId() === id));
      return app && { process: app.process, running: app.running && !app.leaving };
    });
  }

  #observeScripts(order: FairOrder | undefined): void {
    for (const server of this.nodes) {
      const served = this.cluster ?? server;
      server.observe = (call) => {
        if (this.events !== undefined) return this.events.observe(call);
        const ours = order?.observe(server, call) ?? this.#shortened.observe(served, server, call);
        const also = this.java?.observe(server, call) ?? this.permits.observe(served, call);
        if (also === undefined) return ours;
        return (reply) => {
          also();
          ours?.(reply);
        };
      };
    }
  }

  /** Runs code of a process. */
  spawn(process: SimProcess, run: () => void): void {
    this.loop.after(0, run, { phase: Phase.Timer, process, kind: 'spawn' });
  }

  /** Starts a process. @param java - whether it is one of Java @param tasks - what it does */
  start(java: boolean, tasks: (app: App) => void): App {
    const { random } = this;
    const latency = (): number => {
      const ms = 0.05 + random.around(this.profile.latencyMs);
      return random.chance(this.profile.latencySpikes ?? 0.5) ? ms + random.between(0, 100) : ms;
    };
    const settings = java ? javaSettings(this.profile) : this.profile.settings;
    const id = `${java ? 'j' : 'p'}${this.#apps++}`;
    const replicated = this.profile.replicas > 0;
    const app = new App(id, this.loop, this.nodes, latency, settings, java, replicated, this.cluster);
    app.process.rate = 1 + random.between(-0.0004, 0.0004);
    app.process.wallOffset = random.chance(30) ? random.between(-2_000, 2_000) : random.between(-5, 5);
    app.tokens = this.tokens;
    if (this.sentinels !== undefined) app.sentinels = shuffled(random, this.sentinels.sentinels.addresses);
    this.apps.push(app);
    this.spawn(app.process, () => {
      app.open();
      this.java?.add(app);
      tasks(app);
    });
    return app;
  }

  /** Whether nothing has been wrong for so long. */
  calmFor(ms: number): boolean {
    return this.loop.now - this.troubleEnds >= ms;
  }

  /** Something is wrong for so many ms. */
  trouble(ms: number): void {
    this.troubled = true;
    this.troubleEnds = Math.max(this.troubleEnds, this.loop.now + ms);
  }

  /** Notes a call until it settles. */
  async operation<T>(app: App, what: string, waitsFor: Wanted | undefined, call: () => Promise<T>): Promise<T> {
    const operation: Operation = { app, what, since: this.loop.now, waitsFor };
    this.operations.add(operation);
    this.loop.note(what);
    try {
      return await call();
    } finally {
      this.operations.delete(operation);
    }
  }

  /** A process is gone. */
  forget(app: App): void {
    for (const operation of this.operations) if (operation.app === app) this.operations.delete(operation);
    this.oracle.forget(app);
    this.apps.splice(this.apps.indexOf(app), 1);
  }

  /**
   * Ends a process in good order: closes its clients, and looks what is left when its calls have settled.
   * @param drain - for so many ms its tasks may go on with what they hold
   */
  async close(app: App, drain: number | undefined): Promise<void> {
    app.leaving = true;
    if (drain !== undefined) app.drainsUntil = this.loop.now + drain;
    await new Promise<void>((resolve) => {
      this.spawn(app.process, () => {
        const closed = app.clients.map((client) => client.shutdown(drain === undefined ? undefined : { drain }));
        Promise.all(closed).then(
          () => resolve(),
          (error: Error) => this.oracle.violate(`shutdown rejects: ${error.message}`),
        );
      });
    });
    const isBusy = (): boolean => [...this.operations].some((operation) => operation.app === app);
    while (isBusy()) await this.#after(POLL_MS);
    // A process that is stopped meanwhile destroys nothing.
    const goesOn = (): number => app.process.frozenUntil - this.loop.now;
    do await this.#after(Math.max(goesOn(), 0) + DESTROYED_MS);
    while (goesOn() > -DESTROYED_MS);
    if (!this.apps.includes(app)) return;
    this.checkClosed(app);
    this.apps.splice(this.apps.indexOf(app), 1);
  }

  /** A process that has closed its clients, and has nothing left to do. */
  checkClosed(app: App): void {
    app.closed = true;
    const timers = this.loop.pending(app.process, Phase.Timer);
    if (timers > 0) this.oracle.violate(`${app.process.id} has left ${timers} timers`);
    if (app.sockets.size > 0) this.oracle.violate(`${app.process.id} has left ${app.sockets.size} connections`);
  }

  #after(ms: number): Promise<void> {
    return new Promise((resolve) => void this.loop.after(ms, resolve));
  }

  place(server: Served, kind: LockKindName, name: string): LockPlace {
    const patienceMs = (): number => (/fair/i.test(kind) ? FAIR_IDLE_MS : IDLE_MS);
    const isFree = (): boolean => server.store.entry(name) === undefined;
    const isExcused = (since: number): boolean => this.java?.hasShortened(server, name, since) ?? false;
    return { server, kind, name, key: `${server.name}/${name}`, patienceMs, isFree, isExcused };
  }

  lockOf(client: Redisson, kind: LockKindName, name: string): RLock {
    return makeLock(KINDS[kind], client, name);
  }

  /** A permit is free, or somebody has it: never more than there are. */
  #countPermits(): void {
    for (const { name, store } of this.servers) {
      for (let i = 0; i < this.profile.namesPerKind; i++) {
        const free = Number(store.text(`semaphore${i}`) ?? 0);
        const most = PERMITS + this.oracle.strays(`${name}/semaphore${i}`);
        if (free < 0 || free > most) this.oracle.violate(`${name}/semaphore${i} has ${free} free permits of ${most}`);
        const text = store.text(`permits${i}`);
        const leased = Number(store.sortedSet(`{permits${i}}:timeout`)?.scores.size ?? 0);
        if (text === undefined || Number(text) + leased === PERMITS) continue;
        this.oracle.violate(`${name}/permits${i} has ${text} free permits and ${leased} given ones of ${PERMITS}`);
      }
    }
  }

  /** Looks for holds of clients that live, and have no call for that lock. */
  #lookForGhosts(): void {
    this.#ghostNames ??= ghostNames(this.profile);
    for (const server of this.servers) {
      for (const name of this.#ghostNames) {
        const { store } = server;
        const hash = store.hash(name);
        if (hash === undefined) continue;
        const key = `${server.name}/${name}`;
        for (const owner of hash.keys()) {
          if (owner === 'mode') continue;
          const id = owner.slice(0, 36);
          const app = this.apps.find(({ clients }) => clients.some((client) => client.getId() === id));
          if (app === undefined || !app.running || app.leaving || app.unusedFor(key) < GHOST_MS) continue;
          if (this.java?.isOnlyField(server, name, owner)) continue;
          this.oracle.violate(`${app.process.id} has left ${key}, owned by ${owner}, for ${store.ttl(name)} ms`);
        }
      }
    }
  }

  /** Looks again and again whether somebody sleeps beside a free lock. */
  #poll(): void {
    this.loop.after(POLL_MS, () => this.#poll());
    this.#countPermits();
    this.permits.look(this.servers, this.apps, this.loop.now - this.troubleEnds);
    if (this.calmFor(GHOST_CALM_MS)) {
      this.#lookForGhosts();
      this.lookForMore();
    }
    const waiting = new Map<string, Wanted>();
    for (const operation of this.operations) {
      const { app, waitsFor, since } = operation;
      if (waitsFor === undefined || !app.running || this.loop.now - since <= POLL_MS) continue;
      if (this.#isExcused(operation)) continue;
      // Ours wait less long than those of Java.
      if (!app.java || !waiting.has(waitsFor.key)) waiting.set(waitsFor.key, waitsFor);
    }
    for (const key of this.#idleSince.keys()) if (!waiting.has(key)) this.#idleSince.delete(key);
    for (const [key, { isFree, patienceMs }] of waiting) {
      const entered = this.oracle.entered.get(key) ?? 0;
      const free = isFree();
      const known = this.#idleSince.get(key);
      if (!free || !this.calmFor(this.profile.healMs)) this.#idleSince.delete(key);
      else if (known?.entered !== entered) this.#idleSince.set(key, { at: this.loop.now, entered });
      else if (this.loop.now - known.at > patienceMs()) {
        const sleepers = this.#sleepers(key, known.at, patienceMs());
        if (sleepers.length === 0) continue;
        const who = sleepers.map(({ app, what }) => `${app.process.id} ${what}`);
        this.oracle.violate(`${key} is free since ${known.at.toFixed()}, and asleep are ${who.join(', ')}`);
        this.#idleSince.delete(key);
      }
    }
  }

  /** Of a client of ours only the first waiter attempts: the others sleep behind it, by what it was told. */
  #isExcused({ app, waitsFor, since }: Operation): boolean {
    if (waitsFor?.isExcused === undefined) return false;
    const before = [...this.operations].filter((one) => one.app === app && one.waitsFor?.key === waitsFor.key);
    return waitsFor.isExcused(app.java ? since : Math.min(...before.map((one) => one.since)));
  }

  /** Who waits for something that has been free for too long, and should not sleep any more. */
  #sleepers(key: string, freeSince: number, patienceMs: number): Operation[] {
    const waiting = [...this.operations].filter(
      (operation) => operation.waitsFor?.key === key && !this.#isExcused(operation),
    );
    const halves = waiting.map(({ app, since, waitsFor }) => {
      const { server, kind } = waitsFor as Partial<LockPlace>;
      // Of Java none: what its waiters sleep by is its own.
      const client = server && app.clients[this.servers.indexOf(server)]?.getId();
      return { client: client ?? 'none', shared: kind === 'read', since };
    });
    const excused = this.#shortened.excusedUntil(key, halves, freeSince);
    return waiting.filter((_, i) => this.loop.now - Math.max(freeSince, excused[i]!) > patienceMs);
  }
}

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const order = new Map(list.map((item) => [item, random.next()]));
  return [...list].sort((one, other) => order.get(one)! - order.get(other)!);
}

/** The locks of a world that a task uses by their names. */
function ghostNames({ kinds, namesPerKind }: Profile): string[] {
  const bases = new Set(kinds.map((kind) => (kind === 'read' || kind === 'write' ? 'rw' : kind)));
  return [...bases].flatMap((base) =>
    Array.from({ length: namesPerKind }, (_, i) => [`${base}${i}`, `{${base}${i}}`]).flat(),
  );
}

const GROUPS: readonly (readonly LockKindName[])[] = [
  ['lock'],
  ['fair'],
  ['fenced'],
  ['spin'],
  ['nonReentrant', 'nonReentrantFair'],
  ['read', 'write'],
  LOCK_KINDS,
  LOCK_KINDS,
];

/** What the world of a seed is like. @param given - what is not as the seed says */
export function profileOf(seed: number, given?: GivenProfile): Profile {
  return worldOf(drawProfile(new Random(seed)), seed, given);
}

function worldOf(drawn: Profile, seed: number, given: GivenProfile | undefined): Profile {
  if (given !== undefined) return withGiven(drawn, given, seed);
  const world = withCluster(withGroups(withReplicas(withJava(drawn, seed), seed), seed), seed);
  return withLocalHandOver(withTokens(withSentinels(world, seed), seed), seed);
}

/** Of a hundred worlds so many have clients of Java. */
const JAVA_WORLDS = 30;
/** Locks that a client of Java has, too, and stores alike. */
export const JAVA_KINDS = /^(lock|fair|fenced|nonReentrant|nonReentrantFair|read|write)$/;

/** Puts clients of Java in the place of some of ours. */
function withJava(profile: Profile, seed: number): Profile {
  // Numbers of its own, so that worlds without Java stay as they were.
  const random = new Random(seed + 2 ** 40);
  if (!random.chance(JAVA_WORLDS) || !profile.kinds.some((kind) => JAVA_KINDS.test(kind))) return profile;
  return { ...profile, apps: profile.apps + 1, javaApps: 1 + random.below(profile.apps), multis: 0, synchronizers: 0 };
}

/** Of a hundred worlds so many have servers with replicas. */
const REPLICATED_WORLDS = 20;

/** Gives the servers replicas that may take their place, and confirm what is written (WAIT). */
function withReplicas(profile: Profile, seed: number): Profile {
  const random = new Random(seed + 2 ** 41);
  if (!random.chance(REPLICATED_WORLDS) || profile.javaApps > 0) return profile;
  const faults = [...new Set([...profile.faults, 'server' as const])];
  return { ...profile, replicas: 1 + random.below(2), faults, multis: 0, synchronizers: 0 };
}

/** In so many of a hundred worlds locks are passed on before Redis knows. */
const LOCAL_WORLDS = 35;

function withLocalHandOver(profile: Profile, seed: number): Profile {
  const localHandOver = new Random(seed + 2 ** 46).chance(LOCAL_WORLDS);
  return localHandOver ? { ...profile, settings: { ...profile.settings, localHandOver } } : profile;
}

/** Of a hundred worlds so many use the locks of groups. */
const GROUP_WORLDS = 15;

function withGroups(profile: Profile, seed: number): Profile {
  const random = new Random(seed + 2 ** 42);
  if (!random.chance(GROUP_WORLDS) || profile.javaApps > 0) return profile;
  return { ...profile, groups: random.of([20, 60, 100]) };
}

/**
 * The renewal of a read lock by Java sets the time to live of the whole lock: shorter than a lease of ours, it would
 * end it.
 */
function javaSettings({ kinds, settings }: Profile): AppSettings {
  if (!kinds.includes('read')) return settings;
  return { ...settings, lockWatchdogTimeout: 30_000 };
}

function drawProfile(random: Random): Profile {
  const busy = random.chance(60);
  const faults: FaultFamily[] = [];
  for (const family of FAULTS) if (random.chance(35)) faults.push(family);
  return {
    servers: random.of([1, 1, 1, 3]),
    replicas: 0,
    sentinels: 0,
    apps: 2 + random.below(3),
    javaApps: 0,
    tasks: busy ? 2 + random.below(5) : 1 + random.below(2),
    thinkMs: busy ? random.of([1, 5, 20]) : random.of([100, 500]),
    kinds: random.of(GROUPS),
    namesPerKind: random.of([1, 1, 2, 4]),
    synchronizers: random.of([0, 0, 0, 20, 100]),
    multis: random.of([0, 0, 15, 60]),
    groups: 0,
    latencyMs: random.of([0.2, 1, 5, 30]),
    longHolds: random.of([4, 4, 20]),
    faults: random.chance(15) ? [] : faults,
    calmMs: random.of([2_000, 18_000, 25_000]),
    healMs: CALM_MS,
    settings: {
      lockWatchdogTimeout: random.of([1_500, 6_000, 30_000]),
      maxHandOvers: random.of([0, 2, 64]),
      fairLockWaitTimeout: random.of([5_000, 60_000, 300_000]),
      lockWatchdogBatchSize: random.of([1, 100]),
    },
  };
}
