import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type Redisson } from '../../../lib';
import { monitor, redisUrl, sleep, sleepUntil, TcpProxy, trackClient } from '../../support';
import { farClient, untilPermitsOf } from './doubt';
import { newClient, openName, rejection, untilListening } from './support';

/** Answers that come late, or never: what becomes of the permits. */
describe('Semaphore: commands without an answer', () => {
  let proxy: TcpProxy;
  let redis: Redis;
  let name: string;

  beforeEach(async () => {
    proxy = trackClient(await TcpProxy.start(redisUrl()));
    ({ redis, name } = openName('semaphore'));
  });

  const far = (): Promise<Redisson> => farClient(proxy, name);
  /**
   * Keeps its connection, which it gives up after two time-outs of silence, although the process stands still for two
   * seconds.
   */
  const patient = (): Promise<Redisson> => farClient(proxy, name, 2_500);
  const untilPermits = (permits: number): Promise<void> => untilPermitsOf(redis, name, permits);

  describe('the plain semaphore', () => {
    it('tells that it may have acquired, and gives back what a late answer brings', async () => {
      const semaphore = (await patient()).getSemaphore(name);
      await newClient().getSemaphore(name).trySetPermits(3);
      proxy.delay(60_000, 'down');
      const error = await rejection(semaphore.acquire(2));
      expect(error).to.include({ code: 'COMMAND_TIMEOUT', mayHaveRun: true });
      expect(await redis.get(name)).to.equal('1');
      proxy.deliver();
      await untilPermits(3);
      await sleep(100);
      expect(await redis.get(name)).to.equal('3');
      await proxy.pass();
    });

    it('gives back what it is acquiring while its client shuts down', async () => {
      const client = await far();
      const semaphore = client.getSemaphore(name);
      await newClient().getSemaphore(name).trySetPermits(3);
      proxy.delay(60_000, 'down');
      const acquiring = rejection(semaphore.acquire(2));
      await sleepUntil(async () => (await redis.get(name)) === '1');
      const closing = client.shutdown();
      proxy.deliver();
      await closing;
      expect(await acquiring).to.include({ code: 'SHUTDOWN' });
      await untilPermits(3);
      await proxy.pass();
    });

    it('tells it a waiter too, timed or not, and does not try again', async () => {
      const client = await far();
      const semaphore = client.getSemaphore(name);
      for (const wait of [() => semaphore.acquire(), () => semaphore.tryAcquire(1, 60_000)]) {
        const waiting = rejection(wait());
        await untilListening(redis, `redisson_sc:{${name}}`);
        await sleep(30);
        const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'hang' });
        await redis.set(name, 5);
        await redis.publish(`redisson_sc:{${name}}`, '5');
        await lost;
        expect(await waiting).to.include({ code: 'COMMAND_TIMEOUT', mayHaveRun: true });
        expect(await redis.get(name)).to.equal('4');
        proxy.cut();
        await sleepUntil(async () => (await semaphore.availablePermits()) === 4);
        await redis.del(name);
      }
    });

    describe('a waiter that no message told of permits', () => {
      /** A wait for permits: it has made its attempt, subscribed and looked again, and sleeps. */
      const sleeping = async (permits?: number): Promise<{ readonly acquired: Promise<void> }> => {
        const semaphore = (await far()).getSemaphore(name);
        const watch = await monitor(redisUrl());
        const acquired = semaphore.acquire(permits);
        await sleepUntil(async () => (await watch.sentNames()).filter((sent) => sent.startsWith('eval')).length >= 2);
        watch.stop();
        return { acquired };
      };

      it('waits on when the connection breaks as it looks after subscribing', async () => {
        const semaphore = (await far()).getSemaphore(name);
        // The first command is its attempt, the second follows the subscription.
        const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'cut', after: 1 });
        const waiting = semaphore.acquire();
        await lost;
        await newClient().getSemaphore(name).trySetPermits(2);
        await waiting;
        expect(await redis.get(name)).to.equal('1');
      });

      it('waits on when its subscriber and then the connection break', async () => {
        const { acquired } = await sleeping();
        const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'cut' });
        await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await lost;
        await newClient().getSemaphore(name).trySetPermits(2);
        await acquired;
        expect(await redis.get(name)).to.equal('1');
      });

      it('takes what was released while its subscriber was gone, although the connection breaks, too', async () => {
        const { acquired } = await sleeping(2);
        const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'cut' });
        await redis.set(name, 3);
        await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await lost;
        await acquired;
        expect(await redis.get(name)).to.equal('1');
      });

      it('waits on when Redis does not answer its look in time', async () => {
        const { acquired } = await sleeping();
        const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'hang' });
        await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await lost;
        await newClient().getSemaphore(name).trySetPermits(2);
        await acquired;
        expect(await redis.get(name)).to.equal('1');
      });

      it('is told that Redis cannot be reached, and that it took nothing', async () => {
        const { acquired } = await sleeping();
        const waiting = rejection(acquired);
        const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'hang' });
        await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await lost;
        proxy.refuse();
        proxy.cut();
        expect(await waiting).to.include({ code: 'CONNECTION', mayHaveRun: false });
        await proxy.pass();
      });
    });

    it('tells that it may have acquired, and sends nothing twice, when the connection breaks', async () => {
      const semaphore = (await far()).getSemaphore(name);
      await redis.set(name, 3);
      const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'cut' });
      expect(await rejection(semaphore.acquire())).to.include({ code: 'CONNECTION', mayHaveRun: true });
      await lost;
      expect(await semaphore.availablePermits()).to.equal(2);
    });

    it('tells that it may have released, and sends nothing twice', async () => {
      const semaphore = (await far()).getSemaphore(name);
      await redis.set(name, 3);
      for (const [call, permits] of [
        [() => semaphore.release(2), '5'],
        [() => semaphore.releaseIfExists(), '6'],
        [() => semaphore.addPermits(-4), '2'],
        [() => semaphore.drainPermits(), '0'],
      ] as const) {
        const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'cut' });
        expect(await rejection(call())).to.include({ code: 'CONNECTION', mayHaveRun: true });
        await lost;
        expect(await redis.get(name)).to.equal(permits);
        await semaphore.availablePermits();
      }
    });

    it('does not create a semaphore by giving permits back', async () => {
      const semaphore = (await patient()).getSemaphore(name);
      await redis.set(name, 1);
      proxy.delay(60_000, 'down');
      expect(await rejection(semaphore.acquire())).to.include({ code: 'COMMAND_TIMEOUT' });
      await redis.del(name);
      proxy.deliver();
      await sleep(100);
      await proxy.pass();
      await semaphore.availablePermits();
      expect(await redis.exists(name)).to.equal(0);
    });

    it('sends nothing for an acquisition that was aborted before there was a connection', async () => {
      const client = await far();
      await redis.set(name, 1);
      proxy.refuse();
      proxy.cut();
      await sleep(30);
      const controller = new AbortController();
      const waiting = rejection(client.getSemaphore(name).acquire(1, { signal: controller.signal }));
      controller.abort(new Error('no longer'));
      expect((await waiting).message).to.equal('no longer');
      await proxy.accept();
      expect(await client.getSemaphore(name).availablePermits()).to.equal(1);
      await sleep(50);
      expect(await redis.get(name)).to.equal('1');
    });
  });

  it('an acquisition over a slow connection needs one command and undoes nothing', async () => {
    await newClient().getSemaphore(name).trySetPermits(1);
    const client = await far();
    const watch = await monitor(redisUrl());
    proxy.delay(50, 'down');
    await newClient().getSemaphore(name).tryAcquire();
    await client.getSemaphore(name).release();
    await client.getSemaphore(name).acquire();
    await sleep(100);
    expect((await watch.sentNames()).filter((one) => one.startsWith('eval'))).to.have.length.within(3, 6);
    watch.stop();
    await proxy.pass();
  });
});
