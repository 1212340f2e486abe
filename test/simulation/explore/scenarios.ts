import { mayHaveRun } from '../../../lib/acquire/Rollback';
import type { LockHold, PermitHold, RLock } from '../../../lib/api';
import { LockLostError, LockTimeoutError } from '../../../lib/errors';
import type { App } from '../workload/App';
import { pause } from '../workload/lockTasks';
import { type LockKindName, PERMITS, type World } from '../workload/World';
import { ERROR_MS, type Scenario, type Stage, type Take } from './Stage';

/** Each process takes the lock, so many times. */
function turns(kind: LockKindName, times: number, take: Take = {}) {
  return (stage: Stage): void => {
    stage.apps.forEach((_, i) =>
      stage.task(
        i,
        async (app) => {
          for (let n = 0; n < times; n++) await stage.use(app, { kind, ...take });
        },
        i * 2,
      ),
    );
  };
}

function available(stage: Stage, name: string): number {
  return Number(stage.world.servers[0]!.store.text(name) ?? 0);
}

/** Takes permits with ids, and gives them back. */
async function usePermits(stage: Stage, app: App, permits: number, take: Take = {}): Promise<void> {
  const { wait = 2_000, lease = -1, work = 5 } = take;
  const name = 'permits0';
  const key = `r0/${name}`;
  const { world } = stage;
  const semaphore = app.clients[0]!.getPermitExpirableSemaphore(name);
  const wanted = { patienceMs: () => 2_500, isFree: () => available(stage, name) >= permits };
  const askedAt = world.loop.now;
  const ids = await stage.call(app, `acquire ${permits} permits ${wait} ${lease}`, name, wanted, () =>
    semaphore.tryAcquireMany(permits, wait, lease, undefined, { signal: stage.signalOf(app) }),
  );
  if (ids === undefined || ids.length === 0) return;
  const givenBack = world.permits.own(key, ids);
  const leave = lease === -1 ? world.oracle.takePermits(app, key, permits, PERMITS, world.loop.now) : undefined;
  await pause(work);
  leave?.();
  // A server that refuses, or cannot be reached, has them still, and so has the caller.
  let inDoubt = false;
  for (let tries = 0; tries < 5; tries++) {
    const count = await stage.call(app, `release ${permits} permits`, name, undefined, () =>
      semaphore.tryReleaseMany(ids),
    );
    if (count === undefined) {
      if (app.leaving) return;
      // Its bytes may have arrived although it has failed: then the next one finds nothing.
      inDoubt = true;
      await pause(1_000);
      continue;
    }
    givenBack();
    const forgotten = (world.oracle.lostAt.get('r0') ?? -1) >= askedAt;
    const over = lease !== -1 && world.loop.now - askedAt >= 0.8 * lease;
    if (count === 0 && !forgotten && !over && !inDoubt)
      world.oracle.violate(`${app.process.id} has lost permits of ${key}`);
    return;
  }
}

/** The permits that are held, so far as the oracle counts them. */
const permitHolds = new WeakMap<World, readonly { readonly app: App; readonly hold: PermitHold; leave(): void }[]>();

/** Holds permits that the watchdog renews. */
async function holdPermits(
  stage: Stage,
  app: App,
  permits: number,
  { wait = 2_000, work = 5 }: Take = {},
): Promise<void> {
  const name = 'permits0';
  const key = `r0/${name}`;
  const { world } = stage;
  const semaphore = app.clients[0]!.getPermitExpirableSemaphore(name);
  const wanted = { patienceMs: () => 2_500, isFree: () => available(stage, name) >= permits };
  await stage.call(app, `hold ${permits} permits ${wait}`, name, wanted, async () => {
    const options = { permits, waitTime: wait, signal: stage.signalOf(app) };
    const hold = await semaphore.acquireHold(options).catch((error: unknown) => {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    });
    if (hold === undefined) return;
    waitsNoMore(stage, app, key);
    const givenBack = world.permits.own(key, hold.ids);
    // A process that is blocked beyond its lease learns of the loss afterwards; one that is dead is asked nothing.
    for (const one of permitHolds.get(world) ?? []) if (one.app.process.alive && !one.hold.isHeld) one.leave();
    const leave = hold.isHeld ? world.oracle.takePermits(app, key, permits, PERMITS, world.loop.now) : undefined;
    if (leave !== undefined) permitHolds.set(world, [...(permitHolds.get(world) ?? []), { app, hold, leave }]);
    await pause(work);
    leave?.();
    await hold.release().finally(givenBack);
  });
}

/** What it waited for, it has. */
function waitsNoMore({ world }: Stage, app: App, key: string): void {
  for (const operation of world.operations) {
    if (operation.app === app && operation.waitsFor?.key === key) operation.waitsFor = undefined;
  }
}

/** How long a lock stays for its ticket, in ms. */
const TICKET_MS = 20_000;

/** A process takes a lock and leaves it by ticket; another one takes it up; a third one waits for it all the while. */
function byTicket(kind: 'lock' | 'fair' | 'fenced') {
  return (stage: Stage): void => {
    const { world } = stage;
    const name = `${kind}0`;
    const key = `r0/${name}`;
    let ticket: string | undefined;
    let leftAt = 0;
    let leaveTicket = (): void => undefined;
    const forgotten = (): boolean => (world.oracle.lostAt.get('r0') ?? -1) >= leftAt;
    const isOver = (): boolean => world.loop.now - leftAt >= 0.8 * TICKET_MS;
    const enter = (app: App, owner: string, since: number, alive: () => boolean) =>
      world.oracle.enter({ app, key, shared: false, owner, since, alive });
    /** @param since - when it was asked for: what was lost while the answer was on its way was lost, too */
    const inside = async (app: App, hold: LockHold, since: number): Promise<void> => {
      if (!hold.isHeld) return;
      const leave = enter(app, `${app.process.id}:${hold.threadId}`, since, () => hold.isHeld && !hold.signal.aborted);
      await pause(5);
      leave();
    };
    stage.task(0, (app) =>
      stage.call(app, `acquire and detach ${kind}`, name, undefined, async () => {
        const askedAt = world.loop.now;
        const hold = await world.lockOf(app.clients[0]!, kind, name).acquire({ signal: stage.signalOf(app) });
        await inside(app, hold, askedAt);
        leftAt = world.loop.now;
        const left = await hold.detach({ leaseTime: TICKET_MS }).catch(async (error: unknown) => {
          // Where it was refused the hold is still its caller's.
          await hold.unlock();
          throw error;
        });
        leaveTicket = enter(app, 'ticket', leftAt, () => !forgotten() && !isOver());
        ticket = left;
      }),
    );
    // As the recipe says: whatever rejects but `LockLostError`, the ticket is valid afterwards, so it is tried again.
    // Who would give up leaves the lock to the ticket, rightly, until the lease is over.
    stage.task(1, async (app) => {
      // The other process may be blocked for long, or dead.
      for (let tries = 0; ticket === undefined && tries < 6_000 && !app.leaving; tries++) await pause(10);
      const given = ticket;
      let done = given === undefined;
      let doubtful = false;
      // Taken up by an attempt without a reply, it is given back to its ticket soon.
      const comesBack = (): boolean => doubtful && !world.calmFor(ERROR_MS);
      while (!done && !app.leaving) {
        const take = async (): Promise<void> => {
          const askedAt = world.loop.now;
          const hold = await app.clients[0]!.attach(given!).catch((error: unknown) => {
            if (error instanceof LockLostError) {
              done = !comesBack();
              if (!done || forgotten() || isOver()) return undefined;
            } else if (mayHaveRun(error)) doubtful = true;
            throw error;
          });
          if (hold === undefined) return;
          done = true;
          leaveTicket();
          await inside(app, hold, askedAt);
          await hold.unlock();
        };
        await stage.call(app, `attach ${kind}`, name, undefined, take, TICKET_MS);
        if (!done) await pause(100);
      }
    });
    stage.task(2, (app) => stage.use(app, { kind, by: 'acquire' }), 2);
  };
}

async function useSemaphore(stage: Stage, app: App, permits: number, wait = 2_000): Promise<void> {
  const { world } = stage;
  const name = 'semaphore0';
  const semaphore = app.clients[0]!.getSemaphore(name);
  const wanted = { patienceMs: () => 2_500, isFree: () => available(stage, name) >= permits };
  const askedAt = world.loop.now;
  const got = await stage.call(app, `acquire ${permits} of semaphore ${wait}`, name, wanted, () =>
    semaphore.tryAcquire(permits, wait, undefined, { signal: stage.signalOf(app) }),
  );
  if (got !== true) return;
  const key = `r0/${name}`;
  const givenBack = world.oracle.lend(app, key, permits, askedAt);
  const leave = world.oracle.takePermits(app, key, permits, PERMITS + world.oracle.strays(key), world.loop.now);
  await pause(5);
  leave();
  await stage.call(app, `release ${permits} of semaphore`, name, undefined, () => semaphore.release(permits));
  givenBack();
}

/** Permits are set, then each process takes some of them, so many times. */
function permitTurns(permits: number, times: number, take: Take = {}, use = usePermits) {
  return (stage: Stage): void => {
    stage.task(0, (app) => {
      const semaphore = app.clients[0]!.getPermitExpirableSemaphore('permits0');
      return stage.call(app, 'set permits', 'permits0', undefined, () => semaphore.trySetPermits(PERMITS));
    });
    stage.apps.forEach((_, i) =>
      stage.task(
        i,
        async (app) => {
          for (let n = 0; n < times; n++) await use(stage, app, permits, take);
        },
        20 + i * 2,
      ),
    );
  };
}

/** While the lock is held, its server begins to refuse, and goes on for 200 ms after the unlock has been sent. */
function refusedUnlock(reply: string): Scenario {
  return {
    name: `unlock-${reply.split(' ')[0]}`,
    run(stage) {
      const server = stage.world.nodes[0]!;
      stage.task(0, (app) =>
        stage.use(app, {
          work: 40,
          inner: async () => {
            stage.blamed.add('all');
            stage.world.trouble(240);
            stage.world.loop.after(15, () => {
              if (reply.startsWith('NOSCRIPT')) server.engine.forget();
              else server.refuses = reply;
              stage.world.loop.note(`${server.name} refuses`);
            });
            stage.world.loop.after(235, () => (server.refuses = false));
          },
        }),
      );
      stage.task(1, (app) => stage.use(app), 5);
    },
  };
}

const rw: readonly LockKindName[] = ['read', 'write'];

/** Three callers of one process and one of another, each twice. */
function localTurns(name: string, kind: LockKindName, take: Take): Scenario {
  return {
    name,
    localHandOver: true,
    leaseMs: take.lease ?? 30_000,
    run(stage) {
      for (let i = 0; i < 5; i++) {
        const task = async (app: App): Promise<void> => {
          for (let n = 0; n < 2; n++) await stage.use(app, { kind, work: i % 2 === 0 ? 0.3 : 2, ...take });
        };
        stage.task(i === 4 ? 1 : 0, task, i / 5);
      }
    },
  };
}

/** Two threads of one process, which write and then read, again and again; and one of another process, which writes. */
function writersThatRead(name: string, lease?: number): Scenario {
  return {
    name,
    localHandOver: true,
    leaseMs: lease ?? 30_000,
    run(stage) {
      for (const threadId of [1, 2, 3]) {
        const take: Take = { threadId, by: 'acquire', ...(lease !== undefined && { lease }) };
        const read: Take = { ...take, kind: 'read', work: 0.2 };
        const task = async (app: App): Promise<void> => {
          const inner = (hold: LockHold): Promise<void> => stage.use(app, read, hold);
          for (let n = 0; n < 3; n++) {
            await stage.use(app, { ...take, kind: 'write', work: 0.4, ...(n === 1 && { inner }) });
            if (threadId < 3) await stage.use(app, read);
          }
        };
        stage.task(threadId === 3 ? 1 : 0, task, threadId / 5);
      }
    },
  };
}

/** Callers of one process, and the last of another one, each for its values, twice. */
function localGroupTurns(name: string, sets: readonly (readonly string[])[], take: Take = {}): Scenario {
  return {
    name,
    localHandOver: true,
    leaseMs: take.lease ?? 30_000,
    run(stage) {
      for (const [i, values] of [...sets, sets[0]!].entries()) {
        const task = async (app: App): Promise<void> => {
          for (let n = 0; n < 2; n++) await stage.useGroup(app, values, { work: i % 2 === 0 ? 0.3 : 2, ...take });
        };
        stage.task(i === sets.length ? 1 : 0, task, i / 5);
      }
    },
  };
}

/** What a thread that holds a lock does with two more holds of it, at the same time. */
type Together = (one: LockHold, other: LockHold) => readonly (readonly [what: string, run: () => Promise<void>])[];

const BOTH_RELEASED: Together = (one, other) => [
  ['unlock', () => one.unlock()],
  ['unlock', () => other.unlock()],
];
const EXTENDED_AND_RELEASED: Together = (one, other) => [
  ['extend', () => one.extend(20_000)],
  ['unlock', () => one.unlock()],
  ['unlock', () => other.unlock()],
];

/**
 * A thread of each process enters twice; two commands of it are under way at a time.
 * @param around - whether it has the lock before and after. Without that the last of them frees the lock
 */
function together(name: string, kind: LockKindName, commands: Together, around = true): Scenario {
  const what = kind === 'read' || kind === 'write' ? 'rw0' : `${kind}0`;
  return {
    name,
    leaseMs: 30_000,
    pending: 'a release sent again overtakes a later one of its owner',
    run(stage) {
      const again = (app: App, lock: RLock): Promise<unknown> =>
        stage.call(app, `again ${kind}`, what, undefined, async () => {
          const holds: LockHold[] = [];
          try {
            for (let i = 0; i < 2; i++) holds.push(await lock.acquire({ threadId: 7 }));
            const [one, other] = holds as [LockHold, LockHold];
            const running = commands(one, other).map(async ([label, run], i) => {
              await pause(i * 0.1);
              await run().catch((error: unknown) => {
                // Of the very hold that another command releases.
                if (label !== 'extend' || !(error instanceof LockLostError)) throw error;
              });
            });
            await Promise.allSettled(running);
            await Promise.all(running);
          } finally {
            await Promise.allSettled(holds.map((hold) => hold.unlock()));
          }
        });
      if (!around) {
        const lockOf = (app: App): RLock => stage.world.lockOf(app.clients[0]!, kind, what);
        stage.task(0, (app) => again(app, lockOf(app)));
        stage.task(1, (app) => stage.use(app, { kind: kind === 'read' ? 'write' : kind, work: 10 }), 3);
        return;
      }
      for (const i of [0, 1]) {
        const inner = (app: App) => async (_: LockHold, lock: RLock) => again(app, lock);
        stage.task(i, (app) => stage.use(app, { kind, by: 'acquire', threadId: 7, work: 20, inner: inner(app) }), i);
      }
      if (kind === 'read') stage.task(1, (app) => stage.use(app, { kind: 'write' }), 3);
    },
  };
}

/** The renewals of a hold end while its thread enters again and again. */
function maxRenewals(name: string, kind: LockKindName): Scenario {
  return {
    name,
    watchdogMs: 60,
    pending: 'a hold whose renewals have ended is released by a re-entry of its thread',
    run(stage) {
      const take: Take = { kind, by: 'acquire', threadId: 7 };
      stage.task(0, (app) =>
        stage.use(app, {
          ...take,
          maxRenewTimes: 2,
          work: 20,
          async inner(_, lock) {
            for (let i = 0; i < 12; i++) {
              await stage.call(app, `again ${kind}`, `${kind}0`, undefined, async () => {
                const hold = await lock.acquire({ threadId: 7, waitTime: 1_000 }).catch((error: unknown) => {
                  if (!(error instanceof LockTimeoutError)) throw error;
                });
                await hold?.unlock();
              });
            }
          },
        }),
      );
      stage.task(1, (app) => stage.use(app, { kind }), 5);
    },
  };
}

/** A process takes a lock by force from another one; a third one gets it, and has it until it gives it back. */
function byForce(kind: LockKindName): Scenario {
  return {
    name: `force-${kind}`,
    apps: 3,
    pending: 'forceUnlock() sent again takes the lock from the next owner',
    run(stage) {
      const { world } = stage;
      const name = `${kind}0`;
      // What the first run takes away is excused, and nothing else.
      let ran = 0;
      for (const node of world.nodes) {
        const observe = node.observe;
        node.observe = (call) => {
          if (call.script.endsWith('.forceRelease') && ran++ === 0) stage.forgets(node);
          return observe?.(call);
        };
      }
      stage.task(0, (app) => stage.use(app, { kind, by: 'acquire', work: 60 }));
      stage.task(
        1,
        (app) =>
          stage.call(app, `force ${kind}`, name, undefined, () =>
            world.lockOf(app.clients[0]!, kind, name).forceUnlock(),
          ),
        20,
      );
      stage.task(2, async (app) => {
        for (let i = 0; i < 6_000 && ran === 0 && !app.leaving; i++) await pause(0.2);
        await stage.use(app, { kind, work: 300 });
      });
    },
  };
}

/** A semaphore is deleted, and made anew by another process. */
const DELETED: Scenario = {
  name: 'delete-semaphore',
  pending: 'delete() sent again deletes what has been made since',
  run(stage) {
    const of = (app: App) => app.clients[0]!.getSemaphore('semaphore0');
    const call = (app: App, what: string, run: () => Promise<unknown>) =>
      stage.call(app, what, 'semaphore0', undefined, run);
    let deleted = false;
    const node = stage.world.nodes[0]!;
    const observe = node.observe;
    node.observe = (script) => {
      if (script.script.endsWith('.delete')) deleted = true;
      return observe?.(script);
    };
    stage.task(0, async (app) => {
      await call(app, 'set semaphore', () => of(app).trySetPermits(PERMITS));
      await call(app, 'delete semaphore', () => of(app).delete());
    });
    stage.task(
      1,
      async (app) => {
        for (let i = 0; i < 3_000 && !deleted && !app.leaving; i++) await pause(1);
        const made = await call(app, 'set semaphore', () => of(app).trySetPermits(PERMITS));
        if (made !== true) return;
        const { oracle, loop } = stage.world;
        const since = loop.now;
        await pause(200);
        const isLost = (oracle.lostAt.get('r0') ?? -1) >= since;
        if (!isLost && available(stage, 'semaphore0') !== PERMITS) oracle.violate('a new semaphore was deleted');
        await call(app, 'delete semaphore', () => of(app).delete());
      },
      10,
    );
  },
};

/** Small scenarios, at each step of which something may go wrong. Names are part of the commands that repeat a run. */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'lock', apps: 3, run: turns('lock', 2) },
  { name: 'lock-acquire', run: turns('lock', 2, { by: 'acquire' }) },
  { name: 'lock-lease-20s', leaseMs: 20_000, run: turns('lock', 2, { lease: 20_000 }) },
  { name: 'lock-lease-3ms', leaseMs: 3, run: turns('lock', 3, { lease: 3, work: 2 }) },
  { name: 'lock-lease-20ms', leaseMs: 20, run: turns('lock', 3, { lease: 20, work: 15 }) },
  { name: 'lock-lease-60ms', leaseMs: 60, run: turns('lock', 2, { lease: 60, work: 100 }) },
  { name: 'lock-watchdog-60ms', watchdogMs: 60, run: turns('lock', 2, { work: 150 }) },
  { name: 'lock-limits', apps: 3, run: turns('lock', 2, { wait: 15, work: 10 }) },
  { name: 'lock-one-attempt', apps: 3, run: turns('lock', 3, { wait: 0, by: 'tryAcquireHold', work: 3 }) },
  {
    name: 'lock-43-waiters',
    run(stage) {
      for (let i = 0; i < 43; i++) stage.task(i % 3 === 0 ? 1 : 0, (app) => stage.use(app, { work: 1 }), i / 10);
    },
  },
  {
    name: 'lock-no-hand-overs',
    maxHandOvers: 0,
    run(stage) {
      for (let i = 0; i < 6; i++) stage.task(i % 2, (app) => stage.use(app), i);
    },
  },
  {
    // The holder and a waiter are in one process, which is blocked beyond the lease.
    name: 'lock-one-process',
    apps: 1,
    leaseMs: 20_000,
    run(stage) {
      for (let i = 0; i < 3; i++) stage.task(0, (app) => stage.use(app, { lease: 20_000 }), i);
    },
  },
  {
    name: 'lock-leases-of-two',
    leaseMs: 20_000,
    maxHandOvers: 0,
    run(stage) {
      stage.task(0, (app) => stage.use(app, { lease: 20_000, work: 10, by: 'acquire' }));
      stage.task(0, (app) => stage.use(app, { lease: 20_000, by: 'acquire' }), 2);
      stage.task(1, (app) => stage.use(app, { lease: 20_000 }), 4);
    },
  },
  // The lock is passed on within a process before Redis knows, several times for one command.
  ...(
    [
      ['local', 'lock', {}],
      ['local-acquire', 'lock', { by: 'acquire' }],
      ['local-lease-2s', 'lock', { lease: 2_000 }],
      ['local-non-reentrant', 'nonReentrant', {}],
      ['local-write', 'write', {}],
    ] as const
  ).map(([name, kind, take]) => localTurns(name, kind, take)),
  {
    name: 'local-limits',
    localHandOver: true,
    run(stage) {
      for (let i = 0; i < 6; i++)
        stage.task(i % 3 === 0 ? 1 : 0, (app) => stage.use(app, { wait: 12, work: 2 }), i / 4);
    },
  },
  {
    // The same two threads again and again.
    name: 'local-threads',
    apps: 1,
    localHandOver: true,
    run(stage) {
      for (const threadId of [1, 2]) {
        const task = async (app: App): Promise<void> => {
          for (let n = 0; n < 4; n++) await stage.use(app, { threadId, work: 0.2 });
        };
        stage.task(0, task, threadId / 10);
      }
    },
  },
  {
    name: 'local-inner',
    localHandOver: true,
    run(stage) {
      const take: Take = {
        work: 1,
        inner: async (hold, lock) => {
          const { threadId } = hold;
          // What is refused changes nothing for the hold around it.
          if (await lock.tryLock({ threadId }).catch(() => false))
            await lock.unlock({ threadId }).catch(() => undefined);
        },
      };
      for (let i = 0; i < 5; i++)
        stage.task(i === 3 ? 1 : 0, (app) => stage.use(app, { ...take, by: 'acquire' }), i / 5);
    },
  },
  { ...localTurns('local-replica', 'lock', {}), replicas: 1 },
  writersThatRead('local-writers-that-read'),
  // With so short a lease the next one is told when Redis knows it.
  writersThatRead('local-writers-that-read-450ms', 450),
  {
    // Writers of two processes, and a reader of each.
    name: 'local-writers-and-readers',
    localHandOver: true,
    run(stage) {
      for (let i = 0; i < 7; i++) {
        const take: Take = { kind: i % 4 === 3 ? 'read' : 'write', work: i % 2 === 0 ? 0.3 : 2 };
        const task = async (app: App): Promise<void> => {
          for (let n = 0; n < 2; n++) await stage.use(app, take);
        };
        stage.task(i > 4 || i === 3 ? 1 : 0, task, i / 5);
      }
    },
  },
  // The same for values of a group: four callers who want one, and one each who wants others, too.
  localGroupTurns('local-group', [['a'], ['a'], ['a'], ['a']]),
  localGroupTurns('local-group-sets', [
    ['a', 'b'],
    ['b', 'a'],
    ['a', 'b', 'c'],
    ['a', 'b'],
    ['c', 'd'],
  ]),
  localGroupTurns('local-group-lease-2s', [['a', 'b'], ['b', 'a'], ['a', 'b'], ['b']], { lease: 2_000 }),
  localGroupTurns(
    'local-group-acquire',
    [
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'b'],
    ],
    { by: 'acquire' },
  ),
  {
    ...localGroupTurns('local-group-replica', [
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'b'],
    ]),
    replicas: 1,
  },
  {
    ...localGroupTurns('group-handed-over', [
      ['a', 'b'],
      ['a', 'b'],
      ['a', 'b'],
      ['b', 'c'],
    ]),
    localHandOver: false,
  },
  {
    name: 'local-group-limits',
    localHandOver: true,
    run(stage) {
      for (let i = 0; i < 6; i++)
        stage.task(i % 3 === 0 ? 1 : 0, (app) => stage.useGroup(app, ['a', 'b'], { wait: 12, work: 2 }), i / 4);
    },
  },
  {
    // A thread has one set, and wants another one that overlaps, which others wait for.
    name: 'local-group-overlapping',
    localHandOver: true,
    run(stage) {
      const all = ['a', 'b'];
      stage.task(0, (app) =>
        stage.useGroup(app, ['a'], { work: 2, inner: (hold) => stage.useGroup(app, all, { work: 1 }, hold) }),
      );
      for (let i = 0; i < 4; i++)
        stage.task(i === 3 ? 1 : 0, (app) => stage.useGroup(app, all, { work: 1 }), 0.5 + i / 5);
    },
  },
  ...(
    [
      'NOREPLICAS Not enough good replicas to write.',
      "READONLY You can't write against a read only replica.",
      'BUSY Redis is busy running a script.',
      'NOSCRIPT',
    ] as const
  ).map(refusedUnlock),
  { name: 'fair', apps: 3, run: turns('fair', 2) },
  { name: 'fair-limits', apps: 3, run: turns('fair', 2, { wait: 25, work: 10 }) },
  { name: 'fair-lease-60ms', leaseMs: 60, run: turns('fair', 2, { lease: 60, work: 80 }) },
  { name: 'fair-one-attempt', apps: 3, run: turns('fair', 2, { wait: 0, by: 'tryAcquireHold' }) },
  {
    name: 'fair-many',
    run(stage) {
      for (let i = 0; i < 9; i++) stage.task(i % 2, (app) => stage.use(app, { kind: 'fair', work: 2 }), i / 2);
    },
  },
  { name: 'fenced', run: turns('fenced', 3) },
  { name: 'spin', run: turns('spin', 2) },
  { name: 'non-reentrant', run: turns('nonReentrant', 2) },
  { name: 'non-reentrant-fair', run: turns('nonReentrantFair', 2) },
  {
    name: 'read-write',
    apps: 3,
    run(stage) {
      stage.task(0, (app) => stage.use(app, { kind: 'read', work: 10 }));
      stage.task(1, (app) => stage.use(app, { kind: 'read', work: 20 }), 2);
      stage.task(2, (app) => stage.use(app, { kind: 'write' }), 4);
      stage.task(0, (app) => stage.use(app, { kind: 'write' }), 6);
      stage.task(1, (app) => stage.use(app, { kind: 'read' }), 8);
    },
  },
  {
    name: 'downgrade',
    run(stage) {
      stage.task(0, (app) =>
        stage.use(app, { kind: 'write', inner: (hold) => stage.use(app, { kind: 'read', work: 10 }, hold) }),
      );
      stage.task(1, (app) => stage.use(app, { kind: 'read' }), 4);
      stage.task(1, (app) => stage.use(app, { kind: 'write' }), 5);
    },
  },
  { name: 'read-lease-60ms', leaseMs: 60, run: turns('read', 2, { lease: 60, work: 80 }) },
  { name: 'write-watchdog-60ms', watchdogMs: 60, run: turns('write', 2, { work: 100 }) },
  {
    name: 'group',
    apps: 3,
    run(stage) {
      stage.task(0, (app) => stage.useGroup(app, ['a', 'b'], { work: 10 }));
      stage.task(1, (app) => stage.useGroup(app, ['b', 'c']), 2);
      stage.task(2, (app) => stage.useGroup(app, ['c', 'd']), 4);
      stage.task(0, (app) => stage.useGroup(app, ['a', 'd']), 6);
    },
  },
  {
    name: 'group-nested',
    run(stage) {
      stage.task(0, (app) =>
        stage.useGroup(app, ['a', 'b'], { inner: (hold) => stage.useGroup(app, ['b', 'c'], { lease: 20_000 }, hold) }),
      );
      stage.task(1, (app) => stage.useGroup(app, ['c']), 2);
    },
  },
  {
    name: 'group-lease-60ms',
    leaseMs: 60,
    run(stage) {
      stage.task(0, (app) => stage.useGroup(app, ['a', 'b'], { lease: 60, work: 80 }));
      stage.task(1, (app) => stage.useGroup(app, ['b', 'c'], { lease: 60 }), 2);
    },
  },
  {
    name: 'group-thousand',
    run(stage) {
      const values = Array.from({ length: 1_000 }, (_, i) => `v${i}`);
      stage.task(0, (app) => stage.useGroup(app, values, { inner: (hold) => stage.useGroup(app, values, {}, hold) }));
      stage.task(1, (app) => stage.useGroup(app, ['v0', 'v999']), 2);
    },
  },
  {
    name: 'multi',
    servers: 2,
    run(stage) {
      for (const i of [0, 1]) {
        stage.task(
          i,
          async (app) => {
            await stage.useSeveral(app, {}, false);
            await stage.useSeveral(app, { wait: 50 }, false);
          },
          i,
        );
      }
    },
  },
  {
    name: 'red',
    servers: 3,
    run(stage) {
      for (const i of [0, 1]) stage.task(i, (app) => stage.useSeveral(app, { wait: 500 }, true), i);
    },
  },
  {
    name: 'semaphore',
    run(stage) {
      stage.task(0, (app) =>
        stage.call(app, 'set semaphore', 'semaphore0', undefined, () =>
          app.clients[0]!.getSemaphore('semaphore0').trySetPermits(PERMITS),
        ),
      );
      for (const i of [0, 1, 0]) stage.task(i, (app) => useSemaphore(stage, app, 2), 20 + i);
    },
  },
  { name: 'permits', run: permitTurns(2, 2) },
  { name: 'permits-one-attempt', run: permitTurns(2, 3, { wait: 0 }) },
  { name: 'permits-lease-20s', leaseMs: 20_000, run: permitTurns(2, 2, { lease: 20_000 }) },
  { name: 'permits-lease-60ms', leaseMs: 60, run: permitTurns(2, 2, { lease: 60, work: 40 }) },
  { name: 'permits-held', run: permitTurns(2, 2, {}, holdPermits) },
  { name: 'permits-held-one-attempt', run: permitTurns(2, 3, { wait: 0 }, holdPermits) },
  { name: 'permits-held-watchdog-60ms', watchdogMs: 60, run: permitTurns(2, 2, { work: 100 }, holdPermits) },
  { name: 'ticket', apps: 3, tickets: true, run: byTicket('lock') },
  { name: 'ticket-fair', apps: 3, tickets: true, run: byTicket('fair') },
  { name: 'ticket-fenced', apps: 3, tickets: true, run: byTicket('fenced') },
  {
    name: 'latch',
    run(stage) {
      const latchOf = (app: App) => app.clients[0]!.getCountDownLatch('latch0');
      const wanted = {
        patienceMs: () => 2_500,
        isFree: () => stage.world.servers[0]!.store.entry('latch0') === undefined,
      };
      stage.task(0, (app) => stage.call(app, 'set latch', 'latch0', undefined, () => latchOf(app).trySetCount(2)));
      for (const i of [0, 1, 1]) {
        const wait = (app: App) => stage.call(app, 'await latch', 'latch0', wanted, () => latchOf(app).await(20_000));
        stage.task(i, wait, 20 + i);
      }
      for (const i of [0, 1]) {
        stage.task(
          i,
          (app) => stage.call(app, 'down latch', 'latch0', undefined, () => latchOf(app).countDown()),
          40 + 4 * i,
        );
      }
    },
  },
  { name: 'lock-replicas', replicas: 1, run: turns('lock', 2) },
  {
    name: 'sections',
    run(stage) {
      for (const i of [0, 1]) {
        stage.task(
          i,
          (app) =>
            stage.use(app, {
              inner: async (hold) => {
                await stage.use(app, { kind: 'lock' }, hold);
                await stage.use(app, { kind: 'fair' }, hold);
              },
            }),
          i,
        );
      }
    },
  },
  {
    name: 'reentry-with-lease',
    run(stage) {
      for (const i of [0, 1]) {
        stage.task(
          i,
          (app) =>
            stage.use(app, {
              by: 'acquire',
              threadId: 7,
              inner: async (hold) => {
                const again = { by: 'acquire', threadId: 7 } as const;
                await Promise.all([stage.use(app, { ...again, lease: 20_000 }, hold)]);
                await stage.use(app, { ...again, lease: 10 }, hold);
              },
            }),
          i,
        );
      }
    },
  },
  together('two-releases', 'lock', BOTH_RELEASED),
  together('two-releases-extend', 'lock', EXTENDED_AND_RELEASED),
  together('two-releases-fair', 'fair', EXTENDED_AND_RELEASED),
  together('two-releases-read', 'read', EXTENDED_AND_RELEASED),
  together('two-last-releases', 'lock', BOTH_RELEASED, false),
  together('two-last-releases-fair', 'fair', BOTH_RELEASED, false),
  together('two-last-releases-read', 'read', BOTH_RELEASED, false),
  together('two-last-releases-extend', 'lock', EXTENDED_AND_RELEASED, false),
  maxRenewals('max-renewals', 'lock'),
  maxRenewals('max-renewals-fair', 'fair'),
  byForce('lock'),
  byForce('fair'),
  DELETED,
  {
    name: 'branches',
    run(stage) {
      for (const i of [0, 1]) {
        stage.task(
          i,
          (app) =>
            stage.use(app, {
              inner: (hold) => Promise.all([stage.use(app, { lease: 20_000 }, hold), stage.use(app, {}, hold)]),
            }),
          i,
        );
      }
    },
  },
];

/** The kinds of locks of a scenario, so far as the world looks for what nobody owns. */
export function kindsOf({ kinds }: Scenario): readonly LockKindName[] {
  return kinds ?? ['lock', 'fair', 'fenced', 'spin', 'nonReentrant', 'nonReentrantFair', ...rw];
}
