import { agent } from './agent';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Redis } from 'ioredis';
import { Config, Redisson } from '../../lib';
import { sleepUntil } from '../support/sleepUntil';
import { TcpProxy } from '../support/TcpProxy';
import { uniqueName } from '../support/uniqueName';
import type { TracedCommand } from './TracedCommand';

/** Runs under an agent, and prints what the agent saw of each scenario. Its one argument: the URL of a Redis. */
const url = process.argv[2]!;
const { inSpan } = agent;

type Settings = (config: Config) => unknown;

function open(to = url, settings: Settings = () => undefined, timeout = 3_000): Redisson {
  const config = new Config();
  config.useSingleServer().setAddress(to).setTimeout(timeout);
  settings(config);
  return Redisson.create(config);
}

/** A client that is connected. */
async function opened(...how: Parameters<typeof open>): Promise<Redisson> {
  const redisson = open(...how);
  await redisson.getLock('a').isLocked();
  return redisson;
}

const scenarios: Record<string, () => Promise<void>> = {
  async 'lock and unlock'() {
    const redisson = await opened();
    const lock = redisson.getLock('plain');
    await inSpan('caller', async () => {
      await lock.lock();
      await lock.unlock();
    });
    await redisson.shutdown();
  },

  async 'callers of one turn'() {
    const redisson = await opened();
    const one = (i: number): Promise<number> =>
      inSpan(`caller-${i}`, () => redisson.getLock(`turn-${i}`).withLock(() => i));
    await Promise.all(Array.from({ length: 40 }, (_, i) => one(i)));
    await redisson.shutdown();
  },

  async 'not connected yet'() {
    const redisson = await inSpan('creator', async () => open());
    await Promise.all([
      inSpan('early', () => redisson.getFencedLock('early').getToken()),
      inSpan('earlier', () => redisson.getFencedLock('earlier').getToken()),
    ]);
    await redisson.shutdown();
  },

  async waiting() {
    const [holder, waiter] = await Promise.all([opened(), opened()]);
    const hold = await inSpan('holder', () => holder.getLock('wait').acquire());
    const waited = inSpan('waiter', () => waiter.getLock('wait').acquire());
    const watch = new Redis(url);
    await sleepUntil(async () => {
      const [, count] = (await watch.call('pubsub', 'numsub', 'redisson_lock__channel:{wait}')) as [string, number];
      return count === 1;
    });
    watch.disconnect();
    await inSpan('releaser', () => hold.unlock());
    const theirs = await waited;
    await inSpan('leaver', () => theirs.unlock());
    await Promise.all([holder.shutdown(), waiter.shutdown()]);
  },

  async 'hand-over'() {
    const redisson = await opened();
    const lock = redisson.getLock('hand');
    const first = await inSpan('holder', () => lock.acquire());
    const heir = inSpan('heir', () => lock.acquire());
    await new Promise(setImmediate);
    await inSpan('releaser', () => first.unlock());
    const second = await heir;
    await inSpan('leaver', () => second.unlock());
    await redisson.shutdown();
  },

  async 'sent again'() {
    const proxy = await TcpProxy.start(url);
    const redisson = await opened(proxy.url);
    const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'cut' });
    const locked = inSpan('caller', () => redisson.getLock('again').acquire());
    await lost;
    const hold = await locked;
    await inSpan('releaser', () => hold.unlock());
    await redisson.shutdown();
    proxy.close();
  },

  async 'sent again after a time-out'() {
    const proxy = await TcpProxy.start(url);
    const redisson = await opened(proxy.url, undefined, 400);
    const hold = await redisson.getLock('late').acquire();
    // A read has the time of one answer: it is not sent again.
    const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'hang' });
    const released = inSpan('caller', () => hold.unlock());
    await lost;
    await released;
    await redisson.shutdown();
    proxy.close();
  },

  async 'nobody’s'() {
    const redisson = await opened(url, (config) => config.setLockWatchdogTimeout(900), 100);
    const hold = await inSpan('caller', () => redisson.getLock('held').acquire());
    const stop = new AbortController();
    const undone = inSpan('undone', () => redisson.getLock('undone').acquire({ signal: stop.signal }));
    stop.abort(new Error('never mind'));
    await undone.catch(() => undefined);
    // Renewals every 300 ms, a ping of the listening connection every 300.
    const waiter = await opened(url, undefined, 100);
    const waits = inSpan('waiter', () => waiter.getLock('held').acquire());
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await inSpan('releaser', () => hold.unlock());
    const theirs = await waits;
    await inSpan('leaver', () => theirs.unlock());
    await Promise.all([redisson.shutdown(), waiter.shutdown()]);
  },

  async refused() {
    const redisson = await opened();
    const raw = new Redis(url);
    await raw.set('text', 'no lock');
    await inSpan('caller', () =>
      redisson
        .getLock('text')
        .lock()
        .catch(() => undefined),
    );
    raw.disconnect();
    await redisson.shutdown();
  },

  async contexts() {
    const storage = new AsyncLocalStorage<string>();
    const redisson = await storage.run('creator', () => opened());
    const lock = redisson.getLock(uniqueName());
    const expected: string[] = [];
    const use = async (caller: string): Promise<void> => {
      await lock.lock(-1, undefined, { threadId: Number(caller) });
      expected.push(caller);
      if (storage.getStore() !== caller) throw new Error(`${storage.getStore()} after the lock() of ${caller}`);
      await lock.unlock({ threadId: Number(caller) });
      if (storage.getStore() !== caller) throw new Error(`${storage.getStore()} after the unlock() of ${caller}`);
    };
    await Promise.all(Array.from({ length: 20 }, (_, i) => storage.run(String(i), () => use(String(i)))));
    if (expected.length !== 20) throw new Error('somebody is missing');
    await storage.run('last', () => redisson.shutdown());
  },
};

async function main(): Promise<void> {
  const report: Record<string, readonly TracedCommand[]> = {};
  let seen = 0;
  for (const [name, run] of Object.entries(scenarios)) {
    const raw = new Redis(url);
    await raw.flushall();
    raw.disconnect();
    await run();
    // Spans are handed to their exporter a little later.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const commands = await agent.commands();
    report[name] = commands.slice(seen);
    seen = commands.length;
  }
  process.stdout.write(`\nREPORT ${JSON.stringify(report)}\n`);
}

void main();
