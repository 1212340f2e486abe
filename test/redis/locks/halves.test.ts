// Ids in titles: test/README.md
import { expect } from 'chai';
import { IllegalMonitorStateError } from '../../../lib';
import { turn, uniqueName } from '../../support';
import { newClient, rejection } from '../synchronizers/support';

/** A10, docs/threads.md: "Both halves of a read/write lock count as one lock." */
describe('the halves of a read/write lock in scopes', () => {
  it('A10: lock() of one half is refused while its thread acquires the other for a section', async () => {
    const client = newClient();
    const rw = client.getReadWriteLock(uniqueName());
    for (const [section, other] of [
      [rw.writeLock(), rw.readLock()],
      [rw.readLock(), rw.writeLock()],
    ] as const) {
      await client.runInThread(async () => {
        let running = false;
        const first = section.withLock(async () => {
          running = true;
          await turn();
          running = false;
        });
        const error = await rejection(other.tryLock(50));
        expect(error).to.be.instanceOf(IllegalMonitorStateError);
        await first;
        expect(running).to.equal(false);
      });
    }
  });

  it('A10: and where a section around lets both in', async () => {
    const client = newClient();
    const rw = client.getReadWriteLock(uniqueName());
    await rw.writeLock().withLock(async () => {
      const reader = rw.readLock().withLock(() => turn());
      expect(await rejection(rw.writeLock().tryLock(50))).to.be.instanceOf(IllegalMonitorStateError);
      await reader;
    });
    expect(await rw.writeLock().isLocked()).to.equal(false);
  });

  it('A10: outside scopes as well: two requests that share a handle are not a writer and a reader at once', async () => {
    for (const strictThreads of [false, true]) {
      const client = newClient({ strictThreads });
      const rw = client.getReadWriteLock(uniqueName());
      for (const [first, second] of [
        [rw.writeLock(), rw.readLock()],
        [rw.readLock(), rw.writeLock()],
      ] as const) {
        const [taken, refused] = await Promise.allSettled([first.lock(), second.tryLock(50)]);
        expect(taken.status).to.equal('fulfilled');
        expect(refused).to.have.property('reason').that.is.instanceOf(IllegalMonitorStateError);
        await first.unlock();
        expect(await second.isLocked()).to.equal(false);
      }
    }
  });

  it('A10: a writer that becomes a reader keeps others out, and readers inside a writer run side by side', async () => {
    const client = newClient();
    const rw = client.getReadWriteLock(uniqueName());
    await rw.writeLock().withLock(async (writer) => {
      let readers = 0;
      let allIn!: () => void;
      const gate = new Promise<void>((resolve) => (allIn = resolve));
      await Promise.all(
        [1, 2, 3].map(() =>
          rw.readLock().withLock(async (reader) => {
            expect(reader.threadId).to.equal(writer.threadId);
            if ((readers += 1) === 3) allIn();
            await gate;
          }),
        ),
      );
      await rw.readLock().lock();
      await rw.writeLock().unlock();
      expect([writer.isHeld, await rw.readLock().isHeldByCurrentThread()]).to.deep.equal([false, true]);
      expect(await client.runInThread(() => rw.writeLock().tryLock())).to.equal(false);
      expect(await client.runInThread(() => rw.readLock().withLock(() => true, { waitTime: 1_000 }))).to.equal(true);
      await rw.readLock().unlock();
    });
    expect(await rw.readLock().isLocked()).to.equal(false);
  });

  it('A10: a reader and a writer that are siblings inside a writer take turns', async () => {
    const client = newClient();
    const rw = client.getReadWriteLock(uniqueName());
    let inside = 0;
    const alone = async (): Promise<void> => {
      expect((inside += 1)).to.equal(1);
      await turn();
      await turn();
      inside -= 1;
    };
    await rw.writeLock().withLock(() => Promise.all([rw.readLock().withLock(alone), rw.writeLock().withLock(alone)]));
    await client.runInThread(() => Promise.all([rw.readLock().withLock(alone), rw.writeLock().withLock(alone)]));
  });

  it('A10: no upgrade: a writer inside a reader is not let in', async () => {
    const client = newClient();
    const rw = client.getReadWriteLock(uniqueName());
    await rw.readLock().withLock(async () => {
      expect(await rw.writeLock().tryAcquireHold()).to.equal(null);
      expect(await rw.writeLock().tryLock()).to.equal(false);
    });
  });
});
