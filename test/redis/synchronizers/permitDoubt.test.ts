import { expect } from 'chai';
import type { Redis } from 'ioredis';
import * as sinon from 'sinon';
import { Config, NoSyncedReplicasError, Redisson } from '../../../lib';
import { redisUrl, RedisServer, sleep, sleepUntil, TcpProxy, trackClient } from '../../support';
import { ReplicatedRedis } from '../../support/ReplicatedRedis';
import { farClient, untilPermitsOf } from './doubt';
import { newClient, openName, rejection, untilListening } from './support';

/** Answers that come late, or never: what becomes of the permits. */
describe('PermitExpirableSemaphore: commands without an answer', () => {
  let proxy: TcpProxy;
  let redis: Redis;
  let name: string;

  beforeEach(async () => {
    proxy = trackClient(await TcpProxy.start(redisUrl()));
    ({ redis, name } = openName('semaphore'));
  });

  const far = (): Promise<Redisson> => farClient(proxy, name);
  /** Waits longer for an answer than any of these tests takes. */
  const patient = (): Promise<Redisson> => farClient(proxy, name, 20_000);
  const untilPermits = (permits: number): Promise<void> => untilPermitsOf(redis, name, permits);

  describe('the permit-expirable semaphore', () => {
    it('acquires once when its connection breaks', async () => {
      const semaphore = (await far()).getPermitExpirableSemaphore(name);
      await redis.set(name, 5);
      const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'cut' });
      const ids = await semaphore.acquireMany(2);
      await lost;
      expect(await redis.get(name)).to.equal('3');
      expect(await redis.zcard(`{${name}}:timeout`)).to.equal(2);
      await semaphore.releaseMany(ids);
      expect(await redis.get(name)).to.equal('5');
    });

    it('holds them once when the connection breaks while they are acquired, and while they are released', async () => {
      const semaphore = (await far()).getPermitExpirableSemaphore(name);
      await redis.set(name, 5);
      const acquired = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'cut' });
      const hold = await semaphore.acquireHold({ permits: 2 });
      await acquired;
      expect(await redis.get(name)).to.equal('3');
      expect(await redis.zcard(`{${name}}:timeout`)).to.equal(2);
      const released = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'cut' });
      await hold.release();
      await released;
      expect(hold.signal.aborted).to.equal(false);
      expect(await redis.get(name)).to.equal('5');
    });

    it('releases in the background what a release without an answer was to release', async () => {
      const semaphore = (await far()).getPermitExpirableSemaphore(name);
      await redis.set(name, 2);
      const hold = await semaphore.acquireHold({ permits: 2 });
      proxy.blackhole('down');
      expect(await rejection(hold.release()))
        .to.be.instanceOf(Error)
        .and.to.include({ mayHaveRun: true });
      expect(hold.isHeld).to.equal(false);
      await proxy.pass();
      proxy.cut();
      await untilPermits(2);
      expect(await redis.zcard(`{${name}}:timeout`)).to.equal(0);
    });

    it('reports a loss as soon as the connection is back, not at the next renewal', async () => {
      const client = await far();
      const semaphore = client.getPermitExpirableSemaphore(name);
      await redis.set(name, 2);
      const lost: string[] = [];
      client.onLockLost((event) => lost.push(event.name));
      const hold = await semaphore.acquireHold();
      proxy.refuse();
      proxy.cut();
      await redis.del(name, `{${name}}:timeout`);
      await proxy.accept();
      await sleepUntil(() => hold.signal.aborted, { timeout: 5_000 });
      expect(lost).to.deep.equal([name]);
      expect(await rejection(hold.release())).to.equal(hold.signal.reason);
    });

    it('releases once when its connection breaks, and does not complain', async () => {
      const semaphore = (await far()).getPermitExpirableSemaphore(name);
      await redis.set(name, 3);
      const ids = await semaphore.acquireMany(3);
      for (const [call, permits] of [
        [() => semaphore.release(ids[0]!), '1'],
        [() => semaphore.releaseMany(ids.slice(1)), '3'],
      ] as const) {
        const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'cut' });
        await call();
        await lost;
        expect(await redis.get(name)).to.equal(permits);
      }
    });

    it('gives back what a single attempt took whose answer never came', async () => {
      const semaphore = (await far()).getPermitExpirableSemaphore(name);
      await redis.set(name, 2);
      const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'hang' });
      expect(await rejection(semaphore.tryAcquire())).to.include({ code: 'COMMAND_TIMEOUT' });
      await lost;
      proxy.cut();
      await untilPermits(2);
      expect(await redis.zcard(`{${name}}:timeout`)).to.equal(0);
    });

    it('lets a waiter try on, who then has what the first attempt took, for the whole lease', async () => {
      const semaphore = (await far()).getPermitExpirableSemaphore(name);
      const waiting = semaphore.acquireMany(2, 60_000);
      await untilListening(redis, `redisson_sc:{${name}}`);
      await sleep(30);
      const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i, then: 'hang' });
      await redis.set(name, 2);
      await redis.publish(`redisson_sc:{${name}}`, '2');
      await lost;
      const [, first] = await redis.zrange(`{${name}}:timeout`, '0', '0', 'WITHSCORES');
      // The command time-out has passed: the waiter makes an attempt of its own.
      await sleep(700);
      proxy.cut();
      const ids = await waiting;
      expect(ids).to.have.lengthOf(2);
      expect(await redis.get(name)).to.equal('0');
      const [, second] = await redis.zrange(`{${name}}:timeout`, '0', '0', 'WITHSCORES');
      expect(Number(second)).to.be.greaterThan(Number(first));
    });

    it('C3: a permit is not taken for ever by an acquisition that was sent again and runs after the release', async () => {
      const semaphore = (await far()).getPermitExpirableSemaphore(name);
      await redis.set(name, 1);
      const held = proxy.holdNextCommand('EVALSHA');
      const id = await semaphore.acquire();
      const deliver = await held;
      const other = newClient({ url: redisUrl() }).getPermitExpirableSemaphore(name);
      // Released by another client, which knows nothing of the first copy.
      await other.release(id);
      await deliver();
      await untilPermits(1);
      expect(await redis.zcard(`{${name}}:timeout`)).to.equal(0);
    });

    it('C3: nor by one that was refused when it was sent again, and runs when there is a permit', async () => {
      const semaphore = (await far()).getPermitExpirableSemaphore(name);
      const held = proxy.holdNextCommand('EVALSHA');
      expect(await semaphore.tryAcquire()).to.equal(null);
      const deliver = await held;
      await redis.set(name, 1);
      await deliver();
      await untilPermits(1);
      expect(await redis.zcard(`{${name}}:timeout`)).to.equal(0);
    });

    it('C3: an id that was asked for on two connections is not handed out', async () => {
      const semaphore = (await far()).getPermitExpirableSemaphore(name);
      await redis.set(name, 1);
      const lost = proxy.swallowNextReply({ command: /\beval(sha)?\b/i });
      const acquiring = semaphore.tryAcquire(10_000);
      await lost;
      const taken = async (): Promise<string[]> =>
        (await redis.zrangeBuffer(`{${name}}:timeout`, '0', '-1')).map((one) => one.toString('hex'));
      const [first] = await taken();
      await sleep(600);
      proxy.cut();
      const id = await acquiring;
      expect(id).not.to.equal(first);
      expect(await taken()).to.deep.equal([id]);
      await semaphore.release(id!);
      expect(await redis.get(name)).to.equal('1');
    });

    it('C15: a lease begins when Redis gives the permit, not when it was asked for in an outage', async () => {
      const client = await patient();
      const semaphore = client.getPermitExpirableSemaphore(name);
      await redis.set(name, 1);
      proxy.refuse();
      proxy.cut();
      await sleepUntil(() => client.state !== 'ready');
      const acquiring = semaphore.acquire(60_000);
      await sleep(3_500);
      await proxy.pass();
      const id = await acquiring;
      expect(await semaphore.getLeaseTime(id)).to.be.within(57_000, 60_000);
    });

    it('C15: the clock of a client does not matter', async () => {
      const semaphore = newClient({ url: redisUrl() }).getPermitExpirableSemaphore(name);
      await redis.set(name, 1);
      const clock = Date.now;
      sinon.replace(Date, 'now', () => clock() + 600_000);
      const id = await semaphore.acquire(60_000);
      const other = await semaphore.tryAcquire();
      sinon.restore();
      expect(other).to.equal(null);
      expect(await semaphore.getLeaseTime(id)).to.be.within(50_000, 60_000);
      expect(await semaphore.updateLeaseTime(id, 90_000)).to.equal(true);
      expect(await semaphore.getLeaseTime(id)).to.be.within(80_000, 90_000);
    });

    it('undoes an aborted acquisition that a hanging server runs later, also without a lease', async () => {
      const server = trackClient(await RedisServer.start());
      const client = newClient({ url: server.url });
      const semaphore = client.getPermitExpirableSemaphore(name);
      await semaphore.trySetPermits(2);
      await semaphore.tryAcquireMany(3);
      server.pause();
      const controller = new AbortController();
      const waiting = [
        rejection(semaphore.acquireMany(2, undefined, undefined, { signal: controller.signal })),
        rejection(semaphore.acquire(60_000, undefined, { signal: controller.signal })),
      ];
      await sleep(30);
      controller.abort(new Error('no longer'));
      expect((await Promise.all(waiting)).map(({ message }) => message)).to.deep.equal(['no longer', 'no longer']);
      server.resume();
      expect(await semaphore.acquiredPermits()).to.equal(0);
      expect(await semaphore.availablePermits()).to.equal(2);
    });

    it('takes fresh permits when the lease of the first ones was over before their answer came', async () => {
      const semaphore = (await patient()).getPermitExpirableSemaphore(name);
      await redis.set(name, 1);
      proxy.delay(3_200, 'down');
      const acquiring = semaphore.acquire(3_000);
      await sleep(200);
      proxy.delay(0, 'down');
      const id = await acquiring;
      expect(await semaphore.getLeaseTime(id)).to.be.within(1, 3_000);
      await proxy.pass();
    });

    it('gives back permits whose answer came after their lease, since it began when Redis ran the command', async () => {
      const semaphore = (await patient()).getPermitExpirableSemaphore(name);
      await redis.set(name, 1);
      proxy.delay(450, 'up');
      const acquiring = semaphore.tryAcquire(0, 400);
      await sleep(200);
      proxy.delay(0, 'up');
      expect(await acquiring).to.equal(null);
      const id = await semaphore.tryAcquire(0, 60_000);
      expect(id).to.be.a('string');
      await semaphore.release(id!);
      expect(await redis.get(name)).to.equal('1');
    });
  });

  it('an acquisition that no replica confirms is undone and rejects', async () => {
    const group = trackClient(await ReplicatedRedis.start({ replicas: 1 }));
    const config = new Config();
    config.setSlavesSyncTimeout(100).useMasterSlaveServers().setMasterAddress(group.master.url);
    const client = trackClient(Redisson.create(config));
    const [plain, leased] = [client.getSemaphore(name), client.getPermitExpirableSemaphore(`${name}-leased`)];
    await plain.trySetPermits(2);
    await leased.trySetPermits(2);
    await plain.acquire();
    await leased.acquire();
    for (const replica of group.replicas) replica.pause();
    expect(await rejection(plain.acquire())).to.be.instanceOf(NoSyncedReplicasError);
    expect(await rejection(leased.acquire())).to.be.instanceOf(NoSyncedReplicasError);
    await sleepUntil(async () => (await plain.availablePermits()) === 1 && (await leased.availablePermits()) === 1);
    expect(await plain.tryAcquire(2)).to.equal(false);
    for (const replica of group.replicas) replica.resume();
    await client.shutdown();
  }).timeout(30_000);
});
