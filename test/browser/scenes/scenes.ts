import { sleep } from '../../support';
import type { SceneProcess } from './SceneProcess';
import { Play, type Stage } from './Stage';

/** What happens in a scene, on a stage that others share. */
export interface Scene {
  readonly title: string;
  /** The lock that a person asks about. */
  readonly lock: string;
  /** How long after it was made it is what its title says, in ms. */
  readonly ripensMs: number;
  /** It is so for a short time only: somebody waits, and after 30 s that is no good any more. */
  readonly fleeting?: true;
  /** It needs a stage of its own. */
  readonly alone?: true;
  make(play: Play): Promise<void>;
}

/** From so long on a client can be asked, in ms, and then its inspector asks it. */
const ASKED_MS = 6_500;
/** After so long the page has asked again, in ms. */
const SEEN_MS = 6_500;
/** From so long on a wait behind a live holder is called stuck, in ms. */
const STUCK_MS = 32_000;
/** So long that nothing ends while it is looked at, in ms. */
const LONG_MS = 600_000;

/** At night as many as a page watches; a fifth of it takes the same way. */
export const CROWD_SIZE = process.env['NIGHTLY'] === '1' ? 50_000 : 10_000;

/** One process holds a lock, two wait; what becomes of the holder is what differs. */
async function crowd(play: Play, lock: string, watchdogMs?: number): Promise<SceneProcess> {
  const [holder] = (await play.stage.start(1, watchdogMs)) as [SceneProcess];
  await holder.do({ kind: 'hold', names: [lock] });
  await wait(play, holder, lock);
  return holder;
}

/** Two processes wait for what the holder has: three callers, and one. */
async function wait(play: Play, holder: SceneProcess, lock: string): Promise<void> {
  const { waiters } = play.stage;
  for (const [i, waiter] of waiters.entries()) await waiter.do({ kind: 'wait', name: lock, callers: 3 - 2 * i });
  play.processes = [holder, ...waiters];
  play.happens();
}

export const SCENES = {
  three: {
    title: 'three processes on one lock',
    lock: 'order:7',
    ripensMs: ASKED_MS,
    fleeting: true,
    async make(play) {
      // Ripe no sooner than the longest of the fleeting ones: it lasts for a short time.
      await sleep(ASKED_MS);
      await crowd(play, 'order:7');
    },
  },
  killed: {
    title: 'a killed holder',
    lock: 'billing:nightly',
    ripensMs: SEEN_MS,
    async make(play) {
      const holder = await crowd(play, 'billing:nightly', LONG_MS);
      // As long as anybody might ask for it.
      await sleep(ASKED_MS);
      play.happens();
      holder.kill();
    },
  },
  frozen: {
    title: 'a frozen holder',
    lock: 'export:parquet',
    ripensMs: SEEN_MS,
    async make(play) {
      const holder = await crowd(play, 'export:parquet', LONG_MS);
      await sleep(ASKED_MS);
      play.happens();
      holder.freeze();
    },
  },
  stuck: {
    title: 'a live stuck holder',
    lock: 'ledger:close',
    ripensMs: STUCK_MS,
    async make(play) {
      await crowd(play, 'ledger:close', 12_000);
    },
  },
  deadLock: {
    title: 'a dead-lock over two processes',
    lock: 'account:1',
    ripensMs: ASKED_MS,
    async make(play) {
      const [p, q] = (await play.stage.start(2)) as [SceneProcess, SceneProcess];
      const [other] = play.stage.waiters as [SceneProcess];
      await p.do({ kind: 'nest', outer: 'account:1', inner: 'account:2' });
      await q.do({ kind: 'nest', outer: 'account:2', inner: 'account:1' });
      play.happens();
      await Promise.all([p, q].map((one) => one.do({ kind: 'go' })));
      await other.do({ kind: 'wait', name: 'account:1', callers: 2 });
      play.processes = [p, q, other];
    },
  },
  healthy: {
    title: 'twin of all: a healthy fleet with a watchdog of 10 s',
    lock: 'shard:0:0',
    ripensMs: STUCK_MS,
    async make(play) {
      play.processes = await play.stage.start(3, 10_000);
      for (const [i, one] of play.processes.entries()) {
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
    async make(play) {
      const [holder] = (await play.stage.start(1)) as [SceneProcess];
      // The second one is the healthy twin: nobody waits for it.
      await holder.do({ kind: 'hold', names: ['report:year', 'report:month'], thread: true });
      await wait(play, holder, 'report:year');
      await sleep(ASKED_MS);
      holder.block(LONG_MS);
    },
  },
  permits: {
    title: 'permits that do not come back: their process has died',
    lock: 'api:quota',
    ripensMs: STUCK_MS,
    async make(play) {
      const [holder] = (await play.stage.start(1)) as [SceneProcess];
      const [waiter] = play.stage.waiters as [SceneProcess];
      await holder.do({ kind: 'takePermits', name: 'api:quota', permits: 2, take: 2 });
      holder.kill();
      await waiter.do({ kind: 'waitForPermits', name: 'api:quota', permits: 1 });
      play.processes = [holder, waiter];
      play.happens();
    },
  },
  free: {
    title: 'a semaphore with one permit left, of which a caller wants two',
    lock: 'api:batch',
    ripensMs: STUCK_MS,
    async make(play) {
      const [holder, waiter] = play.stage.waiters as [SceneProcess, SceneProcess];
      await holder.do({ kind: 'takePermits', name: 'api:batch', permits: 3, take: 2 });
      await waiter.do({ kind: 'waitForPermits', name: 'api:batch', permits: 2 });
      play.processes = [holder, waiter];
      play.happens();
    },
  },
  latch: {
    title: 'a latch that nobody counts down any more',
    lock: 'import:ready',
    ripensMs: STUCK_MS,
    async make(play) {
      const [waiter] = play.stage.waiters as [SceneProcess];
      await waiter.do({ kind: 'waitForLatch', name: 'import:ready' });
      play.processes = [waiter];
      play.happens();
    },
  },
  noExpiry: {
    title: 'a lock that has lost its expiry',
    lock: 'cache:warm',
    ripensMs: ASKED_MS,
    async make(play) {
      const [holder, waiter] = play.stage.waiters as [SceneProcess, SceneProcess];
      // The second one is the healthy twin: it has its lease.
      await holder.do({ kind: 'hold', names: ['cache:warm', 'cache:cold'], leaseMs: LONG_MS });
      await waiter.do({ kind: 'wait', name: 'cache:warm', callers: 1 });
      play.processes = [holder, waiter];
      play.happens();
      await play.stage.change((admin) => admin.persist('cache:warm'));
    },
  },
  wrongType: {
    title: 'a key that holds something else',
    lock: 'cart:17',
    ripensMs: 0,
    async make(play) {
      await play.stage.change((admin) => admin.rpush('cart:17', 'milk', 'bread'));
      play.happens();
      play.processes = [];
    },
  },
  prefixed: {
    title: 'twin of a key that holds something else: a lock with a prefix, beside it',
    lock: 'lock:cart:17',
    ripensMs: ASKED_MS,
    async make(play) {
      const [holder] = play.stage.waiters as [SceneProcess];
      await holder.do({ kind: 'hold', names: ['lock:cart:17'] });
      play.processes = [holder];
    },
  },
  leader: {
    title: 'twin of a stuck lock: a leader with its standby, which is expected',
    lock: 'leader:eu',
    ripensMs: STUCK_MS,
    async make(play) {
      await crowd(play, 'leader:eu');
    },
  },
  left: {
    title: 'twin of a killed holder: one that gives back and ends',
    lock: 'billing:daily',
    ripensMs: SEEN_MS,
    fleeting: true,
    async make(play) {
      const holder = await crowd(play, 'billing:daily');
      await sleep(ASKED_MS);
      await holder.do({ kind: 'giveBack', names: ['billing:daily'] });
      holder.kill();
    },
  },
  ordered: {
    title: 'twin of a dead-lock: the same locks, in one order',
    lock: 'account:8',
    ripensMs: ASKED_MS,
    fleeting: true,
    async make(play) {
      const [p] = (await play.stage.start(1)) as [SceneProcess];
      const [q] = play.stage.waiters as [SceneProcess];
      await sleep(ASKED_MS);
      await p.do({ kind: 'nest', outer: 'account:8', inner: 'account:9' });
      await p.do({ kind: 'go' });
      await q.do({ kind: 'wait', name: 'account:8', callers: 1 });
      play.processes = [p, q];
    },
  },
  throttle: {
    title: 'twin of permits that do not come back: a semaphore that is waited for, each time for a moment',
    lock: 'api:rate',
    ripensMs: STUCK_MS,
    async make(play) {
      const [worker] = play.stage.waiters as [SceneProcess];
      await worker.do({ kind: 'throttle', name: 'api:rate', permits: 2, callers: 6 });
      play.processes = [worker];
    },
  },
  many: {
    title: `${CROWD_SIZE} locks, one of them stuck`,
    lock: 'order:3141',
    ripensMs: STUCK_MS,
    alone: true,
    async make(play) {
      // One that is late on a busy machine does not lose them.
      const [holder] = (await play.stage.start(1, LONG_MS)) as [SceneProcess];
      const [waiter] = play.stage.waiters as [SceneProcess];
      await holder.do({ kind: 'hold', names: Array.from({ length: CROWD_SIZE }, (_, i) => `order:${i}`) });
      await waiter.do({ kind: 'wait', name: 'order:3141', callers: 40 });
      play.processes = [holder, waiter];
    },
  },
} as const satisfies Readonly<Record<string, Scene>>;

export type SceneName = keyof typeof SCENES;

/** Plays a scene. Resolves when it is made. */
export async function play({ make, ripensMs }: Scene, stage: Stage): Promise<Play> {
  const played = new Play(stage);
  await make(played);
  played.ripeAt = performance.now() + ripensMs;
  return played;
}
