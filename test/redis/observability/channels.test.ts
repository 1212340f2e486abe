import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { DisLock, LockLostError, type Redisson, type RenewalMessage, ShutdownError, TimeUnit } from '../../../lib';
import { allowLeftovers, sleepUntil, uniqueName } from '../../support';
import { bareClient, newClient, rejection } from '../synchronizers/support';
import { KINDS, partsOf } from './kinds';
import { Recorder } from './Recorder';

const WHOLE = ['start', 'end', 'asyncStart', 'asyncEnd'];
const FAILED = ['start', 'end', 'error', 'asyncStart', 'asyncEnd'];

describe('the diagnostics channels', () => {
  let client: Redisson;
  let other: Redisson;
  let redis: Redis;
  let name: string;
  let heard: Recorder;

  beforeEach(() => {
    redis = bareClient();
    client = newClient();
    other = newClient();
    name = uniqueName('heard');
    heard = new Recorder();
  });

  afterEach(async () => {
    const keys = await redis.keys(`*${name}*`);
    if (keys.length > 0) await redis.del(...keys);
  });

  for (const kind of ['permit', 'semaphore'] as const) {
    it(`tell of permits that are held, of kind ${kind}`, async () => {
      const semaphore = kind === 'permit' ? client.getPermitExpirableSemaphore(name) : client.getSemaphore(name);
      await semaphore.trySetPermits(2);
      await semaphore.withPermits(2, () =>
        expect(heard.holds.map(({ steps }) => steps)).to.deep.equal([['start', 'end']]),
      );
      const subject = { clientId: client.getId(), kind, name, waitTime: Infinity, leaseTime: -1 };
      expect(heard.acquisitions.map(({ message }) => message)).to.have.lengthOf(1);
      expect(heard.acquisitions[0]!.message).to.include({ ...subject, outcome: 'acquired' });
      expect(heard.holds.map(({ steps }) => steps)).to.deep.equal([WHOLE]);
      expect(heard.held[0]).to.include({ ...subject, outcome: 'released' });
      expect(heard.held[0]!.threadId).to.equal(heard.acquisitions[0]!.message.threadId);
      await semaphore.delete();
    });
  }

  it('tell of the loss of permits that are held', async () => {
    const semaphore = client.getPermitExpirableSemaphore(name);
    await semaphore.trySetPermits(2);
    const hold = await semaphore.acquireHold({ leaseTime: 100 });
    await sleepUntil(() => hold.signal.aborted);
    expect(heard.held[0]).to.include({ kind: 'permit', outcome: 'lost', error: hold.signal.reason as unknown });
    await semaphore.delete();
  });

  for (const { kind, make, nameOf } of KINDS) {
    describe(`of kind ${kind}`, () => {
      const subject = (): object => ({ clientId: client.getId(), kind, name: nameOf(name) });

      it('tell of an acquisition and of its hold, each once, from begin to end', async () => {
        const lock = make(client, name);
        const hold = await lock.acquire({ leaseTime: 20_000, waitTime: 5_000 });
        expect(heard.acquisitions).to.have.lengthOf(1);
        const [acquisition] = heard.acquisitions;
        expect(acquisition!.steps).to.deep.equal(WHOLE);
        expect(acquisition!.message).to.include({ ...subject(), threadId: hold.threadId });
        expect(acquisition!.message).to.include({ waitTime: 5_000, leaseTime: 20_000 });
        expect(acquisition!.message).to.include({ outcome: 'acquired', attempts: 1, handedOver: false });
        expect(acquisition!.message.waitedMs).to.be.within(0, 5_000);
        expect(heard.holds.map(({ steps }) => steps)).to.deep.equal([['start', 'end']]);
        expect(heard.held[0]).to.include({ ...subject(), threadId: hold.threadId, waitTime: 5_000, leaseTime: 20_000 });
        expect(heard.held[0]).not.to.have.any.keys('outcome', 'heldMs', 'error');
        expect(heard.held[0]!.token).to.equal(kind === 'fenced' ? 1n : undefined);

        await hold.unlock();
        await hold.unlock();
        expect(heard.holds.map(({ steps }) => steps)).to.deep.equal([WHOLE]);
        expect(heard.held[0]).to.include({ outcome: 'released' });
        expect(heard.held[0]!.heldMs).to.be.within(0, 20_000);
      });

      it('tell of lock() and unlock(), without limit and without lease', async () => {
        const lock = make(client, name);
        await lock.lock();
        await lock.unlock();
        expect(heard.acquired).to.have.lengthOf(1);
        expect(heard.acquired[0]).to.include({ ...subject(), waitTime: Infinity, leaseTime: -1, outcome: 'acquired' });
        expect(heard.held.map(({ outcome }) => outcome)).to.deep.equal(['released']);
        expect(heard.held[0]!.threadId).to.equal(heard.acquired[0]!.threadId);
      });

      it('tell of a refused tryLock() as a time-out without a hold', async () => {
        const blocker = kind === 'read' ? other.getReadWriteLock(name).writeLock() : make(other, name);
        await blocker.lock();
        heard.stop();
        heard = new Recorder();
        expect(await make(client, name).tryLock()).to.equal(false);
        expect(await make(client, name).tryLock(80, TimeUnit.MILLISECONDS)).to.equal(false);
        await rejection(make(client, name).acquire({ waitTime: 80 }));
        expect(heard.acquisitions.map(({ steps }) => steps)).to.deep.equal([WHOLE, WHOLE, WHOLE]);
        expect(heard.acquired.map(({ waitTime, outcome }) => [waitTime, outcome])).to.deep.equal([
          [0, 'timeout'],
          [80, 'timeout'],
          [80, 'timeout'],
        ]);
        expect(heard.acquired[2]!.attempts).to.be.at.least(1);
        expect(heard.acquired[2]!.waitedMs).to.be.at.least(79);
        expect(heard.held).to.deep.equal([]);
        await blocker.unlock();
      });

      it('tell of an aborted wait, with its reason', async () => {
        const blocker = kind === 'read' ? other.getReadWriteLock(name).writeLock() : make(other, name);
        await blocker.lock();
        heard.stop();
        heard = new Recorder();
        const controller = new AbortController();
        const waiting = rejection(make(client, name).acquire({ signal: controller.signal }));
        await sleepUntil(() => heard.acquired.length === 1, { message: 'it waits' });
        controller.abort(new Error('no more'));
        const reason = await waiting;
        expect(heard.acquisitions[0]!.steps).to.deep.equal(FAILED);
        expect(heard.acquired[0]).to.include({ outcome: 'aborted', error: reason });
        expect(heard.held).to.deep.equal([]);
        await blocker.unlock();
      });

      it('tell of a loss once, also where it is unlocked afterwards', async () => {
        client = newClient({ lockWatchdogTimeout: 900 });
        const hold = await make(client, name).acquire();
        const { signal } = hold;
        const names = kind === 'multi' || kind === 'red' ? partsOf(name) : [name];
        await Promise.all(names.map((one) => redis.del(one)));
        await sleepUntil(() => signal.aborted, { timeout: 5_000, message: 'the loss is noticed' });
        const [lost] = heard.held;
        expect(heard.holds.map(({ steps }) => steps)).to.deep.equal([FAILED]);
        expect(lost).to.include({ ...subject(), outcome: 'lost' });
        expect(lost!.error).to.be.instanceOf(LockLostError);
        expect(lost!.heldMs).to.be.greaterThan(0);
        expect(heard.lost.map((event) => Object.keys(event))).to.deep.equal(
          names.map(() => ['name', 'threadId', 'cause']),
        );
        expect(heard.lost.map((event) => event.name)).to.have.members(names);
        await rejection(hold.unlock());
        expect(heard.holds.map(({ steps }) => steps)).to.deep.equal([FAILED]);
      });

      it('tell of the holds that a shutdown leaves behind as lost', async () => {
        allowLeftovers({ keys: true });
        const closing = newClient();
        const hold = await make(closing, name).acquire();
        await closing.shutdown();
        expect(heard.held).to.have.lengthOf(1);
        expect(heard.held[0]).to.include({ outcome: 'lost' });
        expect((heard.held[0]!.error as Error).cause).to.satisfy(
          (cause: Error) => cause instanceof ShutdownError || cause.cause instanceof ShutdownError,
        );
        // As for onLockLost: the shutdown was asked for.
        expect(heard.lost).to.deep.equal([]);
        await hold.unlock().catch(() => undefined);
        await rejection(make(closing, name).acquire());
        expect(heard.acquisitions.at(-1)!.steps).to.deep.equal(FAILED);
        expect(heard.acquired.at(-1)).to.include({ outcome: 'error' });
        expect(heard.acquired.at(-1)!.error).to.be.instanceOf(ShutdownError);
        expect(heard.held).to.have.lengthOf(1);
      });
    });
  }

  it('take a re-entry for an acquisition of its own', async () => {
    await client.runInThread(async () => {
      const lock = client.getLock(name);
      await lock.lock();
      await lock.lock(5_000);
      await lock.unlock();
      await lock.unlock();
    });
    expect(heard.log).to.deep.equal([
      `acquire ${name}`,
      `acquire ${name}: acquired`,
      `hold ${name}`,
      `acquire ${name}`,
      `acquire ${name}: acquired`,
      `hold ${name}`,
      `hold ${name}: released`,
      `hold ${name}: released`,
    ]);
    expect(heard.held.map(({ leaseTime }) => leaseTime)).to.deep.equal([-1, 5_000]);
  });

  it('tell of the thread that a call in a scope turns out to be, and count the wait for a section beside it', async () => {
    const lock = client.getLock(name);
    await client.runInThread(async () => {
      await Promise.all([1, 2].map(() => lock.withLock(async () => new Promise((resolve) => setTimeout(resolve, 30)))));
    });
    expect(heard.acquired.map(({ outcome }) => outcome)).to.deep.equal(['acquired', 'acquired']);
    expect(heard.acquired[1]!.waitedMs).to.be.at.least(25);
    expect(heard.held.map(({ threadId }) => threadId)).to.deep.equal(heard.acquired.map(({ threadId }) => threadId));
    expect(heard.held.map(({ outcome }) => outcome)).to.deep.equal(['released', 'released']);
  });

  it('tell of a forced release by this client, and of one by another', async () => {
    const lock = client.getLock(name);
    await lock.lock();
    await client.getLock(name).forceUnlock();
    expect(heard.held.map(({ outcome }) => outcome)).to.deep.equal(['lost']);
    await rejection(lock.unlock());
    await lock.lock(10_000);
    await other.getLock(name).forceUnlock();
    await rejection(lock.unlock());
    expect(heard.held.map(({ outcome }) => outcome)).to.deep.equal(['lost', 'lost']);
    expect(heard.lost).to.have.lengthOf(2);
  });

  it('tell of a hold that @DisLock leaves to expire as released, not as lost when it has run out', async () => {
    class Job {
      @DisLock({ key: name, expire: 60, ifExpireWhenFinish: false, client })
      async run(): Promise<number> {
        return 1;
      }
    }
    await new Job().run();
    expect(heard.held.map(({ outcome }) => outcome)).to.deep.equal(['released']);
    await sleepUntil(async () => (await redis.exists(name)) === 0);
    await client.getLock(name).withLock(() => undefined);
    expect(heard.holds.map(({ steps }) => steps)).to.deep.equal([WHOLE, WHOLE]);
    expect(heard.lost).to.deep.equal([]);
  });

  it('tell of the loss of a red lock only when too few of its locks are left', async () => {
    const red = client.getRedLock(...partsOf(name).map((one) => client.getLock(one)));
    const hold = await red.acquire();
    await client.getLock(partsOf(name)[0]!).forceUnlock();
    expect(heard.lost).to.have.lengthOf(1);
    expect(heard.held[0]).not.to.have.property('outcome');
    await hold.unlock();
    expect(heard.held.map(({ kind, outcome }) => [kind, outcome])).to.deep.equal([['red', 'released']]);
  });

  it('tell of the tries of a multi-lock as one acquisition, and not of the locks it gives back', async () => {
    const [a, b] = partsOf(name) as [string, string];
    const blocker = await other.getLock(b).acquire();
    const multi = client.getMultiLock(client.getLock(a), client.getLock(b));
    const waiting = multi.acquire({ waitTime: 10_000 });
    await sleepUntil(async () => ((await redis.pubsub('CHANNELS', `*${b}*`)) as string[]).length > 0);
    await blocker.unlock();
    await (await waiting).unlock();
    const own = heard.acquired.filter(({ clientId }) => clientId === client.getId());
    expect(own.map(({ kind, name: of, outcome }) => [kind, of, outcome])).to.deep.equal([
      ['multi', `${a}, ${b}`, 'acquired'],
    ]);
  });

  it('tell of permits and latches as acquisitions without a hold', async () => {
    const semaphore = client.getSemaphore(name);
    await semaphore.trySetPermits(2);
    await semaphore.acquire(2);
    expect(await semaphore.tryAcquire()).to.equal(false);
    await semaphore.acquire(0);
    const leased = client.getPermitExpirableSemaphore(`${name}:leased`);
    await leased.trySetPermits(3);
    await client.runInThread(async () => {
      await leased.releaseMany(await leased.acquireMany(3, 30, TimeUnit.SECONDS));
      expect(heard.acquired.at(-1)!.threadId).to.equal(client.currentThreadId());
    });
    const latch = client.getCountDownLatch(`${name}:latch`);
    await latch.trySetCount(1);
    expect(await latch.await(30)).to.equal(false);
    const opened = latch.await();
    await latch.countDown();
    await opened;
    const reason = new Error('stop');
    await rejection(semaphore.acquire(1, { signal: AbortSignal.abort(reason) }));
    expect(
      heard.acquired.map(({ kind, waitTime, leaseTime, outcome }) => [kind, waitTime, leaseTime, outcome]),
    ).to.deep.equal([
      ['semaphore', Infinity, -1, 'acquired'],
      ['semaphore', 0, -1, 'timeout'],
      ['permit', Infinity, 30_000, 'acquired'],
      ['latch', 30, -1, 'timeout'],
      ['latch', Infinity, -1, 'acquired'],
      ['semaphore', Infinity, -1, 'aborted'],
    ]);
    expect(heard.acquired.every(({ threadId, attempts }) => threadId >= 0 && attempts! >= 0)).to.equal(true);
    expect(heard.held).to.deep.equal([]);
    await redis.del(name, `${name}:leased`, `${name}:latch`);
  });

  it('tell of held permits that are not acquired in time as of a lock: a time-out without an error', async () => {
    const leased = client.getPermitExpirableSemaphore(`${name}:leased`);
    const options = { waitTime: 30 };
    await rejection(client.getSemaphore(name).withPermits(1, () => undefined, options));
    await rejection(leased.withPermits(1, () => undefined, options));
    await rejection(leased.acquireHold(options));
    expect(heard.acquired.map(({ kind, outcome, error }) => [kind, outcome, error])).to.deep.equal([
      ['semaphore', 'timeout', undefined],
      ['permit', 'timeout', undefined],
      ['permit', 'timeout', undefined],
    ]);
    expect(heard.held).to.deep.equal([]);
  });

  it('tell of each batch of renewals', async () => {
    client = newClient({ lockWatchdogTimeout: 3_000 });
    const locks = [1, 2, 3].map((i) => client.getLock(`${name}:${i}`));
    await Promise.all(locks.map((lock) => lock.lock()));
    const ofThree = (): RenewalMessage | undefined => heard.renewals.find((batch) => batch.locks === 3);
    await sleepUntil(() => ofThree() !== undefined, { timeout: 10_000, message: 'a renewal' });
    expect(ofThree()).to.include({ clientId: client.getId() });
    expect(ofThree()!.ms).to.be.greaterThan(0);
    expect(ofThree()).not.to.have.property('error');
    await Promise.all(locks.map((lock) => lock.unlock()));
  });
});
