import { expect } from 'chai';
import type { Redis } from 'ioredis';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as sinon from 'sinon';
import type { LockHold, Redisson } from '../../lib';
import { OwnershipTable } from '../../lib/watchdog/OwnershipTable';
import { handOverLock } from '../../lib/kinds/reentrant';
import {
  allowLeftovers,
  monotonicNow,
  RedisServer,
  sleep,
  sleepUntil,
  TcpProxy,
  trackClient,
  uniqueName,
} from '../support';
import { client, connection, LONG_LEASE_MS, SOON_MS } from './scene';
import { COMMANDS, ERRORS, TABLE, undoTableRows, type UndoCommand, type UndoError } from './undoTable';

/**
 * Renewed every two seconds: an error at a renewal, and a machine that stands still for as long, leave time for one
 * more.
 */
const WATCHDOG_MS = 6_000;

/** A lease that is over soon. */
const SHORT_LEASE_MS = 300;

/** A semaphore is gone after so long. */
const LIFE_MS = 600_000;

/** A server that refuses on demand, and a client of it. */
interface Stage {
  readonly server: RedisServer;
  readonly proxy: TcpProxy;
  /** Its user has every right, and it goes past the proxy. */
  readonly direct: Redis;
  readonly redisson: Redisson;
  readonly name: string;
  readonly error: UndoError;
  /** Every key that the command is about. */
  readonly keys: readonly string[];
}

/** What goes wrong: from then on until the returned function is called, or for the one next script. */
const FAILURES: Readonly<Record<UndoError, (stage: Stage) => Promise<Repair>>> = {
  'no answer': (stage) => losing(stage, 'hang'),
  'connection lost': (stage) => losing(stage, 'cut'),
  OOM: (stage) => configured(stage, 'maxmemory', '1', '0'),
  MISCONF: (stage) => configured(stage, 'stop-writes-on-bgsave-error', 'yes', 'no'),
  NOPERM: ({ direct }) => permitted(direct, ['-@write'], ['+@all']),
  'NOPERM for channels': ({ direct }) => permitted(direct, ['resetchannels'], ['allchannels']),
  READONLY: async ({ direct }) => {
    await direct.call('REPLICAOF', '127.0.0.1', '1');
    return { heal: () => direct.call('REPLICAOF', 'NO', 'ONE') };
  },
  NOREPLICAS: (stage) => configured(stage, 'min-replicas-to-write', '1', '0'),
  WRONGTYPE: async ({ direct, keys }) => {
    await direct.del(...keys);
    for (const key of keys) await direct.xadd(key, '*', 'field', 'value');
    return { heal: () => direct.del(...keys) };
  },
  BUSY: async ({ server, direct }) => {
    const busy = connection(server.url);
    await busy.ping();
    const looping = busy.eval('while true do end', 0).catch(() => undefined);
    await sleepUntil(() =>
      direct.ping().then(
        () => false,
        (error: Error) => error.message.startsWith('BUSY'),
      ),
    );
    return {
      blind: true,
      heal: async () => {
        await direct.script('KILL');
        await looping;
      },
    };
  },
  NOSCRIPT: async ({ direct }) => {
    await direct.script('FLUSH');
    return { heal: () => Promise.resolve() };
  },
};

interface Repair {
  /** The error passes. */
  heal(): Promise<unknown>;
  /** Nobody can look into the server meanwhile. */
  readonly blind?: boolean;
}

/** The next script runs, and its answer is lost; nothing gets through behind it. */
async function losing({ proxy, redisson }: Stage, then: 'hang' | 'cut'): Promise<Repair> {
  void proxy.swallowNextReply({ command: /\beval/i, then }).then(() => {
    proxy.blackhole();
    proxy.refuse();
  });
  return {
    heal: async () => {
      proxy.cut();
      await proxy.pass();
      // The client has noticed, and connected again.
      await sleepUntil(() =>
        redisson
          .getLock(uniqueName())
          .isLocked()
          .then(isTrue, () => false),
      );
    },
  };
}

async function configured({ direct }: Stage, key: string, bad: string, good: string): Promise<Repair> {
  await direct.config('SET', key, bad);
  return { heal: () => direct.config('SET', key, good) };
}

async function permitted(direct: Redis, bad: readonly string[], good: readonly string[]): Promise<Repair> {
  await direct.call('ACL', 'SETUSER', 'worker', ...bad);
  return { heal: () => direct.call('ACL', 'SETUSER', 'worker', ...good) };
}

function isTrue(): boolean {
  return true;
}

/** A command, in three parts: before the error, under it, and after it. */
interface Deed {
  /** The keys of the object. */
  keysOf(name: string): readonly string[];
  before(stage: Stage): Promise<unknown>;
  under(stage: Stage): Promise<unknown>;
  /** What is in Redis and should not be there; `-` = nothing. */
  left(stage: Stage, told: string): Promise<string>;
  /** Gives back what the caller has, whatever it was told. */
  after(stage: Stage, told: string): Promise<unknown>;
}

const THREAD = 7;
const HEIR = 8;

async function holdsOf({ direct, redisson, name }: Stage, threadId: number): Promise<number> {
  return Number((await direct.hget(name, `${redisson.getId()}:${threadId}`).catch(() => null)) ?? 0);
}

async function many(stage: Stage, threadId: number, rightly: number): Promise<string> {
  const holds = await holdsOf(stage, threadId);
  return holds <= rightly ? '-' : 'hold';
}

const lockOf = ({ redisson, name }: Stage) => redisson.getLock(name);
const permitsOf = ({ redisson, name }: Stage) => redisson.getPermitExpirableSemaphore(name);
const semaphoreOf = ({ redisson, name }: Stage) => redisson.getSemaphore(name);
const queueOf = (name: string): string[] => [`redisson_lock_queue:{${name}}`, `redisson_lock_timeout:{${name}}`];

/** What the deed of a stage keeps between its parts. */
const notes = new WeakMap<
  Stage,
  { heir?: Promise<string>; stop?: AbortController; id?: string; hold?: LockHold; ran?: boolean }
>();

const DEEDS: Readonly<Record<UndoCommand, Deed>> = {
  acquire: {
    keysOf: (name) => [name],
    before: () => Promise.resolve(),
    under: (stage) => lockOf(stage).lock(LONG_LEASE_MS, undefined, THREAD),
    left: (stage, outcome) => many(stage, THREAD, outcome === 'done' ? 1 : 0),
    after: (stage, told) => (told === 'done' ? lockOf(stage).unlock(THREAD) : Promise.resolve()),
  },
  're-enter': {
    keysOf: (name) => [name],
    before: (stage) => lockOf(stage).lock(LONG_LEASE_MS, undefined, THREAD),
    under: (stage) => lockOf(stage).lock(LONG_LEASE_MS, undefined, THREAD),
    left: (stage, outcome) => many(stage, THREAD, outcome === 'done' ? 2 : 1),
    after: async (stage, told) => {
      if (told === 'done') await lockOf(stage).unlock(THREAD);
      await lockOf(stage).unlock(THREAD).catch(ifLost);
    },
  },
  release: {
    keysOf: (name) => [name],
    before: (stage) => lockOf(stage).lock(LONG_LEASE_MS, undefined, THREAD),
    under: (stage) => lockOf(stage).unlock(THREAD),
    left: (stage) => many(stage, THREAD, 0),
    after: () => Promise.resolve(),
  },
  'release what was lost': {
    keysOf: (name) => [name],
    before: async (stage) => {
      const lost = new Promise((resolve) => stage.redisson.onLockLost(resolve));
      await lockOf(stage).lock(SHORT_LEASE_MS, undefined, THREAD);
      await lost;
      // As a renewal whose answer never came leaves it.
      const owner = `${stage.redisson.getId()}:${THREAD}`;
      await stage.direct.multi().hset(stage.name, owner, 1).pexpire(stage.name, LONG_LEASE_MS).exec();
    },
    under: (stage) => lockOf(stage).unlock(THREAD),
    left: (stage) => many(stage, THREAD, 0),
    after: () => Promise.resolve(),
  },
  'hand over': {
    keysOf: (name) => [name],
    before: async (stage) => {
      await lockOf(stage).lock(LONG_LEASE_MS, undefined, THREAD);
      const before = await scriptsRun(stage.direct);
      const stop = new AbortController();
      const heir = lockOf(stage).lock(LONG_LEASE_MS, undefined, { threadId: HEIR, signal: stop.signal });
      notes.set(stage, { heir: told(heir), stop });
      // One attempt before it listens, one behind that.
      await sleepUntil(async () => (await scriptsRun(stage.direct)) >= before + 2);
    },
    under: (stage) => lockOf(stage).unlock(THREAD),
    left: (stage) => many(stage, THREAD, 0),
    after: async (stage) => {
      const { heir, stop } = notes.get(stage)!;
      // The heir is no part of the error: it gets in, unless it found for itself that it cannot.
      if ((await heir) === 'done') await lockOf(stage).unlock(HEIR);
      stop!.abort();
    },
  },
  renew: {
    keysOf: (name) => [name],
    before: async (stage) => {
      notes.set(stage, { hold: await lockOf(stage).acquire({ threadId: THREAD }) });
    },
    // The error is there when a renewal is due, and passes within the lease.
    under: async () => {
      await sleep(WATCHDOG_MS / 3);
      // Another turn: after a stall the renewal is sent only now.
      await sleep(200);
    },
    left: () => Promise.resolve('-'),
    after: async (stage) => {
      const hold = notes.get(stage)!.hold!;
      const end = (): number => monotonicNow() + hold.remainingLeaseMs;
      const before = end();
      await sleepUntil(() => hold.signal.aborted || end() > before + 100, {
        timeout: WATCHDOG_MS,
        message: 'renewed, or lost',
      });
      // Kept, unless there is nothing to keep.
      expect(hold.signal.aborted).to.equal(stage.error === 'WRONGTYPE');
      if (hold.isHeld) await lockOf(stage).unlock(THREAD);
    },
  },
  'leave a queue': {
    keysOf: (name) => [name, ...queueOf(name)],
    before: async (stage) => {
      const fair = stage.redisson.getFairLock(stage.name);
      await fair.lock(LONG_LEASE_MS, undefined, THREAD);
      const before = await scriptsRun(stage.direct);
      const stop = new AbortController();
      notes.set(stage, { heir: told(fair.lock(-1, undefined, { threadId: HEIR, signal: stop.signal })), stop });
      await sleepUntil(async () => (await scriptsRun(stage.direct)) >= before + 2);
    },
    under: async (stage) => {
      const { heir, stop } = notes.get(stage)!;
      stop!.abort(Object.assign(new Error('enough'), { code: 'aborted' }));
      const outcome = await heir!;
      await sleep(50);
      throw Object.assign(new Error(outcome), { code: outcome });
    },
    left: async ({ direct, name }) => ((await direct.llen(queueOf(name)[0]!).catch(() => 0)) === 0 ? '-' : 'place'),
    after: (stage) => stage.redisson.getFairLock(stage.name).unlock(THREAD).catch(ifLost),
  },
  'take a permit': {
    keysOf: (name) => [name, `{${name}}:timeout`],
    before: (stage) => permitsOf(stage).trySetPermits(3),
    under: async (stage) => notes.set(stage, { id: await permitsOf(stage).acquire(LONG_LEASE_MS) }),
    left: (stage, outcome) => (outcome === 'done' ? Promise.resolve('-') : taken(stage)),
    after: async (stage) => {
      const { id } = notes.get(stage) ?? {};
      if (id !== undefined) await permitsOf(stage).release(id);
      await untilAllBack(stage);
    },
  },
  'return a permit': {
    keysOf: (name) => [name, `{${name}}:timeout`],
    before: async (stage) => {
      await permitsOf(stage).trySetPermits(3);
      notes.set(stage, { id: await permitsOf(stage).acquire(LONG_LEASE_MS) });
    },
    under: (stage) => permitsOf(stage).release(notes.get(stage)!.id!),
    left: (stage) => taken(stage),
    after: async (stage, outcome) => {
      // The caller knows its id, and tries again; a permit that is back is not found.
      if (outcome !== 'done') await permitsOf(stage).tryRelease(notes.get(stage)!.id!);
      await untilAllBack(stage);
    },
  },
  'set a lease': {
    keysOf: (name) => [name, `{${name}}:timeout`],
    before: async (stage) => {
      await permitsOf(stage).trySetPermits(3);
      notes.set(stage, { id: await permitsOf(stage).acquire(LONG_LEASE_MS) });
    },
    under: (stage) => permitsOf(stage).updateLeaseTime(notes.get(stage)!.id!, 2 * LONG_LEASE_MS),
    left: () => Promise.resolve('-'),
    after: async (stage) => {
      await permitsOf(stage).tryRelease(notes.get(stage)!.id!);
      await untilAllBack(stage);
    },
  },
  'take from a semaphore': {
    keysOf: (name) => [name],
    before: (stage) => semaphoreOf(stage).trySetPermits(3),
    under: (stage) => noting(stage, semaphoreOf(stage).acquire()),
    left: (stage, outcome) => lacking(stage, outcome === 'done' ? 2 : 3),
    after: async (stage, outcome) => {
      // Nobody can ask Redis who has it: the caller knows whether it may have one, and that is all.
      const mayHave = outcome === 'done' || notes.get(stage)!.ran === true;
      await untilAllThere(stage, mayHave && (await stage.direct.get(stage.name)) === '2');
    },
  },
  'give to a semaphore': {
    keysOf: (name) => [name],
    before: async (stage) => {
      await semaphoreOf(stage).trySetPermits(3, LIFE_MS);
      await semaphoreOf(stage).acquire();
    },
    under: (stage) => semaphoreOf(stage).release(),
    left: (stage) => lacking(stage, 3),
    after: async (stage, outcome) => {
      // It lives as long as it was set to, however the permit came back.
      if (stage.error !== 'WRONGTYPE') expect(await stage.direct.pttl(stage.name)).to.be.within(1, LIFE_MS);
      // A refusal has done nothing: its caller gives the permit back again. Nobody knows what a lost answer has done.
      await untilAllThere(stage, outcome === 'COMMAND');
    },
  },
};

/** Notes whether the command may have run, as its error says. */
async function noting(stage: Stage, work: Promise<void>): Promise<void> {
  notes.set(stage, {});
  await work.catch((error: Error & { readonly mayHaveRun?: boolean }) => {
    notes.set(stage, { ran: error.mayHaveRun! });
    throw error;
  });
}

async function lacking({ direct, name }: Stage, rightly: number): Promise<string> {
  const there = await direct.get(name).catch(() => null);
  return there === null || Number(there) === rightly ? '-' : 'permit';
}

async function untilAllThere(stage: Stage, release: boolean): Promise<void> {
  if ((await stage.direct.exists(stage.name)) === 0) return;
  if (release) await semaphoreOf(stage).release();
  await untilAllBack(stage);
}

async function taken({ direct, name }: Stage): Promise<string> {
  return (await direct.zcard(`{${name}}:timeout`).catch(() => 0)) === 0 ? '-' : 'permit';
}

async function untilAllBack(stage: Stage): Promise<void> {
  if ((await stage.direct.exists(stage.name)) === 0) return;
  await sleepUntil(async () => (await stage.direct.get(stage.name)) === '3', { timeout: SOON_MS, message: 'all back' });
  await stage.direct.del(stage.name);
}

/** How many scripts the server has run by their hashes. */
async function scriptsRun(direct: Redis): Promise<number> {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await direct.info('commandstats'))?.[1] ?? 0);
}

function ifLost(error: Error & { readonly code?: string }): void {
  if (error.code !== 'ILLEGAL_MONITOR_STATE') throw error;
}

/** `done`, or the code of the error. */
function told(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: Error & { readonly code?: string }) => error.code ?? error.message,
  );
}

/**
 * What the clients' tables still know of the locks. What may lie in a broken connection is looked for until its lease
 * has passed; its ownership is kept as long, without holds.
 */
function keptBy(opened: sinon.SinonSpy, error: UndoError, command: UndoCommand): string {
  // A missing right may show itself when the heir has the lock already.
  const halfDone = error === 'NOPERM' && command === 'hand over';
  const late = halfDone || error === 'no answer' || error === 'connection lost';
  const kept: string[] = [];
  for (const table of new Set(opened.thisValues as OwnershipTable[])) {
    for (const ownership of table.all()) {
      if (ownership.holds.length > 0) kept.push('a hold');
      if (ownership.lane.claimed) kept.push('an acquisition');
      if (ownership.lane.mustWait('alone')) kept.push('a release');
      if (!late) kept.push('an ownership with undos under way');
    }
  }
  return kept.join(', ');
}

describe('undo: every error of every command', () => {
  let server: RedisServer;
  let direct: Redis;
  let opened: sinon.SinonSpy;

  before(async () => {
    server = await RedisServer.start({ args: ['--lua-time-limit', '20'] });
  });

  after(() => server.stop());

  beforeEach(async () => {
    allowLeftovers({ keys: /./ });
    direct = connection(server.url);
    await direct.call('ACL', 'SETUSER', 'worker', 'on', '>secret', '+@all', 'allkeys', 'allchannels');
    await failSaves();
    opened = sinon.spy(OwnershipTable.prototype, 'open');
  });

  /** From now on the server says MISCONF to writers, as soon as it is told to mind. */
  async function failSaves(): Promise<void> {
    const [, folder] = (await direct.config('GET', 'dir')) as [string, string];
    if (fs.existsSync(path.join(folder, 'dump.rdb'))) return;
    await direct.config('SET', 'stop-writes-on-bgsave-error', 'no');
    // The snapshot cannot be put in the place of a folder.
    fs.mkdirSync(path.join(folder, 'dump.rdb'));
    await direct.config('SET', 'save', '3600 1');
    await direct.bgsave();
    await sleepUntil(async () => (await direct.info('persistence')).includes('rdb_last_bgsave_status:err'));
  }

  async function open(error: UndoError, keysOf: Deed['keysOf']): Promise<Stage> {
    const proxy = trackClient(await TcpProxy.start(server.url));
    const url = proxy.url.replace('redis://', 'redis://worker:secret@');
    const settings = { timeout: 400, retryAttempts: 0, lockWatchdogTimeout: WATCHDOG_MS };
    const name = uniqueName('undo');
    return { server, proxy, direct, redisson: client(url, settings), name, error, keys: keysOf(name) };
  }

  /** Has every script known, so that an EVALSHA is the script itself. */
  async function loadScripts({ redisson }: Stage): Promise<void> {
    const name = uniqueName('warm');
    for (const lock of [redisson.getLock(name), redisson.getFairLock(name)]) {
      await lock.lock(LONG_LEASE_MS, undefined, 1);
      await lock.lock(LONG_LEASE_MS, undefined, 1);
      await lock.unlock(1);
      await lock.unlock(1);
    }
    const permits = redisson.getPermitExpirableSemaphore(name);
    await permits.trySetPermits(1);
    const id = await permits.acquire();
    await permits.updateLeaseTime(id, LONG_LEASE_MS);
    await permits.release(id);
    await permits.delete();
    const semaphore = redisson.getSemaphore(name);
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    await semaphore.release();
    await semaphore.delete();
    await direct.script('LOAD', handOverLock.lua);
  }

  it('is what test/promises/reliability.md says', () => {
    const text = fs.readFileSync(path.resolve(__dirname, '../promises/reliability.md'), 'utf8');
    const rows = text.split('\n').map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
    for (const row of undoTableRows()) expect(rows).to.deep.include(row);
  });

  for (const error of ERRORS) {
    describe(error, () => {
      COMMANDS.forEach((command, i) => {
        it(`${command}: leaves nothing behind, and tells what is true`, async () => {
          const deed = DEEDS[command];
          const stage = await open(error, deed.keysOf);
          await loadScripts(stage);
          await deed.before(stage);
          const repair = await FAILURES[error](stage);
          const outcome = await told(deed.under(stage));
          const left = repair.blind === true ? '?' : await deed.left(stage, outcome);
          await repair.heal();
          await deed.after(stage, outcome);
          await sleepUntil(async () => (await direct.exists(...stage.keys)) === 0, {
            timeout: SOON_MS,
            message: `nothing left (${outcome}, ${left})`,
          });
          expect(`${outcome}, ${left}`).to.equal(TABLE[error][i]);
          await sleepUntil(() => keptBy(opened, error, command) === '', {
            message: `nothing kept, but ${keptBy(opened, error, command)}`,
          });
        });
      });
    });
  }
});
