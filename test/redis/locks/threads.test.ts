// Ids in titles: test/README.md
import { expect } from 'chai';
import { IllegalMonitorStateError } from '../../../lib';
import { sleep, turn, uniqueName } from '../../support';
import { bareClient, newClient, rejection } from '../synchronizers/support';

/** The rules of docs/threads.md on a real client. */
describe('logical threads', () => {
  it('three siblings of one Promise.all are three threads, and exclude each other', async () => {
    const client = newClient();
    const lock = client.getLock(uniqueName());
    const ids = new Set<number | undefined>();
    let inside = 0;
    await Promise.all(
      [1, 2, 3].map(() =>
        client.runInThread(async () => {
          ids.add(client.currentThreadId());
          await lock.lock();
          inside += 1;
          await turn();
          expect(inside).to.equal(1);
          inside -= 1;
          await lock.unlock();
        }),
      ),
    );
    expect(ids.size).to.equal(3);
    expect(client.currentThreadId()).to.equal(undefined);
  });

  it('a thread re-enters through any handle, after awaits and in timers; a thread within a thread is another', async () => {
    const client = newClient();
    const name = uniqueName();
    await client.runInThread(async () => {
      await client.getLock(name).lock();
      await sleep(2);
      expect(await client.getLock(name).tryLock()).to.equal(true);
      const inTimer = new Promise<number>((resolve, reject) => {
        setTimeout(() => client.getLock(name).getHoldCount().then(resolve, reject), 2);
      });
      expect(await inTimer).to.equal(2);
      expect(await client.runInThread(() => client.getLock(name).tryLock())).to.equal(false);
      await client.getLock(name).unlock();
      await client.getLock(name).unlock();
    });
  });

  it('is the same thread for every client of the process, under the id of each', async () => {
    const [first, second] = [newClient(), newClient()];
    const name = uniqueName();
    await first.runInThread(async () => {
      const id = first.currentThreadId()!;
      expect(second.currentThreadId()).to.equal(id);
      await first.getLock(name).lock();
      expect(await bareClient().hkeys(name)).to.deep.equal([`${first.getId()}:${id}`]);
      expect(await second.getLock(name).tryLock()).to.equal(false);
      await first.getLock(name).unlock();
    });
  });

  it('the ids of callers and automatic ones never meet', async () => {
    const client = newClient();
    const lock = client.getLock(uniqueName());
    const hold = await lock.acquire();
    expect(hold.threadId).to.be.at.least(2 ** 32);
    expect(await lock.isHeldByThread(hold.threadId)).to.equal(true);
    await lock.lock(-1, undefined, { threadId: hold.threadId });
    expect(await rejection(lock.lock(-1, undefined, 2 ** 32))).to.be.instanceOf(RangeError);
    await lock.unlock({ threadId: hold.threadId });
    await hold.unlock();
    for (const id of [0, 1, 2 ** 32 - 1]) {
      await lock.lock(-1, undefined, id);
      await lock.unlock(id);
    }
  });

  it('a second acquisition while the first is pending is refused: Promise.all on one handle lets one in', async () => {
    const client = newClient();
    const lock = client.getLock(uniqueName());
    const results = await Promise.allSettled([lock.lock(), lock.lock(), lock.tryLock(100)]);
    expect(results.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'rejected']);
    for (const result of results.slice(1)) {
      expect((result as PromiseRejectedResult).reason).to.be.instanceOf(IllegalMonitorStateError);
    }
    expect(await lock.getHoldCount()).to.equal(1);
    await lock.unlock();
  });

  it('re-entering through a handle outside any thread warns once per client, with its code', async () => {
    const warnings: NodeJS.ErrnoException[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    try {
      for (const client of [newClient(), newClient()]) {
        for (const lock of [client.getLock(uniqueName()), client.getLock(uniqueName())]) {
          await lock.lock();
          await lock.lock();
          await lock.unlock();
          await lock.unlock();
        }
        const lock = client.getLock(uniqueName());
        await lock.withLock(() => lock.withLock(() => undefined));
      }
      await turn();
    } finally {
      process.off('warning', listen);
    }
    expect(warnings.map(({ code }) => code)).to.deep.equal(['IOREDISSON_HANDLE_REENTRY', 'IOREDISSON_HANDLE_REENTRY']);
  });

  it('strictThreads makes it an error, and nothing else', async () => {
    const client = newClient({ strictThreads: true });
    const lock = client.getLock(uniqueName());
    await lock.lock();
    expect(await rejection(lock.lock())).to.be.instanceOf(IllegalMonitorStateError);
    expect(await rejection(lock.tryLock(100))).to.be.instanceOf(IllegalMonitorStateError);
    expect(await lock.getHoldCount()).to.equal(1);
    await lock.unlock();
    await lock.withLock(() => lock.withLock(() => undefined));
    await lock.lock(-1, undefined, 1);
    await lock.lock(-1, undefined, 1);
    await lock.unlock(1);
    await lock.unlock(1);
  });

  it('what a listener of losses does belongs to no thread, whoever found out', async () => {
    const client = newClient({ lockWatchdogTimeout: 600 });
    const name = uniqueName();
    const scopes: unknown[] = [];
    client.onLockLost(() => scopes.push(client.currentThreadId()));
    const stop = client.onLockLost(() => scopes.push('removed'));
    stop();
    await client.runInThread(async () => {
      const hold = await client.getLock(name).acquire();
      hold.signal.addEventListener('abort', () => scopes.push(client.currentThreadId()));
      await bareClient().del(name);
      while (hold.isHeld) await sleep(20);
    });
    expect(scopes).to.deep.equal([undefined, undefined]);
  });

  it('C10: shutdown({ drain }) lets what waits for a section beside it, in a section around both, have its turn', async () => {
    const client = newClient();
    const name = uniqueName();
    await client.getLock(name).withLock(async () => {
      let end!: () => void;
      const gate = new Promise<void>((resolve) => (end = resolve));
      const begun = new Promise<void>((begin) => {
        void client
          .getLock(name)
          .withLock(() => (begin(), gate))
          .catch(() => undefined);
      });
      await begun;
      const waiter = client.getLock(name).withLock(() => 'in');
      await turn();
      const down = client.shutdown({ drain: 60_000 });
      end();
      expect(await waiter).to.equal('in');
      void down;
    });
    await client.shutdown();
  });
});
