import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { CommandError, CommandTimeoutError, ConnectionError, LockTimeoutError, type Redisson } from '../../../lib';
import { RedisServer, sleepUntil, TcpProxy, trackClient, uniqueName } from '../../support';
import { client, connection, within } from '../../faults/scene';
import { rejection } from '../synchronizers/support';

/** What a call says whose time was up. */
describe('a time-out says what was the case', () => {
  let server: RedisServer;
  let direct: Redis;
  let redisson: Redisson;
  let name: string;

  beforeEach(async () => {
    server = trackClient(await RedisServer.start());
    direct = connection(server.url);
    redisson = client(server.url);
    name = uniqueName();
    await redisson.getLock(name).isLocked();
  });

  async function timeout(waitTime = 400): Promise<LockTimeoutError> {
    const error: unknown = await redisson
      .getLock(name)
      .acquire({ waitTime })
      .catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(LockTimeoutError);
    return error as LockTimeoutError;
  }

  it('C11: held, where another owner has it', async () => {
    const held = await redisson.getLock(name).acquire();
    const error = await timeout();
    expect([error.reason, error.cause]).to.deep.equal(['held', undefined]);
    expect(error.message).to.contain('somebody else holds it');
    await held.unlock();
  });

  it('C11: refused, where Redis answers NOREPLICAS, with its reply as the cause', async () => {
    await direct.config('SET', 'min-replicas-to-write', '1');
    for (const waitTime of [400, 1_500]) {
      const error = await timeout(waitTime);
      expect(error.reason).to.equal('refused');
      expect(error.cause).to.be.instanceOf(CommandError).and.include({ reply: 'NOREPLICAS' });
      expect(error.message).to.contain('NOREPLICAS').and.not.contain('did not answer');
    }
    expect(await redisson.getLock(name).tryLock(300, 1_000)).to.equal(false);
    await direct.config('SET', 'min-replicas-to-write', '0');
    await redisson.getLock(name).withLock(() => undefined, { waitTime: 2_000 });
  });

  it('C11: refused, where Redis has no memory: it waits, and gets in as soon as there is some', async () => {
    await direct.config('SET', 'maxmemory', '1');
    const error = await timeout();
    expect(error.reason).to.equal('refused');
    expect(error.cause).to.be.instanceOf(CommandError).and.include({ reply: 'OOM' });
    expect(await redisson.getLock(name).tryLock(300, 1_000)).to.equal(false);
    // Who does not wait learns it at once.
    const refusal = await rejection(redisson.getLock(name).tryLock());
    expect(refusal).to.be.instanceOf(CommandError).and.include({ reply: 'OOM' });
    await direct.config('RESETSTAT');
    const waiting = redisson.getLock(name).acquire({ waitTime: 5_000 });
    await sleepUntil(async () => (await direct.info('errorstats')).includes('OOM'));
    await direct.config('SET', 'maxmemory', '0');
    await (await waiting).unlock();
  });

  it('one attempt is over in a round trip, also where the master has too few replicas', async () => {
    const semaphore = redisson.getPermitExpirableSemaphore(`${name}:permits`);
    await semaphore.trySetPermits(1);
    await direct.config('SET', 'min-replicas-to-write', '1');
    const lock = redisson.getLock(name);
    const several = redisson.getMultiLock(lock, redisson.getFairLock(`${name}:fair`));
    for (const attempt of [
      () => lock.tryLock(),
      () => lock.tryLock(0, 5_000),
      () => lock.tryAcquireHold(),
      () => redisson.runOnce(name, () => undefined),
      () => several.tryLock(),
      () => semaphore.tryAcquire(),
    ]) {
      const refusal = await within(1_000, String(attempt), rejection(attempt()));
      expect(refusal, String(attempt)).to.be.instanceOf(CommandError).and.include({ reply: 'NOREPLICAS' });
    }
  });

  it('C11: unanswered, where Redis says nothing', async () => {
    server.pause();
    const error = await timeout();
    expect(error.reason).to.equal('unanswered');
    expect(error.cause).to.be.instanceOf(CommandTimeoutError);
    expect(error.message).to.contain('did not answer');
    server.resume();
  });

  it('C14: a latch that nobody can ask is not one that is shut: await rejects, as locks do', async () => {
    const proxy = trackClient(await TcpProxy.start(server.url));
    redisson = client(proxy.url);
    const latch = redisson.getCountDownLatch(name);
    await latch.trySetCount(1);
    proxy.refuse();
    proxy.cut();
    await sleepUntil(() => redisson.state !== 'ready');
    const error: unknown = await latch.await(1_000).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(ConnectionError);
    await proxy.pass();
    await sleepUntil(() => redisson.state === 'ready');
    expect(await latch.await(100)).to.equal(false);
    await latch.delete();
  });
});
