import { Redis } from 'ioredis';
import { CliProcess } from '../../cli/support/CliProcess';
import { RedisServer, sleep, trackClient } from '../../support';
import { SceneProcess } from './SceneProcess';

/** What happens in a scene, on a server of its own. */
export interface Scene {
  readonly title: string;
  /** The lock that a person asks about. */
  readonly lock: string;
  /** How long after it was made it is what its title says, in ms. */
  readonly ripensMs: number;
  /** More options of the commands that know them: list, inspect, top, dashboard. */
  readonly options?: readonly string[];
  make(world: World): Promise<void>;
}

/** The server and the processes of a scene. */
export class World {
  readonly url: string;
  /** The address of the page. */
  readonly base: string;
  /** The holder of the lock comes first. */
  readonly processes: SceneProcess[] = [];

  /** Resolves when it is what its title says. */
  ripe: Promise<void> = Promise.resolve();
  /** When that has happened which is to be told (monotonic). */
  happenedAt = performance.now();
  readonly options: readonly string[];
  readonly #server: RedisServer;
  readonly #dashboard: CliProcess;

  constructor(server: RedisServer, dashboard: CliProcess, base: string, options: readonly string[]) {
    this.options = options;
    this.#server = server;
    this.#dashboard = dashboard;
    this.url = server.url;
    this.base = base;
  }

  /** Leaves room for other scenes. */
  async close(): Promise<void> {
    await Promise.all([this.#dashboard, ...this.processes].map((one) => one.stop()));
    await this.#server.stop();
  }

  /** What the tools are to find out happens now. */
  happens(): void {
    this.happenedAt = performance.now();
  }

  /** A connection that changes things behind the scenes. */
  get admin(): Redis {
    return trackClient(new Redis(this.url));
  }

  async start(count: number, watchdogMs?: number): Promise<readonly SceneProcess[]> {
    const started = await Promise.all(Array.from({ length: count }, () => SceneProcess.start(this.url, watchdogMs)));
    this.processes.push(...started);
    return started;
  }
}

/** From so long on a client can be asked, in ms, and then its inspector asks it. */
const ASKED_MS = 6_500;
/** After so long the page has asked again, in ms. */
const SEEN_MS = 6_500;
/** From so long on a wait behind a live holder is called stuck, in ms. */
const STUCK_MS = 32_000;
/** So long that nothing ends while it is looked at, in ms. */
const LONG_MS = 180_000;

export const CROWD_SIZE = 50_000;

/** One process holds a lock, two wait; what becomes of the holder is what differs. */
async function crowd(world: World, lock: string, watchdogMs?: number): Promise<SceneProcess> {
  const [holder, ...waiters] = (await world.start(3, watchdogMs)) as [SceneProcess, SceneProcess, SceneProcess];
  await holder.do({ kind: 'hold', names: [lock] });
  for (const [i, waiter] of waiters.entries()) await waiter.do({ kind: 'wait', name: lock, callers: 3 - 2 * i });
  return holder;
}

export const SCENES = {
  three: {
    title: 'three processes on one lock',
    lock: 'order:7',
    ripensMs: ASKED_MS,
    async make(world) {
      await crowd(world, 'order:7');
    },
  },
  killed: {
    title: 'a killed holder',
    lock: 'billing:nightly',
    ripensMs: SEEN_MS,
    async make(world) {
      const holder = await crowd(world, 'billing:nightly', LONG_MS);
      // As long as anybody might ask for it.
      await sleep(ASKED_MS);
      world.happens();
      holder.kill();
    },
  },
  frozen: {
    title: 'a frozen holder',
    lock: 'export:parquet',
    ripensMs: SEEN_MS,
    async make(world) {
      const holder = await crowd(world, 'export:parquet', LONG_MS);
      await sleep(ASKED_MS);
      world.happens();
      holder.freeze();
    },
  },
  stuck: {
    title: 'a live stuck holder',
    lock: 'ledger:close',
    ripensMs: STUCK_MS,
    async make(world) {
      await crowd(world, 'ledger:close', 12_000);
    },
  },
  deadLock: {
    title: 'a dead-lock over two processes',
    lock: 'account:1',
    ripensMs: ASKED_MS,
    async make(world) {
      const [p, q, other] = (await world.start(3)) as [SceneProcess, SceneProcess, SceneProcess];
      await p.do({ kind: 'nest', outer: 'account:1', inner: 'account:2' });
      await q.do({ kind: 'nest', outer: 'account:2', inner: 'account:1' });
      await Promise.all([p, q].map((one) => one.do({ kind: 'go' })));
      await other.do({ kind: 'wait', name: 'account:1', callers: 2 });
    },
  },
  healthy: {
    title: 'a healthy fleet with a watchdog of 10 s',
    lock: 'shard:0:0',
    ripensMs: STUCK_MS,
    async make(world) {
      for (const [i, one] of (await world.start(3, 10_000)).entries()) {
        await one.do({ kind: 'hold', names: Array.from({ length: 6 }, (_, n) => `shard:${i}:${n}`) });
        await one.do({ kind: 'hold', names: [`cron:${i}`], leaseMs: LONG_MS });
        await one.do({ kind: 'work', names: ['stock:1', 'stock:2'] });
      }
    },
  },
  busy: {
    title: 'a holder whose event loop is busy, and whose watchdog thread renews',
    lock: 'report:year',
    ripensMs: STUCK_MS,
    async make(world) {
      const [holder, ...waiters] = (await world.start(3)) as [SceneProcess, SceneProcess, SceneProcess];
      // The second one is the healthy twin: nobody waits for it.
      await holder.do({ kind: 'hold', names: ['report:year', 'report:month'], thread: true });
      for (const [i, waiter] of waiters.entries()) {
        await waiter.do({ kind: 'wait', name: 'report:year', callers: 3 - 2 * i });
      }
      await sleep(ASKED_MS);
      holder.block(LONG_MS);
    },
  },
  permits: {
    title: 'permits that do not come back: their process has died',
    lock: 'api:quota',
    ripensMs: STUCK_MS,
    async make(world) {
      const [holder, waiter] = (await world.start(2)) as [SceneProcess, SceneProcess];
      await holder.do({ kind: 'takePermits', name: 'api:quota', permits: 2 });
      holder.kill();
      await waiter.do({ kind: 'waitForPermit', name: 'api:quota' });
      world.happens();
    },
  },
  latch: {
    title: 'a latch that nobody counts down any more',
    lock: 'import:ready',
    ripensMs: STUCK_MS,
    async make(world) {
      const [waiter] = (await world.start(1)) as [SceneProcess];
      await waiter.do({ kind: 'waitForLatch', name: 'import:ready' });
      world.happens();
    },
  },
  noExpiry: {
    title: 'a lock that has lost its expiry',
    lock: 'cache:warm',
    ripensMs: ASKED_MS,
    async make(world) {
      const [holder, waiter] = (await world.start(2)) as [SceneProcess, SceneProcess];
      await holder.do({ kind: 'hold', names: ['cache:warm'], leaseMs: LONG_MS });
      await waiter.do({ kind: 'wait', name: 'cache:warm', callers: 1 });
      world.happens();
      const { admin } = world;
      await admin.persist('cache:warm');
      // The server may stop before the test does; one that is about to connect again leaves a timer behind.
      await admin.quit();
    },
  },
  leader: {
    title: 'twin of a stuck lock: a leader with its standby, which is expected',
    lock: 'leader:eu',
    ripensMs: STUCK_MS,
    options: ['--expect-waits', 'leader:*'],
    async make(world) {
      await crowd(world, 'leader:eu');
    },
  },
  left: {
    title: 'twin of a killed holder: one that gives back and ends',
    lock: 'billing:daily',
    ripensMs: SEEN_MS,
    async make(world) {
      const holder = await crowd(world, 'billing:daily');
      await sleep(ASKED_MS);
      await holder.do({ kind: 'giveBack', names: ['billing:daily'] });
      holder.kill();
    },
  },
  ordered: {
    title: 'twin of a dead-lock: the same locks, in one order',
    lock: 'account:1',
    ripensMs: ASKED_MS,
    async make(world) {
      const [p, q] = (await world.start(2)) as [SceneProcess, SceneProcess];
      await p.do({ kind: 'nest', outer: 'account:1', inner: 'account:2' });
      await p.do({ kind: 'go' });
      await q.do({ kind: 'wait', name: 'account:1', callers: 1 });
    },
  },
  throttle: {
    title: 'twin of permits that do not come back: a semaphore that is waited for, each time for a moment',
    lock: 'api:rate',
    ripensMs: STUCK_MS,
    async make(world) {
      const [worker] = (await world.start(1)) as [SceneProcess];
      await worker.do({ kind: 'throttle', name: 'api:rate', permits: 2, callers: 6 });
    },
  },
  many: {
    title: '50 000 locks, one of them stuck',
    lock: 'order:31415',
    // A page looks at so many once in several seconds.
    ripensMs: STUCK_MS + 20_000,
    async make(world) {
      // One that is late on a busy machine does not lose them.
      const [holder, waiter] = (await world.start(2, LONG_MS)) as [SceneProcess, SceneProcess];
      await holder.do({ kind: 'hold', names: Array.from({ length: CROWD_SIZE }, (_, i) => `order:${i}`) });
      await waiter.do({ kind: 'wait', name: 'order:31415', callers: 40 });
    },
  },
} as const satisfies Readonly<Record<string, Scene>>;

export type SceneName = keyof typeof SCENES;

/** Makes a scene, with a page that is open when things happen. In a `before`: what a test makes ends with it. */
export async function makeScene({ make, ripensMs, options = [] }: Scene): Promise<World> {
  const server = trackClient(await RedisServer.start());
  const dashboard = CliProcess.start([
    'dashboard',
    '--port',
    '0',
    '--label',
    'production',
    '-u',
    server.url,
    ...options,
  ]);
  const [, base] = await dashboard.prints(/^(http:\/\/\S+)\/\n/);
  const world = new World(server, dashboard, base!, options);
  await make(world);
  world.ripe = sleep(ripensMs);
  return world;
}
