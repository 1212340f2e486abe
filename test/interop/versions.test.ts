import { expect } from 'chai';
import { RedisCluster } from '../support/RedisCluster';
import { uniqueName } from '../support/uniqueName';
import { ClusterProbe } from './support/ClusterProbe';
import { JavaRedisson } from './support/JavaRedisson';
import { EXCLUSIVE_LOCKS, type LockKind } from './support/kinds';
import { outcomeOf } from './support/outcome';
import { at } from './support/paths';
import type { Peer } from './support/Peer';
import type { PeerThread } from './support/PeerThread';
import { openNodeSide, type Side, Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { isBefore, OLDER } from './support/toolchain';
import { startWaiting, untilRenewed, WATCHDOG_MS, WOKEN_MS } from './support/waiting';

// Every version: what a rolling upgrade of the Java services relies on. What an old version cannot share by its design
// is tested, too, as docs/interop.md tells it.
for (const version of OLDER) {
  describeWithJava(
    `interop: Redisson ${version}`,
    () => {
      let stage: Stage;
      let name: string;

      before(async () => {
        stage = await Stage.open({ version, config: { lockWatchdogTimeout: WATCHDOG_MS, fairLockWaitTimeout: 3000 } });
      });

      after(async () => {
        await stage?.close();
        await JavaRedisson.closeShared(version);
      });

      beforeEach(() => {
        name = uniqueName();
      });

      const kinds = EXCLUSIVE_LOCKS.filter((kind) => kind.since === undefined || !isBefore(version, kind.since));
      for (const kind of kinds) lockSuite(kind);

      function lockSuite(kind: LockKind): void {
        bothWays(`${kind.title}: excludes, wakes, expires, opens by force`, async (first, second) => {
          const path = kind.path(name);
          const [holder, waiter] = [stage.peer(first).thread('holder'), stage.peer(second).thread('waiter')];
          await holder.call(path, 'lock');
          expect(await waiter.call(path, 'tryLock')).to.equal(false);
          const waiting = await startWaiting(stage.probe, kind, name, waiter);
          const unlocked = await holder.timed(path, 'unlock');
          expect((await waiting.done).endedAt - unlocked.startedAt).to.be.within(0, WOKEN_MS);
          expect(await outcomeOf(holder.call(path, 'unlock'))).to.equal('IllegalMonitorState');
          expect(await stage.peer(first).call(path, 'forceUnlock')).to.equal(true);
          // Before 3.32 a Java waiter for a fair lock that looks just too early sleeps until somebody unlocks.
          if (second === 'java' && /fair/.test(kind.title) && isBefore(version, '3.32.0')) return;
          const held = await holder.timed(path, 'tryLock', 0, 300, 'MILLISECONDS');
          expect(held.result).to.equal(true);
          expect((await waiter.timed(path, 'lock')).endedAt - held.endedAt).to.be.below(300 + WOKEN_MS);
          await waiter.call(path, 'unlock');
          expect(await stage.probe.keysLeft(name, second)).to.deep.equal(kind.leaves(name));
        });
      }

      bothWays('read/write lock: readers together, writers alone, leases of the other side respected', async (a, b) => {
        const [one, two] = [stage.peer(a).thread('one'), stage.peer(b).thread('two')];
        await one.call(at.read(name), 'lock', 20, 'SECONDS');
        await two.call(at.read(name), 'lock', 10, 'SECONDS');
        expect(await one.call(at.write(name), 'tryLock')).to.equal(false);
        await two.call(at.read(name), 'unlock');
        expect(await stage.probe.redis.pttl(name)).to.be.within(15_000, 20_000);
        const writing = two.timed(at.write(name), 'lock');
        await stage.probe.untilSubscribed(`redisson_rwlock:{${name}}`);
        const unlocked = await one.timed(at.read(name), 'unlock');
        expect((await writing).endedAt - unlocked.startedAt).to.be.within(0, WOKEN_MS);
        const reading = one.timed(at.read(name), 'lock');
        await stage.probe.untilSubscribed(`redisson_rwlock:{${name}}`);
        const written = await two.timed(at.write(name), 'unlock');
        expect((await reading).endedAt - written.startedAt).to.be.within(0, WOKEN_MS);
        await one.call(at.read(name), 'unlock');
      });

      bothWays('watchdogs, semaphore and latch', async (a, b) => {
        const [one, two] = [stage.peer(a).thread('one'), stage.peer(b).thread('two')];
        for (const path of [at.lock, at.read, at.fair]) await one.call(path(name + path.name), 'lock');
        const acquiring = two.timed(at.semaphore(`s-${name}`), 'acquire', 2);
        await stage.probe.untilSubscribed(`redisson_sc:{s-${name}}`);
        const released = await one.timed(at.semaphore(`s-${name}`), 'release', 2);
        expect((await acquiring).endedAt - released.startedAt).to.be.within(0, WOKEN_MS);
        await one.call(at.latch(`l-${name}`), 'trySetCount', 1);
        const awaiting = two.timed(at.latch(`l-${name}`), 'await', 20, 'SECONDS');
        await stage.probe.untilSubscribed(`redisson_countdownlatch__channel__{l-${name}}`);
        const counted = await one.timed(at.latch(`l-${name}`), 'countDown');
        expect((await awaiting).endedAt - counted.startedAt).to.be.within(0, WOKEN_MS);
        const held = [at.lock, at.read, at.fair];
        await Promise.all(held.map((path) => untilRenewed(() => stage.probe.redis.pttl(name + path.name), 1)));
        for (const path of held) {
          expect(await two.call(path(name + path.name), 'isLocked'), path.name).to.equal(true);
          await one.call(path(name + path.name), 'unlock');
        }
      });

      bothWays('permits that expire', async (a, b) => {
        const permits = at.permits(name);
        await stage.peer(a).call(permits, 'trySetPermits', 1);
        // Where the other side has to wait for its end it is short.
        const leaseMs = isBefore(version, '3.17.0') ? 2500 : 30_000;
        const id = await stage.peer(a).call<string>(permits, 'acquire', leaseMs, 'MILLISECONDS');
        expect(await stage.peer(b).call(permits, 'availablePermits')).to.equal(0);
        if (isBefore(version, '3.17.0')) {
          // The id is stored as text before 3.17, as 16 bytes since: neither knows the other's.
          const stored = (await stage.probe.redis.call('ZRANGE', `{${name}}:timeout`, '0', '-1')) as string[];
          expect(stored.includes(id)).to.equal(a === 'java');
          expect(await stage.peer(b).call(permits, 'tryRelease', id)).to.equal(false);
          // What runs out is counted back by either, all the same.
          expect(await stage.peer(b).call(permits, 'acquire', 60, 'SECONDS')).to.match(/^[0-9a-f]{32}$/);
        } else {
          expect(await stage.peer(b).call(permits, 'tryRelease', id)).to.equal(true);
          expect(await stage.peer(a).call(permits, 'availablePermits')).to.equal(1);
        }
      });

      it('a NameMapper gives the same keys, except where the version did not map them', async () => {
        const settings = { nameMapperPrefix: 'app:' };
        const [java, node] = await Promise.all([stage.guest('java', settings), stage.guest('node', settings)]);
        await java.call(at.lock(name), 'lock');
        expect(await node.call(at.lock(name), 'tryLock')).to.equal(false);
        await java.call(at.fair(`f-${name}`), 'lock');
        const queued = java.thread('queued').call(at.fair(`f-${name}`), 'lock');
        await stage.probe.untilKey(new RegExp(`redisson_lock_queue:.*${name}`));
        const queues = await stage.probe.keys();
        // Before 3.52 the queue of a fair lock was named after the name as given.
        const queue = isBefore(version, '3.52.0') ? `{f-${name}}` : `{app:f-${name}}`;
        expect(queues).to.include(`redisson_lock_queue:${queue}`);
        await java.call(at.fair(`f-${name}`), 'unlock');
        await queued;
        await java.thread('queued').call(at.fair(`f-${name}`), 'unlock');
        await java.call(at.lock(name), 'unlock');
      });
    },
    version,
  );

  describeWithJava(`interop: Redisson ${version} and a cluster of Redis 7`, () => clusterSuite(version), version);
}

/** Sharded pub/sub came with 3.22: an older Java needs `OFF` on the Node side. */
function clusterSuite(version: string): void {
  let cluster: RedisCluster;
  let probe: ClusterProbe;
  let jvm: JavaRedisson;
  let local: Awaited<ReturnType<typeof openNodeSide>>;

  before(async () => {
    [cluster, jvm, local] = await Promise.all([RedisCluster.start(), JavaRedisson.start({ version }), openNodeSide()]);
    probe = await ClusterProbe.open(cluster);
  });

  after(async () => {
    await Promise.all([jvm?.close(), local?.close()]);
    await probe?.close();
    await cluster?.stop();
  });

  /**
   * How this version wakes on that cluster. 3.22 to 3.27 ask the first node they meet in a way that only the owner of
   * slot 0 answers, so there it has to be looked at.
   */
  async function isJavaSharded(java: Peer): Promise<boolean> {
    const name = uniqueName();
    await java.thread('holder').call(at.lock(name), 'lock');
    const waiting = java.thread('waiter').call(at.lock(name), 'lock');
    const channel = `redisson_lock__channel:{${name}}`;
    await probe.untilSubscribed(channel, 'java');
    const sharded = await probe.isSharded(channel);
    await java.thread('holder').call(at.lock(name), 'unlock');
    await waiting;
    await java.thread('waiter').call(at.lock(name), 'unlock');
    return sharded;
  }

  bothWays('waiters are woken when both publish in the same way', async (first: Side, second: Side) => {
    const base = { mode: 'cluster', addresses: cluster.urls } as const;
    const java = await jvm.peer(base);
    const sharded = await isJavaSharded(java);
    if (isBefore(version, '3.22.0')) expect(sharded).to.equal(false);
    if (!isBefore(version, '3.28.0')) expect(sharded).to.equal(true);
    // AUTO finds sharded pub/sub here.
    const node = await local.peer({ ...base, shardedSubscriptionMode: sharded ? 'AUTO' : 'OFF' });
    const name = uniqueName();
    const [holder, waiter] = [first, second].map((side) => (side === 'java' ? java : node).thread('t')) as [
      PeerThread,
      PeerThread,
    ];
    await holder.call(at.lock(name), 'lock');
    const waiting = waiter.timed(at.lock(name), 'lock');
    const channel = `redisson_lock__channel:{${name}}`;
    await probe.untilSubscribed(channel, second);
    const unlocked = await holder.timed(at.lock(name), 'unlock');
    expect((await waiting).endedAt - unlocked.startedAt).to.be.within(0, WOKEN_MS);
    await waiter.call(at.lock(name), 'unlock');
    await Promise.all([java.shutdown(), node.shutdown()]);
  });
}
