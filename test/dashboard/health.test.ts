import { expect } from 'chai';
import { Redis } from 'ioredis';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { Registry } from 'prom-client';
import { type Config, Redisson, type RedissonOptions } from '../../lib';
import { collectLockMetrics } from '../../lib/integrations/prometheus';
import { createDashboard } from '../../lib/operators/dashboard';
import type { HealthView } from '../../lib/operators/dashboard/wire';
import type { Finding } from '../../lib/operators/doctor';
import { Inspector } from '../../lib/operators/inspection';
import { ensureBuilt } from '../../tools/buildOutput';
import { cli, type CliEnd } from '../cli/support/CliProcess';
import {
  RedisCluster,
  RedisServer,
  ReplicatedRedis,
  sleep,
  sleepUntil,
  TcpProxy,
  trackClient,
  uniqueName,
} from '../support';
import { clusterConfig, sentinelConfig } from '../support/topologyConfigs';
import { ask, serve } from './support/world';

/** A page that is always open, on a server of its own. */
async function open(config: string | Config | RedissonOptions): Promise<() => Promise<HealthView>> {
  const redisson = trackClient(Redisson.create(config));
  const base = await serve(trackClient(createDashboard({ redisson, watchAlways: true })));
  const health = async (): Promise<HealthView> => JSON.parse((await ask(`${base}/api/health`)).text) as HealthView;
  await sleepUntil(async () => (await health()).state === 'ok', { timeout: 20_000 });
  return health;
}

/** Takes locks that the watchdog renews. @returns their names */
async function hold(config: string | Config, count = 3): Promise<readonly string[]> {
  const holder = trackClient(Redisson.create(config));
  const names = Array.from({ length: count }, () => uniqueName());
  for (const name of names) await holder.getLock(name).lock();
  return names.sort();
}

/** Short sections, one after the other: what comes and goes all the time. */
function work(config: string | Config, count = 6): void {
  const worker = trackClient(Redisson.create(config));
  const run = async (name: string): Promise<void> => {
    for (;;) {
      await worker.getLock(name).withLock(() => sleep(30));
      await sleep(10);
    }
  };
  for (let i = 0; i < count; i++) void run(uniqueName()).catch(() => undefined);
}

/** Two scans: what was taken before them is known. */
const SCANNED_MS = 2_500;
/** From the end of an outage on. */
const BACK_MS = 3_000;

type Scenes = Readonly<Record<string, () => Promise<void>>>;

/**
 * Scenes that mostly wait: they are played before the first test, and each test tells how its own has ended.
 * @param together - all at once
 * @param lanes - beside them, in each lane one after the other
 */
function sideBySide(together: Scenes, ...lanes: readonly Scenes[]): void {
  const ended = new Map<string, Promise<void>>();
  const start = (title: string, scene: () => Promise<void>): Promise<unknown> => {
    const end = scene();
    ended.set(title, end);
    return end.catch(() => undefined);
  };
  before(async () => {
    ensureBuilt();
    const all = Object.entries(together).map(([title, scene]) => start(title, scene));
    const others = lanes.map(async (lane) => {
      for (const [title, scene] of Object.entries(lane)) await start(title, scene);
    });
    await Promise.all([...all, ...others]);
  });
  for (const title of [together, ...lanes].flatMap((scenes) => Object.keys(scenes))) {
    it(title, () => ended.get(title));
  }
}

const register = new Registry();

/** What Prometheus reads: how often that happened to a lock. */
async function counted(counter: string, lock: string, outcome = ''): Promise<number> {
  const series = `^ioredisson_lock_${counter}_total\\{[^}]*name="${lock}"[^}]*${outcome}[^}]*\\} (\\d+)$`;
  return Number(new RegExp(series, 'm').exec(await register.metrics())?.[1] ?? 0);
}

/** What a shell shows, one command after the other. */
async function shell<const C extends string>(
  url: string,
  commands: Readonly<Record<C, readonly string[]>>,
): Promise<Readonly<Record<C, CliEnd>>> {
  const ends: [string, CliEnd][] = [];
  for (const [name, args] of Object.entries<readonly string[]>(commands)) {
    ends.push([name, await cli(args, { env: { REDIS_URL: url } })]);
  }
  return Object.fromEntries(ends) as Readonly<Record<C, CliEnd>>;
}

/** The line of `top` for what is wrong with Redis; empty if nothing is. */
function troubleLine({ stdout }: CliEnd): string {
  return stdout.split('\n')[1]!;
}

/** What the doctor says of taking a lock. */
function lockCheck({ stdout }: CliEnd): Finding {
  return (JSON.parse(stdout) as Finding[]).find(({ check }) => check === 'lock')!;
}

/** With SCENE_TIMES=1: prints how long after something has happened the page says it. @param since - monotonic */
function measured(what: string, since: number): void {
  if (process.env['SCENE_TIMES'] === undefined) return;
  console.log(`${what}: ${((performance.now() - since) / 1_000).toFixed(1)} s`);
}

/** Until it is well again, in ms. */
async function wellAgain(health: () => Promise<HealthView>): Promise<number> {
  const startedAt = performance.now();
  await sleepUntil(async () => (await health()).state === 'ok', { timeout: 20_000, interval: 50 });
  return performance.now() - startedAt;
}

/** What happens to a server so that it refuses every lock, and what ends it. */
const REFUSALS: Readonly<Record<string, readonly [begin: (admin: Redis) => unknown, end: (admin: Redis) => unknown]>> =
  {
    OOM: [(admin) => admin.config('SET', 'maxmemory', '1'), (admin) => admin.config('SET', 'maxmemory', '0')],
    NOREPLICAS: [
      (admin) => admin.config('SET', 'min-replicas-to-write', '1'),
      (admin) => admin.config('SET', 'min-replicas-to-write', '0'),
    ],
    READONLY: [(admin) => admin.replicaof('127.0.0.1', 1), (admin) => admin.replicaof('NO', 'ONE')],
    MISCONF: [
      async (admin) => {
        const folder = mkdtempSync(path.join(tmpdir(), 'ioredisson-gone-'));
        await admin.config('SET', 'dir', folder, 'save', '3600 1');
        rmSync(folder, { recursive: true });
        await admin.bgsave();
      },
      // Else it would not end, since it cannot save.
      (admin) => admin.config('SET', 'stop-writes-on-bgsave-error', 'no', 'save', ''),
    ],
    NOPERM: [(admin) => admin.acl('SETUSER', 'app', '-@write'), (admin) => admin.acl('SETUSER', 'app', '+@write')],
  };

/** How long an outage may last, in s. The longest one is for the night: 40 s is longer than a lease, too. */
const OUTAGES = [0.1, 0.5, 1.5, 3, 5, 8, 10, 15, 23, 40, ...(process.env['NIGHTLY'] === '1' ? [60] : [])];
/** A lease that does not end during a test, in ms. */
const NO_END_MS = 600_000;

/** A restart that loses all: said with names, and well again in time. */
async function restartWithoutData(seconds: number): Promise<void> {
  const server = trackClient(await RedisServer.start());
  const health = await open(server.url);
  const names = await hold(server.url);
  await sleep(SCANNED_MS);
  await server.kill();
  await sleep(seconds * 1_000);
  await server.restart();
  const backAt = performance.now();
  const backAfterMs = await wellAgain(health);
  const { lost } = await sleepUntil(
    async () => {
      const view = await health();
      return view.lost === undefined ? undefined : view;
    },
    { timeout: 5_000, message: `the loss after ${seconds} s is said` },
  );
  measured(`a restart after ${seconds} s, well again ${Math.round(backAfterMs)} ms`, backAt);
  expect(lost).to.include({ locks: 3, certain: true });
  expect([...lost!.names].sort()).to.deep.equal(names);
  expect(backAfterMs, 'well again').to.be.at.most(BACK_MS);
  for (const name of names) {
    await sleepUntil(async () => (await counted('lost', name)) === 1, { message: `the metrics count ${name} as lost` });
  }
}

/** A page on a server that keeps its data, short sections, and something that happens: nothing may be said of it. */
async function keepsAll(happen: (server: RedisServer) => Promise<void>): Promise<void> {
  const server = trackClient(await RedisServer.start({ args: ['--appendonly', 'yes'] }));
  const health = await open(server.url);
  await hold(server.url);
  work(server.url);
  await sleep(SCANNED_MS);
  await happen(server);
  await wellAgain(health);
  await sleep(SCANNED_MS);
  expect(await health())
    .to.include({ state: 'ok' })
    .and.not.to.have.property('lost');
}

/** A failover. @returns what was not replicated, and what the page says */
async function failover(isBehind: boolean): Promise<{ names: readonly string[]; lost: HealthView['lost'] }> {
  const group = trackClient(await ReplicatedRedis.start({ replicas: 1, sentinels: 2 }));
  const config = (): Config => sentinelConfig(group).setCheckLockSyncedSlaves(false).setLockWatchdogTimeout(NO_END_MS);
  const health = await open(config());
  await hold(config());
  // Of sections that happen to be the same in two looks nobody knows whether they have ended.
  if (!isBehind) work(config());
  await sleep(SCANNED_MS);
  const { port } = group.master;
  let names: readonly string[] = [];
  if (isBehind) {
    const admin = trackClient(new Redis(group.master.url));
    await admin.acl('SETUSER', 'default', '-psync', '-sync');
    await admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
    admin.disconnect();
    names = await hold(config(), 7);
    await sleep(SCANNED_MS);
  }
  await group.master.kill();
  await group.untilMasterIsNot(port);
  const failedOverAt = performance.now();
  await wellAgain(health);
  if (isBehind) {
    await sleepUntil(async () => (await health()).lost !== undefined, { timeout: 10_000, message: 'a loss is said' });
    measured('a failover', failedOverAt);
  } else await sleep(SCANNED_MS);
  return { names, lost: (await health()).lost };
}

/** Every tool says that a server refuses locks, and why; none does when that is over. */
async function refusal(code: string): Promise<void> {
  const [begin, end] = REFUSALS[code]!;
  const server = trackClient(await RedisServer.start({ args: ['--enable-protected-configs', 'yes'] }));
  const admin = trackClient(new Redis(server.url));
  await admin.acl('SETUSER', 'app', 'on', '>pw', '~*', '&*', '+@all');
  const url = server.url.replace('redis://', 'redis://app:pw@');
  const health = await open(url);
  await begin(admin);
  const begunAt = performance.now();
  const text = new RegExp(`^Redis answers, but refuses locks: ${code}, `);
  const { state } = await sleepUntil(
    async () => {
      const view = await health();
      return text.test(view.message) ? view : undefined;
    },
    { timeout: 10_000, interval: 100, message: `${code} is said` },
  );
  measured(code, begunAt);
  expect(state).to.equal('refused');
  const inspector = trackClient(Inspector.open(url));
  expect((await inspector.health()).refuses).to.match(text);
  expect(await inspector.list()).to.deep.equal([]);
  expect(await admin.dbsize()).to.equal(0);

  const commands = {
    list: ['list', '--json'],
    inspect: ['inspect', 'a'],
    top: ['top', '--count', '1'],
    doctor: ['doctor', '--json'],
  } as const;
  const refused = await shell(url, commands);
  const onStderr = new RegExp(`^ioredisson: Redis answers, but refuses locks: ${code}, .+ What to do: .+\\n$`);
  expect(refused.list).to.include({ code: 0, stdout: '[]\n' });
  expect(refused.list.stderr).to.match(onStderr);
  expect(refused.inspect.code).to.equal(1);
  expect(refused.inspect.stderr).to.match(onStderr);
  expect(troubleLine(refused.top)).to.match(text);
  expect(refused.doctor.code).to.equal(2);
  expect(lockCheck(refused.doctor)).to.include({ status: 'error' });
  const lock = uniqueName();
  const caller = trackClient(Redisson.create({ url, retryAttempts: 0 }));
  expect(
    await caller
      .getLock(lock)
      .tryLock()
      .catch(() => false),
  ).to.equal(false);
  expect(await counted('acquisitions', lock, 'outcome="error"')).to.equal(1);

  await end(admin);
  await wellAgain(health);
  await sleepUntil(async () => (await inspector.health()).refuses === undefined, { timeout: 3_000 });
  const well = await shell(url, commands);
  for (const tool of ['list', 'inspect', 'top'] as const) expect(well[tool].stderr, tool).to.equal('');
  expect(troubleLine(well.top)).to.equal('');
  expect(lockCheck(well.doctor)).to.include({ status: 'ok' });
}

describe('the health of Redis is true', function () {
  this.timeout(240_000);
  let stop: () => void;
  before(() => (stop = collectLockMetrics({ register, nameOf: (name) => name })));
  after(() => stop());

  const restarts = Object.fromEntries(
    OUTAGES.map((seconds) => [
      `a restart that lost all locks, after ${seconds} s: said, with names, and well again within 3 s`,
      () => restartWithoutData(seconds),
    ]),
  );
  const refusals = Object.fromEntries(
    Object.keys(REFUSALS).map((code) => [
      `${code}: every tool says within 10 s that locks are refused, without taking one; not any more when it is over`,
      () => refusal(code),
    ]),
  );
  sideBySide(restarts, refusals, {
    'a restart that kept all: nothing is said': () =>
      keepsAll(async (server) => {
        await server.kill();
        await sleep(1_000);
        await server.restart();
      }),
    'a server that was frozen: nothing is said afterwards': () =>
      keepsAll(async (server) => {
        server.pause();
        await sleep(5_000);
        server.resume();
      }),
    'a cut line, and a lock that is given back meanwhile: nothing is said': async () => {
      const server = trackClient(await RedisServer.start());
      const proxy = trackClient(await TcpProxy.start(server.url));
      const health = await open(proxy.url);
      const holder = trackClient(Redisson.create(server.url));
      const lock = holder.getLock(uniqueName());
      await lock.lock();
      await sleep(SCANNED_MS);
      proxy.refuse();
      proxy.cut();
      await sleepUntil(async () => (await health()).state !== 'ok');
      // It is given back while the page cannot see it.
      await lock.unlock();
      await proxy.pass();
      await wellAgain(health);
      await sleep(SCANNED_MS);
      expect(await health()).not.to.have.property('lost');
    },
    'a failover that lost nothing: nothing is said': async () => {
      expect((await failover(false)).lost).to.equal(undefined);
    },
    'a failover to a replica that was behind: may have lost what that did not have, and nothing else': async () => {
      const { names, lost } = await failover(true);
      expect(lost).to.include({ certain: false, locks: names.length });
      expect(lost!.names).to.have.lengthOf(5);
      expect(names).to.include.members([...lost!.names]);
    },
    'a cluster without one of its masters: CLUSTERDOWN, though the others answer': async () => {
      const cluster = trackClient(await RedisCluster.start());
      const health = await open(clusterConfig(cluster));
      await cluster.masters[2]!.kill();
      const killedAt = performance.now();
      await sleepUntil(async () => /refuses locks: CLUSTERDOWN/.test((await health()).message), {
        timeout: 15_000,
        message: 'CLUSTERDOWN is said',
      });
      measured('CLUSTERDOWN', killedAt);
    },
  });
});

describe('the health of Redis, for a user with few rights', function () {
  this.timeout(60_000);

  it('a user that only looks, as docs/security.md has it, is told of nothing', async () => {
    const server = trackClient(await RedisServer.start());
    const admin = trackClient(new Redis(server.url));
    const [holder] = [Redisson.create(server.url)].map(trackClient) as [Redisson];
    await holder.getLock('app:1').lock();
    const rules = [
      ...'~app:* ~{app:* ~redisson_lock_queue:{app:* ~redisson_lock_timeout:{app:* ~redisson_lock_claim:{app:*'.split(
        ' ',
      ),
      ...'~redisson_lock_token:{app:* +scan +type +pttl +exists +get +getrange +hlen +hscan +hgetall +lrange'.split(
        ' ',
      ),
      ...'+zcard +zrange +pubsub|numsub +pubsub|channels +client|list +eval +evalsha +ping'.split(' '),
      ...'&ioredisson:client:* &ioredisson:answer:* +publish +subscribe +unsubscribe'.split(' '),
    ];
    await admin.acl('SETUSER', 'ops', 'reset', 'on', '>pw', ...rules);
    const inspector = trackClient(Inspector.open(server.url.replace('redis://', 'redis://ops:pw@')));
    expect((await inspector.list()).map(({ name }) => name)).to.deep.equal(['app:1']);
    expect(await inspector.health()).to.deep.equal({});
    // Who may read no key at all sees no lock, and is told why.
    await admin.acl('SETUSER', 'blind', 'reset', 'on', '>pw', '&*', '+@all');
    const blind = trackClient(Inspector.open(server.url.replace('redis://', 'redis://blind:pw@')));
    expect(await blind.list()).to.deep.equal([]);
    expect((await blind.health()).denied).to.match(/^This user may read none of the 1 keys/);
  });
});
