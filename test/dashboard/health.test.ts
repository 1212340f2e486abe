import { expect } from 'chai';
import { Redis } from 'ioredis';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { type Config, Redisson, type RedissonOptions } from '../../lib';
import { createDashboard } from '../../lib/operators/dashboard';
import type { HealthView } from '../../lib/operators/dashboard/wire';
import { Inspector } from '../../lib/operators/inspection';
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

/** Until it is well again, in ms. */
async function wellAgain(health: () => Promise<HealthView>): Promise<number> {
  const startedAt = performance.now();
  await sleepUntil(async () => (await health()).state === 'ok', { timeout: 20_000, interval: 50 });
  return performance.now() - startedAt;
}

describe('the health of Redis is true', function () {
  this.timeout(150_000);

  it('a restart that lost all locks: said, with names, whatever the outage lasted, and well again within 3 s', async () => {
    const outages = [0.1, 0.5, 1.5, 3, 5, 8, 10, 15, 23, 40, 60];
    const late: string[] = [];
    await Promise.all(
      outages.map(async (seconds) => {
        const server = trackClient(await RedisServer.start());
        const health = await open(server.url);
        const names = await hold(server.url);
        await sleep(SCANNED_MS);
        await server.kill();
        await sleep(seconds * 1_000);
        await server.restart();
        const backAfterMs = await wellAgain(health);
        const { lost } = await sleepUntil(
          async () => {
            const view = await health();
            return view.lost === undefined ? undefined : view;
          },
          { timeout: 5_000, message: `the loss after ${seconds} s is said` },
        );
        expect(lost, `${seconds} s`).to.include({ locks: 3, certain: true });
        expect([...lost!.names].sort(), `${seconds} s`).to.deep.equal(names);
        if (backAfterMs > BACK_MS) late.push(`${seconds} s: ${Math.round(backAfterMs)} ms`);
      }),
    );
    expect(late).to.deep.equal([]);
  });

  it('healthy twins: a restart that kept all, a cut line, a frozen server, short sections throughout: nothing is said', async () => {
    const appendOnly = { args: ['--appendonly', 'yes'] };
    const scenes: Record<string, (server: RedisServer) => Promise<void>> = {
      'a restart that kept all': async (server) => {
        await server.kill();
        await sleep(1_000);
        await server.restart();
      },
      'a frozen server': async (server) => {
        server.pause();
        await sleep(5_000);
        server.resume();
      },
    };
    await Promise.all([
      ...Object.entries(scenes).map(async ([title, happen]) => {
        const server = trackClient(await RedisServer.start(appendOnly));
        const health = await open(server.url);
        await hold(server.url);
        work(server.url);
        await sleep(SCANNED_MS);
        await happen(server);
        await wellAgain(health);
        await sleep(SCANNED_MS);
        expect(await health(), title)
          .to.include({ state: 'ok' })
          .and.not.to.have.property('lost');
      }),
      (async () => {
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
        expect(await health(), 'a cut line').not.to.have.property('lost');
      })(),
    ]);
  });

  it('a failover that lost nothing says nothing; one to a replica that was behind may have lost what it did not have', async () => {
    await Promise.all(
      [false, true].map(async (isBehind) => {
        const group = trackClient(await ReplicatedRedis.start({ replicas: 1, sentinels: 2 }));
        const config = (): Config => sentinelConfig(group).setCheckLockSyncedSlaves(false);
        const health = await open(config());
        await hold(config());
        work(config());
        await sleep(SCANNED_MS);
        const { port } = group.master;
        let names: readonly string[] = [];
        if (isBehind) {
          const admin = trackClient(new Redis(group.master.url));
          await admin.acl('SETUSER', 'default', '-psync', '-sync');
          await admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
          admin.disconnect();
          names = await hold(config());
          await sleep(SCANNED_MS);
        }
        await group.master.kill();
        await group.untilMasterIsNot(port);
        await wellAgain(health);
        await sleep(SCANNED_MS);
        const { lost } = await health();
        if (!isBehind) return expect(lost).to.equal(undefined);
        expect(lost).to.include({ certain: false });
        // Its first names: leases that were renewed behind the back of the replica may have ended there, too.
        expect(lost!.locks).to.be.at.least(names.length);
        expect(lost!.names).not.to.have.lengthOf(0);
        return undefined;
      }),
    );
  });
});

describe('a Redis that refuses locks is red', function () {
  this.timeout(90_000);

  /** What happens to a server, and what ends it. */
  const REFUSALS: Readonly<
    Record<string, readonly [begin: (admin: Redis) => unknown, end: (admin: Redis) => unknown]>
  > = {
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

  it('each refusal: said within 10 s, without a lock; not any more when it is over', async () => {
    await Promise.all(
      Object.entries(REFUSALS).map(async ([code, [begin, end]]) => {
        const server = trackClient(await RedisServer.start({ args: ['--enable-protected-configs', 'yes'] }));
        const admin = trackClient(new Redis(server.url));
        await admin.acl('SETUSER', 'app', 'on', '>pw', '~*', '&*', '+@all');
        const url = server.url.replace('redis://', 'redis://app:pw@');
        const health = await open(url);
        await begin(admin);
        const text = new RegExp(`^Redis answers, but refuses locks: ${code}, `);
        const { state } = await sleepUntil(
          async () => {
            const view = await health();
            return text.test(view.message) ? view : undefined;
          },
          { timeout: 10_000, interval: 100, message: `${code} is said` },
        );
        expect(state).to.equal('refused');
        const inspector = trackClient(Inspector.open(url));
        expect((await inspector.health()).refuses).to.match(text);
        expect(await inspector.list()).to.deep.equal([]);
        expect(await admin.dbsize()).to.equal(0);
        await end(admin);
        await wellAgain(health);
        await sleepUntil(async () => (await inspector.health()).refuses === undefined, { timeout: 3_000 });
      }),
    );
  });

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

  it('a cluster without one of its masters: CLUSTERDOWN, though the others answer', async () => {
    const cluster = trackClient(await RedisCluster.start());
    const health = await open(clusterConfig(cluster));
    await cluster.masters[2]!.kill();
    await sleepUntil(async () => /refuses locks: CLUSTERDOWN/.test((await health()).message), {
      timeout: 15_000,
      message: 'CLUSTERDOWN is said',
    });
  });
});
