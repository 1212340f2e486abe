// Ids in titles: test/README.md
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { sleepUntil } from '../support/sleepUntil';
import { TcpProxy } from '../support/TcpProxy';
import { uniqueName } from '../support/uniqueName';
import { at } from './support/paths';
import type { PeerThread } from './support/PeerThread';
import { type Side, Stage } from './support/Stage';
import { bothWays, describeWithJava } from './support/suites';
import { type Timed, WATCHDOG_MS, WOKEN_MS } from './support/waiting';

const WAIT = 3000;

describeWithJava('interop: the queue of a fair lock', () => {
  let stage: Stage;
  let name: string;

  before(async () => {
    // A Java waiter whose command gets no reply for so long gives up, and its `unlock` of a free fair lock succeeds.
    const timeout = 15_000;
    stage = await Stage.shared({ config: { lockWatchdogTimeout: WATCHDOG_MS, fairLockWaitTimeout: WAIT, timeout } });
  });

  beforeEach(() => {
    name = uniqueName();
  });

  const queue = (of = name): string => `redisson_lock_queue:{${of}}`;
  const timeouts = (): string => `redisson_lock_timeout:{${name}}`;

  /** Rejects after 20 s with the state of the queue. */
  async function inTime<T>(what: string, own: string, promise: Promise<T>): Promise<T> {
    const ended = new AbortController();
    const late = async (): Promise<never> => {
      await sleep(20_000, undefined, { signal: ended.signal });
      const { redis } = stage.probe;
      const owners = await redis.lrange(queue(own), 0, -1);
      const state = {
        now: Date.now(),
        held: await redis.hgetall(own),
        ttl: await redis.pttl(own),
        owners,
        scores: await redis.call('ZRANGE', `redisson_lock_timeout:{${own}}`, '0', '-1', 'WITHSCORES'),
        channels: await redis.pubsub('CHANNELS', `*${own}*`),
      };
      throw new Error(`not within 20 s: ${what}; ${JSON.stringify(state)}`);
    };
    try {
      return await Promise.race([promise, late()]);
    } finally {
      ended.abort();
    }
  }

  /** Queues the thread up behind all others. */
  async function enqueue(
    thread: PeerThread,
    method: string,
    args: readonly unknown[] = [],
    of = name,
  ): Promise<{ done: Promise<Timed<unknown>>; owner: string }> {
    const owner = await thread.owner();
    const done = thread.timed(at.fair(of), method, ...args);
    // The one that is killed is not asked for its outcome.
    done.catch(() => undefined);
    await sleepUntil(async () => (await stage.probe.redis.lrange(queue(of), -1, -1))[0] === owner);
    return { done, owner };
  }

  bothWays('serves waiters of both sides in the order of asking', async (first, second) => {
    const holder = stage.peer(first).thread('holder');
    await holder.call(at.fair(name), 'lock');
    const sides: Side[] = [second, first, second, first, first, second];
    const order: number[] = [];
    const threads = sides.map((side, index) => stage.peer(side).thread(`waiter-${index}`));
    const passing: Promise<void>[] = [];
    const owners: string[] = [];
    for (const [index, thread] of threads.entries()) {
      const { done, owner } = await enqueue(thread, 'lock');
      owners.push(owner);
      passing.push(
        done.then(async () => {
          order.push(index);
          await thread.call(at.fair(name), 'unlock');
        }),
      );
    }
    expect(await stage.probe.redis.lrange(queue(), 0, -1)).to.deep.equal(owners);
    await holder.call(at.fair(name), 'unlock');
    await Promise.all(passing);
    expect(order).to.deep.equal(sides.map((_, index) => index));
    expect(await stage.probe.keysLeft(name, second)).to.deep.equal([]);
  });

  it('a Java head that is slow is kept its turn, and only a claim that expires is left behind it', async () => {
    const { driver, peer } = await stage.spawn('java');
    const holder = stage.node.thread('holder');
    await holder.call(at.fair(name), 'lock');
    const slow = peer.thread('slow');
    const { done } = await enqueue(slow, 'lock');
    driver.process?.pause();
    await holder.call(at.fair(name), 'unlock');
    // The first check after the unlock gives the head a claim.
    const claims = `redisson_lock_claim:{${name}}`;
    await sleepUntil(async () => (await stage.probe.redis.exists(claims)) === 1);
    driver.process?.resume();
    await inTime('the slow one is in', name, done);
    await slow.call(at.fair(name), 'unlock');
    expect(await stage.probe.keysLeft(name, 'java')).to.deep.equal([]);
    await driver.kill();
  });

  bothWays('a newcomer does not get past a queue, even when the lock is free', async (first, second) => {
    const holder = stage.peer(first).thread('holder');
    await holder.call(at.fair(name), 'lock', 60, 'SECONDS');
    // The one in the queue asks again after so long.
    await stage.probe.redis.pexpire(name, 2500);
    const { done } = await enqueue(stage.peer(second).thread('queued'), 'lock');
    // Deleted, not unlocked: nobody is told.
    await stage.probe.redis.del(name);
    expect(await stage.peer(first).thread('newcomer').call(at.fair(name), 'tryLock')).to.equal(false);
    await done;
    await stage.peer(second).thread('queued').call(at.fair(name), 'unlock');
  });

  bothWays('a waiter that gives up moves those behind it up by its own wait', async (first, second) => {
    const waitMs = 2500;
    const holder = stage.peer(first).thread('holder');
    // Without renewals, which change the scores, and with time to read them before it leaves.
    await holder.call(at.fair(name), 'lock', 60, 'SECONDS');
    const leaving = await enqueue(stage.peer(second).thread('leaving'), 'tryLock', [waitMs, 'MILLISECONDS']);
    const behind = await enqueue(stage.peer(first).thread('behind'), 'lock');
    const before = Number(await stage.probe.redis.zscore(timeouts(), behind.owner));
    expect((await leaving.done).result).to.equal(false);
    await sleepUntil(async () => (await stage.probe.redis.llen(queue())) === 1);
    const after = Number(await stage.probe.redis.zscore(timeouts(), behind.owner));
    expect(before - after).to.equal(waitMs);
    const unlocked = await holder.timed(at.fair(name), 'unlock');
    expect((await behind.done).endedAt - unlocked.startedAt).to.be.below(WOKEN_MS);
    await stage.peer(first).thread('behind').call(at.fair(name), 'unlock');
  });

  bothWays('a killed waiter is passed over once its time is up', async (first, second) => {
    const { driver, peer } = await stage.spawn(second);
    const holder = stage.peer(first).thread('holder');
    const behind = stage.peer(first).thread('behind');
    await holder.call(at.fair(name), 'lock', 60, 'SECONDS');
    // Its score: the time to live of the lock, so make that short, plus its wait. The ghost must die before it ends.
    const leaseMs = 2500;
    await stage.probe.redis.pexpire(name, leaseMs);
    await enqueue(peer.thread('ghost'), 'lock');
    const last = await enqueue(behind, 'lock');
    await driver.kill();
    const { endedAt, startedAt } = await last.done;
    expect(endedAt - startedAt).to.be.within(WAIT - 500, leaseMs + WAIT + WOKEN_MS);
    await behind.call(at.fair(name), 'unlock');
    expect(await stage.probe.keysLeft(name, first)).to.deep.equal([]);
  });

  bothWays(
    'A2: frozen waiters of the other side cost both sides 5 s at most, and pass nobody',
    async (first, second) => {
      const { driver, peer } = await stage.spawn(second);
      const holder = stage.node.thread('holder');
      await holder.call(at.fair(name), 'lock', 60, 'SECONDS');
      for (const ghost of ['one', 'two', 'three']) await enqueue(peer.thread(ghost), 'lock');
      const threads = [first, second, first].map((side, index) => stage.peer(side).thread(`live-${index}`));
      const order: number[] = [];
      const passing: Promise<void>[] = [];
      for (const [index, thread] of threads.entries()) {
        const { done } = await enqueue(thread, 'tryLock', [60, 60, 'SECONDS']);
        passing.push(
          done.then(async ({ result }) => {
            expect(result, `live-${index} is in`).to.equal(true);
            order.push(index);
            await thread.call(at.fair(name), 'unlock');
          }),
        );
      }
      driver.process?.pause();
      const unlocked = await holder.timed(at.fair(name), 'unlock');
      await inTime('the first is in', name, passing[0]!);
      const { endedAt } = await stage.node.thread('clock').timed(at.fair(name), 'isLocked');
      expect(endedAt - unlocked.startedAt).to.be.below(5_000);
      await inTime('all are in', name, Promise.all(passing));
      expect(order).to.deep.equal([0, 1, 2]);
      await driver.kill();
    },
  );

  it('A2: Java unlocks, and waiters that froze or died stand before live ones of both sides', async () => {
    const { driver, peer } = await stage.spawn('java');
    const cases = [
      { gone: 'frozen', sides: ['node', 'java', 'node'] as const },
      { gone: 'frozen', sides: ['java', 'node'] as const },
      { gone: 'dead', sides: ['node', 'java', 'node'] as const },
      { gone: 'dead', sides: ['java', 'node'] as const },
    ];
    const queues = await Promise.all(
      cases.map(async ({ gone, sides }, number) => {
        const own = `${name}-${number}`;
        const holder = stage.java.thread(`holder-${number}`);
        await holder.call(at.fair(own), 'lock', 60, 'SECONDS');
        for (const ghost of ['one', 'two']) await enqueue(peer.thread(`${ghost}-${number}`), 'lock', [], own);
        const order: number[] = [];
        const passing: Promise<number>[] = [];
        for (const [index, side] of sides.entries()) {
          const thread = stage.peer(side).thread(`live-${number}-${index}`);
          const { done } = await enqueue(thread, 'tryLock', [60, 60, 'SECONDS'], own);
          passing.push(
            done.then(async ({ endedAt, result }) => {
              expect(result, `live-${number}-${index} is in`).to.equal(true);
              order.push(index);
              await thread.call(at.fair(own), 'unlock');
              return endedAt;
            }),
          );
        }
        const passes = async (): Promise<void> => {
          const unlocked = await holder.timed(at.fair(own), 'unlock');
          const what = `${sides.join(', ')} behind ${gone} ones`;
          const firstIn = await inTime(what, own, passing[0]!);
          expect(firstIn - unlocked.startedAt, what).to.be.below(5_000);
          await inTime(`all of ${what}`, own, Promise.all(passing));
          expect(order, what).to.deep.equal(sides.map((_, index) => index));
        };
        return { gone, passes };
      }),
    );
    driver.process?.pause();
    await Promise.all(queues.filter(({ gone }) => gone === 'frozen').map(({ passes }) => passes()));
    await driver.kill();
    await Promise.all(queues.filter(({ gone }) => gone === 'dead').map(({ passes }) => passes()));
  });

  it('C6: Java quits, and the reply to its clean-up is lost, so that it runs twice: nobody is passed or kept out', async () => {
    const proxy = await TcpProxy.start(stage.server.url);
    const quitsMs = 5_000;
    // Longer than this process, where the proxy runs, may stand still.
    const remote = await stage.guest('java', { addresses: [proxy.url], timeout: 2500 });
    const holder = stage.node.thread('holder');
    await holder.call(at.fair(name), 'lock');
    const quitter = await enqueue(remote.thread('quits'), 'tryLock', [quitsMs, -1, 'MILLISECONDS']);
    const sides: Side[] = ['node', 'java', 'node'];
    const order: number[] = [];
    const live: string[] = [];
    const passing: Promise<number>[] = [];
    for (const [index, side] of sides.entries()) {
      const thread = stage.peer(side).thread(`behind-${index}`);
      const { done, owner } = await enqueue(thread, 'lock');
      live.push(owner);
      const passed = done.then(async ({ endedAt }) => {
        order.push(index);
        await thread.call(at.fair(name), 'unlock');
        return endedAt;
      });
      passing.push(passed);
    }
    const scoreOf = async (): Promise<number> => Number(await stage.probe.redis.zscore(timeouts(), live[0]!));
    const before = await scoreOf();
    // Its only command with these two keys alone.
    const lost = proxy.swallowNextReply({ command: /\r\n2\r\n\$\d+\r\nredisson_lock_queue:/, then: 'cut' });

    await inTime('the reply is lost', name, lost);
    await inTime('Java has quit', name, quitter.done);
    expect(await stage.probe.redis.lrange(queue(), 0, -1)).to.deep.equal(live);
    // Once for each time that it ran, as far as ours has not attempted again meanwhile.
    expect(before - (await scoreOf())).to.be.at.most(2 * quitsMs);
    // Each script of Java drops those whose time seems to be over.
    await stage.java.thread('asks').call(at.fair(name), 'tryLock');
    expect(await stage.probe.redis.lrange(queue(), 0, -1)).to.deep.equal(live);
    const unlocked = await holder.timed(at.fair(name), 'unlock');
    expect((await inTime('the first is in', name, passing[0]!)) - unlocked.startedAt).to.be.below(WOKEN_MS);
    await inTime('all are in', name, Promise.all(passing));
    expect(order).to.deep.equal([0, 1, 2]);
    await stage.probe.untilGone(queue());
    expect(await stage.probe.redis.exists(`redisson_lock_claim:{${name}}`)).to.equal(0);
    proxy.close();
  });

  bothWays('a lock forced open by the other side goes to the head of the queue', async (first, second) => {
    await stage.peer(first).thread('holder').call(at.fair(name), 'lock');
    const queued = stage.peer(first).thread('queued');
    const { done } = await enqueue(queued, 'lock');
    const forced = await stage.peer(second).thread().timed(at.fair(name), 'forceUnlock');
    expect(forced.result).to.equal(true);
    expect((await done).endedAt - forced.startedAt).to.be.below(WOKEN_MS);
    await queued.call(at.fair(name), 'unlock');
  });
});
