import { expect } from 'chai';
import { Redis } from 'ioredis';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { Redisson, type RLock } from '../../lib';
import type { Kind } from '../../lib/kinds/Kind';
import { checkPrevious, previousTarball, readPrevious } from '../../tools/previous';
import { EVERY_LOCK, makeLock } from '../support/kinds';
import { RedisServer, sleep, sleepUntil, trackClient, uniqueName } from '../support';
import { PreviousPackage } from './support/previousPackage';

/** A waiter that gets no message sleeps until the lease is over, or nearly so. */
const LEASE_MS = 30_000;
/** By then a waiter that was woken has the lock. */
const WOKEN_MS = 5_000;

describe(`a rolling upgrade from ${readPrevious().name}`, function () {
  this.timeout(20_000);
  let server: RedisServer;
  let redis: Redis;
  let previous: PreviousPackage;

  before(async () => {
    previous = new PreviousPackage();
    server = await RedisServer.start();
    redis = new Redis(server.url, { maxRetriesPerRequest: 1 });
  });

  after(async () => {
    redis?.disconnect();
    await server?.stop();
    previous?.remove();
  });

  it('is judged by the recorded package: a tampered tarball is refused', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-tampered-'));
    try {
      const copy = path.join(folder, 'package.tgz');
      const bytes = fs.readFileSync(previousTarball);
      fs.writeFileSync(copy, bytes);
      expect(() => checkPrevious(copy)).not.to.throw();
      bytes.writeUInt8(bytes.readUInt8(1000) ^ 1, 1000);
      fs.writeFileSync(copy, bytes);
      expect(() => checkPrevious(copy)).to.throw(/is not the recorded package/);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  for (const [what, holderIsOld] of [
    ['the holder is old, the waiter new', true],
    ['the holder is new, the waiter old', false],
  ] as const) {
    describe(what, () => {
      let holder: Redisson;
      let waiter: Redisson;
      let name: string;

      beforeEach(() => {
        const make = (old: boolean): Redisson =>
          trackClient(
            (old ? previous.library.Redisson : Redisson).create({ url: server.url, lockWatchdogTimeout: LEASE_MS }),
          );
        holder = make(holderIsOld);
        waiter = make(!holderIsOld);
        name = uniqueName();
      });

      /** Two different classes: else the same package would be on both sides. */
      it('has two packages', () => {
        expect(holder.constructor).not.to.equal(waiter.constructor);
        expect([holder, waiter].filter((one) => one instanceof Redisson)).to.have.lengthOf(1);
      });

      for (const kind of EVERY_LOCK) {
        describe(kind.name, () => {
          /** What excludes the other one. */
          const held = (client: Redisson): RLock =>
            kind.name === 'read' ? client.getReadWriteLock(name).writeLock() : makeLock(kind, client, name);
          const wanted = (client: Redisson): RLock => makeLock(kind, client, name);

          it('shuts the other version out, also at a second attempt of the holder', async () => {
            await holder.runInThread(async () => {
              const lock = held(holder);
              await lock.lock();
              await waiter.runInThread(async () => expect(await wanted(waiter).tryLock()).to.equal(false));
              // Re-entered by its own client; the other version may not take that for its own hold.
              if (kind.reentrant !== false) {
                expect(await lock.tryLock()).to.equal(true);
                await waiter.runInThread(async () => expect(await wanted(waiter).tryLock()).to.equal(false));
                await lock.unlock();
                await waiter.runInThread(async () => expect(await wanted(waiter).tryLock()).to.equal(false));
              }
              await lock.unlock();
            });
            const hold = await wanted(waiter).tryAcquireHold();
            expect(hold).not.to.equal(null);
            await hold!.unlock();
          });

          it('wakes a waiter of the other version', async () => {
            const hold = await held(holder).acquire();
            const acquired = wanted(waiter).acquire();
            await isWaiting(kind, wanted(waiter), acquired);
            const released = performance.now();
            await hold.unlock();
            const next = await acquired;
            expect(performance.now() - released).to.be.below(WOKEN_MS);
            expect(await held(holder).tryAcquireHold()).to.equal(null);
            await next.unlock();
            await (await held(holder).acquire()).unlock();
          });

          it("a waiter that gives up is in nobody's way", async () => {
            const hold = await held(holder).acquire();
            const patience = new AbortController();
            const impatient = wanted(waiter).acquire({ signal: patience.signal });
            await isWaiting(kind, wanted(waiter), impatient);
            const patient = held(holder).acquire();
            patience.abort(new Error('gave up'));
            const reason = await impatient.catch((error: unknown) => error);
            expect(reason).to.have.property('message', 'gave up');
            const released = performance.now();
            await hold.unlock();
            await (await patient).unlock();
            expect(performance.now() - released).to.be.below(WOKEN_MS);
          });

          it('nobody is inside with somebody of the other version', async () => {
            await crowd([holder, waiter, holder, waiter], held);
          });

          if (kind.move !== undefined) {
            it('a hold moves to the other version by ticket', async () => {
              const ticket = await (await held(holder).acquire()).detach();
              expect(await held(holder).tryAcquireHold()).to.equal(null);
              const hold = await waiter.attach(ticket);
              expect(await held(holder).tryAcquireHold()).to.equal(null);
              await hold.unlock();
              await (await held(holder).acquire()).unlock();
            });
          }

          if (kind.channelOf !== undefined || 'queue' in kind.keysOf('', '')) {
            it('is taken away by the other version', async () => {
              const hold = await held(holder).acquire();
              expect(await held(waiter).forceUnlock()).to.equal(true);
              await (await wanted(waiter).acquire()).unlock();
              await hold.unlock().catch(() => undefined);
            });
          }
        });
      }

      it('fair: the order of asking holds across versions', async () => {
        const order: string[] = [];
        const hold = await holder.getFairLock(name).acquire();
        const queue = `redisson_lock_queue:{${name}}`;
        const waits: Promise<void>[] = [];
        for (const [index, client] of [waiter, holder, waiter, holder].entries()) {
          const enter = async (): Promise<void> => {
            const next = await client.getFairLock(name).acquire();
            order.push(String(index));
            await next.unlock();
          };
          waits.push(enter());
          await sleepUntil(async () => (await redis.llen(queue)) === index + 1);
        }
        await hold.unlock();
        await Promise.all(waits);
        expect(order.join('')).to.equal('0123');
      });

      it('fenced: tokens grow across versions', async () => {
        const tokens: bigint[] = [];
        for (const client of [holder, waiter, holder, waiter]) {
          const hold = await client.getFencedLock(name).acquire();
          tokens.push(hold.token);
          await hold.unlock();
        }
        expect(tokens).to.deep.equal([1n, 2n, 3n, 4n]);
      });

      it('read: both versions read together, and the last of them lets a writer in', async () => {
        const first = await holder.getReadWriteLock(name).readLock().acquire();
        const second = await waiter.getReadWriteLock(name).readLock().acquire();
        const writing = waiter.getReadWriteLock(name).writeLock().acquire();
        await sleepUntil(async () => (await subscribers(`redisson_rwlock:{${name}}`)) > 0);
        await second.unlock();
        expect(await waiter.getReadWriteLock(name).writeLock().tryAcquireHold()).to.equal(null);
        const released = performance.now();
        await first.unlock();
        await (await writing).unlock();
        expect(performance.now() - released).to.be.below(WOKEN_MS);
      });

      it('semaphore: permits are counted once, and a release wakes the other version', async () => {
        const [mine, theirs] = [holder.getSemaphore(name), waiter.getSemaphore(name)];
        expect(await mine.trySetPermits(3)).to.equal(true);
        expect(await theirs.trySetPermits(9)).to.equal(false);
        await mine.acquire(2);
        expect(await theirs.tryAcquire(2)).to.equal(false);
        const acquired = theirs.acquire(2);
        await sleepUntil(async () => (await subscribers(`redisson_sc:{${name}}`)) > 0);
        await mine.release();
        await acquired;
        expect(await mine.availablePermits()).to.equal(0);
        await theirs.release(2);
        expect(await mine.availablePermits()).to.equal(2);
      });

      it('permit: ids of one version are known to the other, and a release wakes it', async () => {
        const mine = holder.getPermitExpirableSemaphore(name);
        const theirs = waiter.getPermitExpirableSemaphore(name);
        expect(await mine.trySetPermits(2)).to.equal(true);
        const [first, second] = await mine.acquireMany(2, LEASE_MS);
        expect(await theirs.tryAcquire()).to.equal(null);
        const acquired = theirs.acquire(LEASE_MS);
        await sleepUntil(async () => (await subscribers(`redisson_sc:{${name}}`)) > 0);
        expect(await theirs.updateLeaseTime(second!, LEASE_MS)).to.equal(true);
        await mine.release(first!);
        const third = await acquired;
        expect(await mine.acquiredPermits()).to.equal(2);
        // By the other version: an id is enough.
        await theirs.release(second!);
        await mine.release(third);
        expect(await theirs.availablePermits()).to.equal(2);
        const hold = await theirs.acquireHold({ permits: 2 });
        expect(await mine.tryAcquire()).to.equal(null);
        await hold.release();
      });

      it('latch: counts of the one version open it for the other', async () => {
        const [mine, theirs] = [holder.getCountDownLatch(name), waiter.getCountDownLatch(name)];
        expect(await mine.trySetCount(2)).to.equal(true);
        const opened = theirs.await();
        await sleepUntil(async () => (await subscribers(`redisson_countdownlatch__channel__{${name}}`)) > 0);
        await mine.countDown();
        expect(await theirs.getCount()).to.equal(1);
        await theirs.countDown();
        expect(await opened).to.equal(true);
      });
    });
  }

  // Those that `localHandOver` is for.
  for (const kind of EVERY_LOCK.filter(({ name }) => /^(lock|nonReentrant|write)$/.test(name))) {
    it(`${kind.name}: nobody is inside with somebody whose process passes it on before Redis knows`, async () => {
      const options = { url: server.url, lockWatchdogTimeout: LEASE_MS };
      const old = trackClient(previous.library.Redisson.create(options));
      const client = trackClient(Redisson.create({ ...options, localHandOver: true }));
      const name = uniqueName();
      await crowd([client, old, client, old, client, client], (one) => makeLock(kind, one, name));
    });
  }

  /** Callers that take a lock in turn and count what they do inside, without any other protection. */
  async function crowd(clients: readonly Redisson[], held: (client: Redisson) => RLock): Promise<void> {
    const counter = uniqueName();
    const turns = 12;
    const work = async (client: Redisson): Promise<void> => {
      for (let turn = 0; turn < turns; turn++) {
        const hold = await held(client).acquire();
        const before = Number(await redis.get(counter));
        await sleep(1);
        await redis.set(counter, before + 1);
        await hold.unlock();
      }
    };
    await Promise.all(clients.map(work));
    expect(await redis.get(counter)).to.equal(String(clients.length * turns));
  }

  async function subscribers(channel: string): Promise<number> {
    const [, count] = (await redis.pubsub('NUMSUB', channel)) as [string, number];
    return Number(count);
  }

  /** Resolves when a waiter sleeps: it is in the queue, or listens to a channel of the lock. */
  async function isWaiting(kind: Kind, lock: RLock, acquired: Promise<unknown>): Promise<void> {
    if (kind.channelOf === undefined && Object.keys(kind.keysOf('', '')).length > 0) return sleep(50);
    const keys = kind.keysOf(lock.name, '');
    let over = false;
    const settled = (): boolean => (over = true);
    void acquired.then(settled, settled);
    await sleepUntil(async () => {
      if (over) throw new Error('it did not wait');
      if (keys['queue'] !== undefined) return (await redis.llen(keys['queue'])) > 0;
      const channels = await redis.pubsub('CHANNELS', `*`);
      return channels.length > 0;
    });
  }
});
