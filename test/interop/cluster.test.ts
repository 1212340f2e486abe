import { expect } from 'chai';
import { RedisCluster } from '../support/RedisCluster';
import { uniqueName } from '../support/uniqueName';
import { ClusterProbe } from './support/ClusterProbe';
import { JavaRedisson } from './support/JavaRedisson';
import { at, type Path } from './support/paths';
import type { Peer, PeerConfig } from './support/Peer';
import type { PeerThread } from './support/PeerThread';
import { openNodeSide, type Side } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { untilRenewed, WATCHDOG_MS, WOKEN_MS } from './support/waiting';

/** Something that waits: what it waits for, where, and what lets it in. */
interface Wait {
  readonly title: string;
  readonly path: (name: string) => Path;
  readonly channel: (name: string, waiter: string) => string;
}

const WAITS: readonly Wait[] = [
  { title: 'a lock', path: at.lock, channel: (name) => `redisson_lock__channel:{${name}}` },
  { title: 'a fair lock', path: at.fair, channel: (name, waiter) => `redisson_lock__channel:{${name}}:${waiter}` },
  { title: 'a fenced lock', path: at.fenced, channel: (name) => `redisson_lock__channel:{${name}}` },
  { title: 'a write lock', path: at.write, channel: (name) => `redisson_rwlock:{${name}}` },
];

describeWithJava('interop: a cluster of Redis 7', () => {
  let cluster: RedisCluster;
  let probe: ClusterProbe;
  let local: Awaited<ReturnType<typeof openNodeSide>>;

  before(async () => {
    cluster = await RedisCluster.start();
    probe = await ClusterProbe.open(cluster);
    local = await openNodeSide();
  });

  after(async () => {
    await local?.close();
    await probe?.close();
    await cluster?.stop();
  });

  for (const mode of ['AUTO', 'ON', 'OFF'] as const) {
    describe(`with sharded pub/sub ${mode}`, () => {
      let java: Peer;
      let node: Peer;

      before(async () => {
        const config: PeerConfig = { mode: 'cluster', addresses: cluster.urls, shardedSubscriptionMode: mode };
        const jvm = await JavaRedisson.shared();
        [java, node] = await Promise.all([jvm.peer(config), local.peer(config)]);
      });

      after(async () => {
        await Promise.all([java?.shutdown(), node?.shutdown()]);
      });

      const peer = (side: 'java' | 'node'): Peer => (side === 'java' ? java : node);

      async function untilSubscribed(channel: string, waiter: Side): Promise<void> {
        await probe.untilSubscribed(channel, waiter);
        expect(await probe.isSharded(channel)).to.equal(mode !== 'OFF');
      }

      for (const { title, path, channel } of WAITS) {
        bothWays(`a waiter for ${title} is in as soon as the holder unlocks`, async (first, second) => {
          // Several names, so that every master has its turn.
          for (const name of [uniqueName(), uniqueName(), uniqueName()]) {
            const holder: PeerThread = peer(first).thread('holder');
            const waiter: PeerThread = peer(second).thread('waiter');
            await holder.call(path(name), 'lock');
            expect(await waiter.call(path(name), 'tryLock')).to.equal(false);
            const owner = await waiter.owner();
            const waiting = waiter.timed(path(name), 'lock');
            await untilSubscribed(channel(name, owner), second);
            const unlocked = await holder.timed(path(name), 'unlock');
            expect((await waiting).endedAt - unlocked.startedAt).to.be.within(0, WOKEN_MS);
            await waiter.call(path(name), 'unlock');
          }
        });
      }

      bothWays('semaphores, permits and latches wake the other side', async (first, second) => {
        const name = uniqueName();
        const [giver, taker] = [peer(first).thread('giver'), peer(second).thread('taker')];
        const acquiring = taker.timed(at.semaphore(name), 'acquire', 2);
        await untilSubscribed(`redisson_sc:{${name}}`, second);
        const released = await giver.timed(at.semaphore(name), 'release', 2);
        expect((await acquiring).endedAt - released.startedAt).to.be.within(0, WOKEN_MS);

        const permits = at.permits(`p-${name}`);
        await giver.call(permits, 'trySetPermits', 1);
        const id = await giver.call<string>(permits, 'acquire');
        const taking = taker.timed<string>(permits, 'acquire', 60, 'SECONDS');
        await untilSubscribed(`redisson_sc:{p-${name}}`, second);
        const given = await giver.timed(permits, 'release', id);
        expect((await taking).endedAt - given.startedAt).to.be.within(0, WOKEN_MS);

        const latch = at.latch(`l-${name}`);
        await giver.call(latch, 'trySetCount', 1);
        const awaiting = taker.timed(latch, 'await', 20, 'SECONDS');
        await untilSubscribed(`redisson_countdownlatch__channel__{l-${name}}`, second);
        const counted = await giver.timed(latch, 'countDown');
        expect((await awaiting).endedAt - counted.startedAt).to.be.within(0, WOKEN_MS);
      });

      bothWays('names with a hash tag keep all their keys in its slot', async (first, second) => {
        const name = `orders:{${uniqueName()}}`;
        const [holder, waiter] = [peer(first).thread('holder'), peer(second).thread('waiter')];
        for (const path of [at.fair, at.fenced, at.read, at.write]) {
          await holder.call(path(name), 'lock');
          expect(await waiter.call(at.write(name), 'isHeldByCurrentThread')).to.equal(false);
          await holder.call(path(name), 'unlock');
        }
        expect(await probe.keys()).to.deep.include(`redisson_lock_token:${name}`);
      });

      if (mode !== 'AUTO') return;

      bothWays('a multi-lock spans the masters', async (first, second) => {
        const names = [uniqueName(), uniqueName(), uniqueName(), uniqueName()];
        const multi = at.multi(...names.map((name) => at.lock(name)));
        await peer(first).thread('holder').call(multi, 'lock');
        for (const name of names) expect(await peer(second).call(at.lock(name), 'tryLock')).to.equal(false);
        await peer(first).thread('holder').call(multi, 'unlock');
        expect(await peer(second).thread('waiter').call(multi, 'tryLock')).to.equal(true);
        await peer(second).thread('waiter').call(multi, 'unlock');
      });

      it('the watchdog of each side keeps locks on every master', async () => {
        const config: PeerConfig = { mode: 'cluster', addresses: cluster.urls, lockWatchdogTimeout: WATCHDOG_MS };
        const jvm = await JavaRedisson.shared();
        const peers = await Promise.all([jvm.peer(config), local.peer(config)]);
        const held = peers.flatMap((one) => [1, 2, 3, 4].map(() => ({ one, name: uniqueName() })));
        await Promise.all(held.map(({ one, name }) => one.thread(name).call(at.lock(name), 'lock')));
        const seen = held.map(({ one, name }) => {
          const other = one.side === 'java' ? node : java;
          return untilRenewed(() => other.call(at.lock(name), 'remainTimeToLive'));
        });
        await Promise.all(seen);
        await Promise.all(held.map(({ one, name }) => one.thread(name).call(at.lock(name), 'unlock')));
        await Promise.all(peers.map((one) => one.shutdown()));
      });
    });
  }
});
