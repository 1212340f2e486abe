// Ids in titles: test/README.md
import { expect } from 'chai';
import { CommandTimeoutError, ConnectionError } from '../../lib';
import { monitor, redisUrl, sleepUntil, trackClient, uniqueName } from '../support';
import { client, gone, LONG_LEASE_MS, openScene, type Scene, warmUp } from './scene';

describe('a lost reply', () => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await openScene();
  });

  describe('to an acquisition', () => {
    it('that is lost with its connection leads to one hold, which one unlock frees', async () => {
      const { proxy, direct } = scene;
      const redisson = client(proxy.url);
      const name = uniqueName();
      await warmUp(redisson.getLock(name));
      const lost = proxy.swallowNextReply({ command: 'evalsha', then: 'cut' });
      const hold = await redisson.getLock(name).acquire();
      await lost;
      expect(Object.values(await direct.hgetall(name))).to.deep.equal(['1']);
      await hold.unlock();
      expect(await direct.exists(name)).to.equal(0);
    });

    it('that never comes is told as a time-out, and leaves no hold', async () => {
      const { proxy, direct } = scene;
      const redisson = client(proxy.url, { timeout: 300 });
      const name = uniqueName();
      await warmUp(redisson.getLock(name));
      const lost = proxy.swallowNextReply({ command: 'evalsha', then: 'hang' });
      const error = await redisson
        .getLock(name)
        .lock()
        .catch((reason: unknown) => reason);
      await lost;
      expect(error).to.be.instanceOf(CommandTimeoutError).with.property('mayHaveRun', true);
      await gone(direct, name);
    });

    it('that never comes to a waiter is found out by its next attempt, and counts once', async () => {
      const { proxy, direct, url } = scene;
      const redisson = client(proxy.url, { timeout: 300 });
      const other = client(url);
      const name = uniqueName();
      await warmUp(redisson.getLock(name));
      const held = await other.getLock(name).acquire();
      const seen = trackClient(await monitor(url));
      const waiting = redisson.getLock(name).acquire();
      // It has tried before and after it subscribed, and sleeps: its next command is the one that acquires.
      await sleepUntil(async () => (await seen.sentNames()).filter((one) => one === 'evalsha').length === 2);
      const lost = proxy.swallowNextReply({ command: 'evalsha', then: 'hang' });
      await held.unlock();
      await lost;
      const hold = await waiting;
      expect(Object.values(await direct.hgetall(name))).to.deep.equal(['1']);
      await hold.unlock();
      await gone(direct, name);
    });

    it('of a re-entry leads to one hold more, not two', async () => {
      const { proxy, direct } = scene;
      const lock = client(proxy.url).getLock(uniqueName());
      await warmUp(lock);
      await lock.lock(LONG_LEASE_MS, undefined, 7);
      const lost = proxy.swallowNextReply({ command: 'evalsha', then: 'cut' });
      await lock.lock(LONG_LEASE_MS, undefined, 7);
      await lost;
      expect(Object.values(await direct.hgetall(lock.name))).to.deep.equal(['2']);
      await lock.unlock(7);
      await lock.unlock(7);
      expect(await direct.exists(lock.name)).to.equal(0);
    });
  });

  describe('to an unlock', () => {
    for (const then of ['cut', 'hang'] as const) {
      const how = then === 'cut' ? 'that is lost with its connection' : 'that never comes';
      it(`${how} releases once and complains of nothing`, async () => {
        const { proxy, direct } = scene;
        const lock = client(proxy.url, { timeout: 300 }).getLock(uniqueName());
        await warmUp(lock);
        await lock.lock();
        const lost = proxy.swallowNextReply({ command: 'evalsha', then });
        await lock.unlock();
        await lost;
        expect(await direct.exists(lock.name)).to.equal(0);
      });

      it(`${how} takes one of two holds away, not both`, async () => {
        const { proxy, direct } = scene;
        const lock = client(proxy.url, { timeout: 300 }).getLock(uniqueName());
        await warmUp(lock);
        await lock.lock(LONG_LEASE_MS, undefined, 7);
        await lock.lock(LONG_LEASE_MS, undefined, 7);
        const lost = proxy.swallowNextReply({ command: 'evalsha', then });
        await lock.unlock(7);
        await lost;
        expect(Object.values(await direct.hgetall(lock.name))).to.deep.equal(['1']);
        await lock.unlock(7);
        expect(await direct.exists(lock.name)).to.equal(0);
      });
    }

    it('of a hold that this client was told lost counts once, too', async () => {
      const { proxy, direct } = scene;
      const redisson = client(proxy.url);
      const lock = redisson.getLock(uniqueName());
      await warmUp(lock);
      // Redis kept what the client has given up, say because no renewal came through for a lease.
      await direct.hset(lock.name, `${redisson.getId()}:7`, 2);
      await lock.isLocked();
      const lost = proxy.swallowNextReply({ command: 'evalsha', then: 'cut' });
      await lock.unlock(7);
      await lost;
      expect(Object.values(await direct.hgetall(lock.name))).to.deep.equal(['1']);
      await lock.unlock(7);
      expect(await direct.exists(lock.name)).to.equal(0);
    });

    it('G-07: repeated after another owner took the lock, it leaves that owner alone', async () => {
      const { proxy, direct, url } = scene;
      const lock = client(proxy.url).getLock(uniqueName());
      await warmUp(lock);
      const losses: unknown[] = [];
      const hold = await lock.acquire();
      hold.signal.addEventListener('abort', () => losses.push(hold.signal.reason));
      const lost = proxy.swallowNextReply({ command: 'evalsha', then: 'cut' });
      proxy.refuse();
      const unlocking = hold.unlock();
      await lost;
      const other = await client(url).getLock(lock.name).acquire({ waitTime: 1_000 });
      const owner = await direct.hgetall(lock.name);
      await proxy.accept();
      await unlocking;
      expect(losses).to.deep.equal([]);
      expect(await direct.hgetall(lock.name)).to.deep.equal(owner);
      expect(other.isHeld).to.be.true;
      await other.unlock();
    });

    it('does not make two releases of a hand-over to a waiter of the same process', async () => {
      const { proxy, direct } = scene;
      const redisson = client(proxy.url);
      const name = uniqueName();
      await warmUp(redisson.getLock(name));
      const hold = await redisson.getLock(name).acquire();
      const waiting = redisson.getLock(name).acquire();
      const behind = redisson.getLock(name).acquire();
      const lost = proxy.swallowNextReply({ command: /evalsha/i, then: 'cut' });
      await hold.unlock();
      const heir = await waiting;
      expect(Object.values(await direct.hgetall(name))).to.deep.equal(['1']);
      await heir.unlock();
      await (await behind).unlock();
      await lost;
      expect(await direct.exists(name)).to.equal(0);
    });
  });

  it('of a server that is away for good ends in an error, and in no hold when the server is back', async () => {
    const { proxy, direct } = scene;
    const redisson = client(proxy.url, { timeout: 300, retryAttempts: 0 });
    const lock = redisson.getLock(uniqueName());
    await warmUp(lock);
    proxy.refuse();
    proxy.cut();
    const error = await lock.lock().catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(ConnectionError);
    await proxy.accept();
    // Its questions fail until it has connected again.
    const answer = await sleepUntil(() =>
      lock.isLocked().then(
        (isLocked) => ({ isLocked }),
        () => undefined,
      ),
    );
    expect(answer).to.deep.equal({ isLocked: false });
    expect(await direct.exists(lock.name)).to.equal(0);
  });
});

describe('on the normal path', () => {
  it('lock is one command and unlock is one command', async () => {
    const lock = client(redisUrl()).getLock(uniqueName());
    await warmUp(lock);
    const seen = trackClient(await monitor(redisUrl()));
    await lock.lock();
    await lock.unlock();
    expect(await seen.sentNames()).to.deep.equal(['evalsha', 'evalsha']);
  });
});
