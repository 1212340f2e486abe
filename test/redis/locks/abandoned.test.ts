// Ids in titles: test/README.md
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { Redisson, type LockHold } from '../../../lib';
import { redisUrl, sleep, sleepUntil, trackClient, uniqueName } from '../../support';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

describe('a hold of acquire() whose object is dropped', () => {
  it('C16: warns once, with its name, and is renewed no longer; one that is kept is, and sections are', async () => {
    const client = trackClient(Redisson.create({ url: redisUrl(), lockWatchdogTimeout: 600 }));
    const warnings: (Error & { code?: string })[] = [];
    const lost: string[] = [];
    client.onLockLost(({ name }) => lost.push(name));
    const heard = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', heard);
    const names = [uniqueName(), uniqueName()];
    const dropped: WeakRef<LockHold>[] = [];
    // In a function of its own, so that no variable keeps them.
    const drop = async (): Promise<void> => {
      for (const name of names) {
        const hold = await client.getLock(name).acquire();
        void hold.signal;
        dropped.push(new WeakRef(hold));
      }
    };
    await drop();
    const kept = await client.getLock(uniqueName()).acquire();
    await client.getLock(uniqueName()).lock(-1, undefined, 1);
    try {
      await client.getLock(uniqueName()).withLock(async () => {
        await sleepUntil(() => {
          collect();
          return dropped.every((ref) => ref.deref() === undefined) && warnings.length > 0;
        });
        await sleepUntil(async () => !(await client.getLock(names[0]!).isLocked()));
        await sleepUntil(async () => !(await client.getLock(names[1]!).isLocked()));
      });
      expect(kept.isHeld).to.equal(true);
      await kept.unlock();
      await sleep(0);
    } finally {
      process.off('warning', heard);
    }
    expect(warnings.map(({ code }) => code)).to.deep.equal(['IOREDISSON_ABANDONED_HOLD']);
    expect(names.some((name) => warnings[0]!.message.includes(`'${name}'`))).to.equal(true);
    expect(lost).to.deep.equal([]);
  });

  it('C16: is kept where unlock() of the lock reaches it: in a thread, in a section, and by the threadId that was given', async () => {
    const client = trackClient(Redisson.create({ url: redisUrl(), lockWatchdogTimeout: 1_500 }));
    const other = trackClient(Redisson.create(redisUrl()));
    const locks = Array.from({ length: 3 }, () => client.getLock(uniqueName()));
    let taken = 0;
    // A collection is slow where many tests have run: three of them, and then longer than a lease.
    const collected = (async () => {
      await sleepUntil(() => taken === locks.length);
      for (let i = 0; i < 3; i++) {
        await sleep(20);
        collect();
      }
      await sleep(2_500);
    })();
    const outlive = async (index: number): Promise<void> => {
      taken++;
      await collected;
      expect(await other.getLock(locks[index]!.name).tryLock()).to.equal(false);
    };
    await Promise.all([
      client.runInThread(async () => {
        await locks[0]!.acquire();
        await outlive(0);
        await locks[0]!.unlock();
      }),
      client.getLock(uniqueName()).withLock(async () => {
        await locks[1]!.tryAcquireHold();
        await outlive(1);
        await locks[1]!.unlock();
      }),
      (async () => {
        await locks[2]!.acquire({ threadId: 7 });
        await outlive(2);
        await locks[2]!.unlock(7);
      })(),
    ]);
  });
});
