import type { LockHold, RLock } from '../../../lib/api';
import * as errors from '../../../lib/errors';
import { groupValues } from '../../../lib/kinds/group';
import type { SimProcess } from '../engine/Loop';
import type { SimServer } from '../server/SimServer';
import type { App } from '../workload/App';
import { isDraining, isKnown, pause } from '../workload/lockTasks';
import type { LockKindName, Wanted, World } from '../workload/World';

/** The reason of our own aborts. */
const ABORTED = new Error('aborted by the exploration');
/** An error may have had its cause so long ago, in ms. */
export const ERROR_MS = 15_000;
/** The client that unlocks a fair lock looks so much later whether the head of the queue has come, in ms. */
const LOOKS_MS = 300;
/** By how much the clocks of a client and of the server are apart, in ms. */
const CLOCK_MS = 5;
/**
 * A client gives up a hold so much earlier than its lease ends at most, as a part of the lease (docs/reliability.md).
 */
const EARLY = 0.8;

/** What a few clients do, always alike. */
export interface Scenario {
  readonly name: string;
  /** How many processes there are. @default 2 */
  readonly apps?: number;
  readonly servers?: number;
  readonly replicas?: number;
  /** In ms. @default 30 000 */
  readonly watchdogMs?: number;
  /** What a process is blocked for longer than, in ms. @default the watchdog's time */
  readonly leaseMs?: number;
  readonly maxHandOvers?: number;
  /** @default false */
  readonly localHandOver?: boolean;
  readonly kinds?: readonly LockKindName[];
  /** Whether a hold is left by ticket. @default false */
  readonly tickets?: boolean;
  /** Why the library is known to fail: it runs only where it is named. To be empty. @default it is not */
  readonly pending?: string;
  run(stage: Stage): void;
}

/** How a lock is taken, and what is done with it. Times in ms. */
export interface Take {
  readonly kind?: LockKindName;
  /** @default none */
  readonly wait?: number;
  /** @default the watchdog's */
  readonly lease?: number;
  /** @default 5 */
  readonly work?: number;
  /** @default `withLock` */
  readonly by?: 'withLock' | 'acquire' | 'tryAcquireHold';
  readonly server?: number;
  /** The number in its name. @default 0 */
  readonly number?: number;
  readonly threadId?: number;
  /** It is given up after so many renewals. @default never */
  readonly maxRenewTimes?: number;
  /** Happens inside, after half of the work. */
  readonly inner?: (hold: LockHold, lock: RLock) => Promise<unknown>;
}

/** Something that is asked for, held or given back: what explains the loss of it. */
interface Use {
  readonly app: App;
  readonly what: string;
  readonly servers: readonly string[];
  readonly names: readonly string[];
  readonly askedAt: number;
  readonly leaseMs: number;
  readonly renewed: boolean;
  /** Whether its renewals end. */
  readonly limited?: boolean;
  readonly waits: boolean;
  /** The hold of the section around it, which a drain lets go on while it is live. */
  readonly section: LockHold | undefined;
  /** Whether its loss was reported while it had a cause: its call may end with that loss much later. */
  lost?: boolean;
}

/** What is guarded: names of locks and how they are known in Redis. */
interface Guarded {
  readonly lock: RLock;
  readonly keys: readonly string[];
  readonly names: readonly string[];
  readonly servers: readonly string[];
  readonly wanted: Wanted | undefined;
  readonly shared: boolean;
  readonly fenced: boolean;
  /** Whether Redis knows the hold. */
  known(app: App, hold: LockHold): boolean;
  /** For how long Redis keeps it, in ms; 0: that is not looked at. */
  keptMs(): number;
}

/** The clients of a scenario and what they do, judged. */
export class Stage {
  readonly apps: App[] = [];
  /** Whose errors a fault explains; `all` where it concerns the server. */
  readonly blamed = new Set<App | 'all'>();
  readonly #tasks = new Map<App, number>();
  readonly #signals = new Map<App, AbortController>();
  readonly #uses = new Set<Use>();
  /** Holds whose callbacks run, or have run. */
  readonly #sections = new WeakSet<LockHold>();
  readonly #diedAt = new Map<SimProcess, number>();
  /** Lock -> the last release of it that has run. */
  readonly #releases = new Map<string, { readonly by: SimProcess | undefined; readonly at: number }>();
  /** How many connections have broken whose bytes come later. */
  late = 0;
  #scheduled = 0;

  constructor(
    readonly world: World,
    readonly scenario: Scenario,
  ) {
    this.#watchReleases();
    for (let i = 0; i < (scenario.apps ?? 2); i++) {
      // Listens as soon as its clients are there: a task of its own might come before them, and hear nothing for ever.
      const app = world.start(false, (started) => {
        for (const [i, client] of started.clients.entries()) {
          client.onLockLost(({ name, cause }) => this.#lost(started, world.servers[i]!.name, name, cause));
        }
      });
      // A process that is 2 s wrong is a fault of its own.
      Object.assign(app.process, { rate: 1, wallOffset: 0 });
      this.apps.push(app);
      this.#tasks.set(app, 0);
      this.#signals.set(app, new AbortController());
    }
  }

  /** Notes releases of fair locks: who makes one looks whether the queue goes on. */
  #watchReleases(): void {
    for (const node of this.world.nodes) {
      const observe = node.observe;
      node.observe = (call) => {
        const [kind = '', what] = call.script.split('.');
        if (kind.endsWith('airLock') && what === 'release')
          this.#releases.set(call.keys[0]!, { by: call.process, at: this.world.loop.now });
        return observe?.(call);
      };
    }
  }

  /**
   * Whether a fair lock was released by a process that died within 0.3 s: nobody looks whether the head of its queue
   * comes, which may be dead as well, and the others sleep until the lease ends that they saw last
   * (docs/reliability.md).
   */
  #isUnwatched(name: string): boolean {
    const { by, at = 0 } = this.#releases.get(name) ?? {};
    const diedAt = by && this.#diedAt.get(by);
    if (diedAt === undefined || Math.abs(diedAt - at) > LOOKS_MS) return false;
    return this.world.loop.now <= at + Math.max(this.leaseMs, this.watchdogMs) + 1_000;
  }

  get leaseMs(): number {
    return this.scenario.leaseMs ?? this.watchdogMs;
  }

  get watchdogMs(): number {
    return this.scenario.watchdogMs ?? 30_000;
  }

  /** Whether all tasks have ended. */
  get over(): boolean {
    return this.#scheduled === 0 && [...this.#tasks].every(([{ process }, count]) => count === 0 || !process.alive);
  }

  /** What a process does, from some ms after the beginning on. Tasks of one process run beside each other. */
  task(index: number, run: (app: App) => Promise<unknown>, afterMs = 0): void {
    const { loop } = this.world;
    const app = this.apps[index]!;
    this.#scheduled++;
    // Its clients are made first.
    loop.after(1 + afterMs, () => {
      this.#scheduled--;
      if (!this.world.apps.includes(app)) return;
      this.#tasks.set(app, this.#tasks.get(app)! + 1);
      this.world.spawn(app.process, () => {
        run(app).then(
          () => this.#tasks.set(app, this.#tasks.get(app)! - 1),
          (error: unknown) => {
            this.#tasks.set(app, this.#tasks.get(app)! - 1);
            this.world.oracle.violate(`${app.process.id}: ${String(error)}`);
          },
        );
      });
    });
  }

  /** A call of a process may not settle: it says so if it does not. */
  signalOf(app: App): AbortSignal {
    return this.#signals.get(app)!.signal;
  }

  /** Whoever waits in a process gives up. */
  abort(app: App): void {
    this.world.spawn(app.process, () => this.#signals.get(app)!.abort(ABORTED));
  }

  /** A process ends in good order. @param drain - in ms */
  close(app: App, drain: number | undefined): void {
    if (app.leaving) return;
    void this.world.close(app, drain);
  }

  kill(app: App): void {
    this.#tasks.set(app, 0);
    this.#diedAt.set(app.process, this.world.loop.now);
    app.crash(false);
    this.world.forget(app);
    for (const use of this.#uses) if (use.app === app) this.#uses.delete(use);
  }

  /** A server loses all its data. */
  forgets(server: SimServer): void {
    this.world.oracle.lost(server.name);
  }

  failsOver(server: SimServer): void {
    // What no replica has confirmed is lost: renewals, releases.
    this.world.oracle.lost(server.name);
  }

  /** Somebody deletes all locks by their keys. */
  deleteKeys(server: SimServer): void {
    for (const key of Object.keys(server.store.dump())) {
      if (server.store.value(key) instanceof Map) server.store.delete(key);
    }
  }

  /** Takes a lock, and gives it back. */
  async use(app: App, take: Take = {}, around?: LockHold): Promise<void> {
    const { kind = 'lock', server = 0, number = 0 } = take;
    const { world } = this;
    const served = world.servers[server]!;
    const base = kind === 'read' || kind === 'write' ? 'rw' : kind;
    const name = `${base}${number}`;
    const place = world.place(served, kind, name);
    const client = app.clients[server]!;
    await this.#take(app, take, around, `${kind} ${name}`, {
      lock: world.lockOf(client, kind, name),
      keys: [place.key],
      names: [name],
      servers: [served.name],
      wanted: { ...place, isExcused: () => this.#isUnwatched(name) },
      shared: kind === 'read',
      fenced: kind === 'fenced',
      known: (_, { threadId }) => {
        const field = `${client.getId()}:${threadId}${kind === 'write' ? ':write' : ''}`;
        return isKnown(served.store, name, field, this.scenario.localHandOver);
      },
      // Of several readers nobody knows whose time it is.
      keptMs: () => (kind === 'read' ? 0 : Math.max(0, served.store.ttl(name))),
    });
  }

  /** The same for several locks, which are on different servers. @param red - most of them are enough */
  async useSeveral(app: App, take: Take, red: boolean): Promise<void> {
    const { world } = this;
    const members = world.servers.map((_, i) => app.clients[i]!.getLock(red ? 'lock0' : `lock${i}`));
    await this.#take(app, take, undefined, red ? 'red' : 'multi', {
      lock: red ? app.clients[0]!.getRedLock(...members) : app.clients[0]!.getMultiLock(...members),
      keys: red ? ['red/lock0'] : members.map((_, i) => `r${i}/lock${i}`),
      names: members.map(({ name }) => name),
      servers: world.servers.map(({ name }) => name),
      wanted: undefined,
      shared: false,
      fenced: false,
      known: () => true,
      keptMs: () => 0,
    });
  }

  /** The same for values of a group. */
  async useGroup(app: App, values: readonly string[], take: Take = {}, around?: LockHold): Promise<void> {
    const { world } = this;
    const server = world.servers[0]!;
    const client = app.clients[0]!;
    const name = 'group0';
    const { fields } = groupValues(values);
    const holders = (): (string | undefined)[] =>
      fields.map((field) => {
        const hash = server.store.hash(name);
        const holder = hash?.get(field);
        return Number(hash?.get(`${field}:${holder}:expire_time`) ?? 0) >= server.clock ? holder : undefined;
      });
    await this.#take(app, take, around, `group ${values.slice(0, 4).join('+')}`, {
      lock: client.getMultiLock(name, values),
      keys: values.slice(0, 4).map((value) => `r0/${name}/${value}`),
      names: [name],
      servers: [server.name],
      wanted: {
        key: `r0/${name}/${values.slice(0, 4).join('+')}+`,
        patienceMs: () => 2_500,
        isFree: () => holders().every((holder) => holder === undefined),
      },
      shared: false,
      fenced: false,
      known: (_, { threadId }) => {
        const [owner] = holders();
        const own = `${client.getId()}:${this.scenario.localHandOver === true ? '' : threadId}`;
        return owner?.startsWith(own) === true && holders().every((holder) => holder === owner);
      },
      keptMs: () => {
        const hash = server.store.hash(name);
        const ends = fields.map((field) => Number(hash?.get(`${field}:${hash.get(field)}:expire_time`) ?? 0));
        return Math.max(0, Math.min(...ends) - server.clock);
      },
    });
  }

  async #take(app: App, take: Take, around: LockHold | undefined, label: string, guarded: Guarded): Promise<void> {
    const { wait, lease = -1, work = 5, by = 'withLock', threadId, maxRenewTimes } = take;
    const { world } = this;
    if (app.leaving && around === undefined) return;
    const what = `${by} ${label} ${wait ?? 'no limit'} ${lease}`;
    const limited = maxRenewTimes !== undefined;
    const use = this.#begin(app, what, guarded, { lease, waits: wait !== undefined, around, limited });
    const ended = guarded.keys.map((key) => app.use(key));
    const options = {
      ...(wait !== undefined && { waitTime: wait }),
      leaseTime: lease,
      ...(threadId !== undefined && { threadId }),
      ...(maxRenewTimes !== undefined && { maxRenewTimes }),
      ...(around === undefined && { signal: this.signalOf(app) }),
    };
    const waitsFor = guarded.wanted && { ...guarded.wanted };
    const inside = async (hold: LockHold): Promise<void> => {
      for (const operation of world.operations) if (operation.waitsFor === waitsFor) operation.waitsFor = undefined;
      if (!hold.isHeld) return;
      if (by === 'withLock') this.#sections.add(hold);
      const owner = `${app.process.id}:${hold.threadId}`;
      // What was given up stays until its lease ends: nobody else gets in, though its own signal has aborted.
      let keptUntil = -Infinity;
      hold.signal.addEventListener('abort', () => {
        if (lease === -1 && isGivenUp(hold.signal.reason)) keptUntil = world.loop.now + guarded.keptMs() - CLOCK_MS;
      });
      const alive = (): boolean =>
        (hold.isHeld && !hold.signal.aborted) || (world.loop.now < keptUntil && app.process.alive);
      // What was lost while the answer was on its way was lost, too.
      const since = use.askedAt;
      const leaving = guarded.keys.map((key) =>
        world.oracle.enter({ app, key, shared: guarded.shared, owner, since, alive }),
      );
      if (guarded.fenced && around === undefined) world.oracle.token(guarded.keys[0]!, hold.token!, use.askedAt);
      const check = (): void => {
        if (!alive() || guarded.known(app, hold) || this.#forgotten(use)) return;
        world.oracle.violate(`${owner} believes to hold ${label}, which Redis does not know`);
      };
      try {
        check();
        await pause(work / 2);
        check();
        await take.inner?.(hold, guarded.lock);
        await pause(work / 2);
        check();
      } finally {
        for (const leave of leaving) leave();
      }
    };
    try {
      if (by === 'withLock') {
        await world.operation(app, what, waitsFor, () => guarded.lock.withLock(inside, options));
      } else {
        const hold = await world.operation(app, what, waitsFor, () =>
          by === 'acquire' ? guarded.lock.acquire(options) : guarded.lock.tryAcquireHold(options),
        );
        if (hold === null) return;
        await inside(hold);
        await world.operation(app, `unlock ${what}`, undefined, () => hold.unlock());
      }
    } catch (error) {
      this.judge(error, use);
    } finally {
      for (const end of ended) end();
      this.#uses.delete(use);
    }
  }

  /** Runs a call of a synchronizer. @returns what it gives; `undefined` where it rejects for a reason */
  async call<T>(
    app: App,
    what: string,
    name: string,
    wanted: Omit<Wanted, 'key'> | undefined,
    run: () => Promise<T>,
    lease = -1,
  ): Promise<T | undefined> {
    const { world } = this;
    if (app.leaving) return undefined;
    const guarded = { servers: ['r0'], names: [name] };
    const use = this.#begin(app, what, guarded, { lease, waits: false, around: undefined });
    const ended = app.use(`r0/${name}`);
    try {
      return await world.operation(app, what, wanted && { ...wanted, key: `r0/${name}` }, run);
    } catch (error) {
      this.judge(error, use);
      return undefined;
    } finally {
      ended();
      this.#uses.delete(use);
    }
  }

  #begin(
    app: App,
    what: string,
    { servers, names }: Pick<Guarded, 'servers' | 'names'>,
    {
      lease,
      waits,
      around,
      limited = false,
    }: { lease: number; waits: boolean; around: LockHold | undefined; limited?: boolean },
  ): Use {
    const use: Use = {
      app,
      what,
      servers,
      names,
      askedAt: this.world.loop.now,
      leaseMs: lease === -1 ? this.watchdogMs : lease,
      renewed: lease === -1,
      limited,
      waits,
      section: around !== undefined && this.#sections.has(around) && around.isHeld ? around : undefined,
    };
    this.#uses.add(use);
    return use;
  }

  /** Whether a server has forgotten it, so that its client may be wrong about it. */
  #forgotten({ servers, askedAt }: Use): boolean {
    const { lostAt, heirsMs } = this.world.oracle;
    return servers.some((server) => (lostAt.get(server) ?? -1) >= askedAt - heirsMs);
  }

  /** Whether the loss of a hold has a cause: its data are lost, or its lease may be over. */
  #mayBeLost(use: Use): boolean {
    if (use.lost === true || this.#forgotten(use)) return true;
    if ([...this.#uses].some((one) => one.app === use.app && one.limited)) return true;
    // A hold that is renewed ends only where something hinders its client; and not before the longest lease of its
    // owner.
    const all = [...this.#uses].filter(({ app, names }) => app === use.app && names.some((n) => use.names.includes(n)));
    const hindered = this.#explains(use.app);
    const isOver = ({ askedAt, leaseMs, renewed }: Use): boolean =>
      this.world.loop.now - askedAt >= EARLY * leaseMs && (!renewed || hindered);
    return isOver(use) || all.some(isOver);
  }

  #explains(app: App): boolean {
    return (this.blamed.has('all') || this.blamed.has(app)) && !this.world.calmFor(ERROR_MS);
  }

  #lost(app: App, server: string, name: string, cause: unknown): void {
    const all = [...this.#uses].filter((use) => use.app === app && use.names.includes(name));
    const some = all.filter(({ servers }) => servers.includes(server));
    if (some.some((use) => this.#mayBeLost(use))) {
      for (const use of some) use.lost = true;
      return;
    }
    // What was left to expire when its client closed.
    if (app.leaving) return;
    this.world.oracle.violate(`${app.process.id} is told that ${name} is lost, without a cause (${String(cause)})`);
  }

  /** Whether an error has a cause. */
  judge(error: unknown, use: Use): void {
    const { world } = this;
    const { app } = use;
    if (error === ABORTED && this.signalOf(app).aborted) return;
    if (error instanceof errors.LockTimeoutError && use.waits) return;
    if (error instanceof errors.ShutdownError && app.leaving && !this.#goesOn(use)) return;
    if (error instanceof errors.LockLostError || error instanceof errors.IllegalMonitorStateError) {
      if (this.#mayBeLost(use) || (app.leaving && !isDraining(this.world, app))) return;
    }
    if (error instanceof errors.PermitNotFoundError && this.#mayBeLost(use)) return;
    if (
      this.#explains(app) &&
      (error instanceof errors.ConnectionError ||
        error instanceof errors.CommandTimeoutError ||
        error instanceof errors.CommandError ||
        error instanceof errors.NoSyncedReplicasError ||
        error instanceof errors.SubscriptionTimeoutError)
    ) {
      return;
    }
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    world.oracle.violate(`${app.process.id} ${use.what}: ${text}`);
  }

  /** Whether a drain lets a call go on: work under a lock finishes. */
  #goesOn({ app, section }: Use): boolean {
    return section?.isHeld === true && !section.signal.aborted && isDraining(this.world, app);
  }
}

/** Whether a hold has been left to expire: its client was shut down, or its renewals have ended. */
function isGivenUp(reason: unknown): boolean {
  if (!(reason instanceof errors.LockLostError)) return false;
  return reason.cause instanceof errors.ShutdownError || reason.message.includes('maxRenewTimes');
}
