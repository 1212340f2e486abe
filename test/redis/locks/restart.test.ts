// Ids in titles: test/README.md
import { expect } from 'chai';
import { Redis } from 'ioredis';
import pDefer from 'p-defer';
import { IllegalMonitorStateError, Redisson, type RLock } from '../../../lib';
import { client, within } from '../../faults/scene';
import { RedisServer, redisUrl, sleep, sleepUntil, TcpProxy, trackClient, uniqueName } from '../../support';
import { rejection } from '../synchronizers/support';
import { prepareThread } from './threadSupport';

/** How often a later cycle is repeated, and what is locked. */
const KINDS: Readonly<Record<string, { readonly cycles: number; of(client: Redisson, name: string): RLock }>> = {
  'LR-01: a write lock': { cycles: 2, of: (client, name) => client.getReadWriteLock(name).writeLock() },
  'LR-02: a read lock': { cycles: 1, of: (client, name) => client.getReadWriteLock(name).readLock() },
  'LR-03: a plain lock': { cycles: 1, of: (client, name) => client.getLock(name) },
  'a fair lock': { cycles: 1, of: (client, name) => client.getFairLock(name) },
  'a spin lock': { cycles: 1, of: (client, name) => client.getSpinLock(name) },
};

describe('after Redis came back without its data', () => {
  for (const [title, { cycles, of }] of Object.entries(KINDS)) {
    it(`${title} is gone, and later ones are renewed again`, async () => {
      const server = trackClient(await RedisServer.start());
      const one = client(server.url, { lockWatchdogTimeout: 600, lockWatchdogBatchSize: 50 });
      const name = uniqueName('restart');
      const lost: string[] = [];
      one.onLockLost((event) => lost.push(event.name));
      const first = of(one, name);
      await first.lock(-1, undefined, 1);
      await server.restart();
      await sleep(1_000);
      expect(await within(5_000, 'the unlock', rejection(first.unlock(1)))).to.be.instanceOf(IllegalMonitorStateError);
      expect(lost).to.deep.equal([name]);
      for (let cycle = 0; cycle < cycles; cycle++) {
        const again = of(one, name);
        await again.lock(-1, undefined, 1);
        await sleep(1_000);
        await again.unlock(1);
        await sleep(100);
      }
      expect(await first.isLocked()).to.equal(false);
      expect(lost).to.have.lengthOf(1);
    });
  }
});

/** The watchdog of 30 s would find a loss after up to 10 s. */
const SOON_MS = 3_000;

describe('C12: a loss is told as soon as the connection is back', function () {
  this.timeout(30_000);

  before(prepareThread);

  for (const [title, settings] of Object.entries({
    'the main thread': {},
    'a watchdog thread': { watchdogThread: true },
  })) {
    it(`after a restart without data, with and without leases (${title})`, async () => {
      const server = trackClient(await RedisServer.start());
      const one = trackClient(Redisson.create({ url: server.url, ...settings }));
      const lost: string[] = [];
      one.onLockLost(({ name }) => lost.push(name));
      const kinds: Readonly<Record<string, (name: string) => RLock>> = {
        plain: (name) => one.getLock(name),
        read: (name) => one.getReadWriteLock(name).readLock(),
        write: (name) => one.getReadWriteLock(name).writeLock(),
        fair: (name) => one.getFairLock(name),
        group: (name) => one.getMultiLock(name, ['v', 'w']),
      };
      const names: string[] = [];
      for (const [kind, of] of Object.entries(kinds)) {
        for (const lease of [-1, 60_000]) {
          names.push(`${kind} ${lease}`);
          await of(names.at(-1)!).lock(lease);
        }
      }
      const back = pDefer<void>();
      one.onConnectionChange(({ state }) => state === 'ready' && back.resolve());
      await server.restart();
      await back.promise;
      await within(
        SOON_MS,
        'the losses',
        sleepUntil(() => lost.length === names.length),
      );
      expect(lost.toSorted()).to.deep.equal(names.toSorted());
    });
  }

  it('after a DEL during a short cut; what is still there is kept, and no lease is prolonged', async () => {
    const proxy = trackClient(await TcpProxy.start(redisUrl()));
    const one = trackClient(Redisson.create(proxy.url));
    const admin = trackClient(new Redis(redisUrl()));
    const names = [uniqueName(), uniqueName()];
    const [deleted, kept] = [await one.getLock(names[0]!).acquire(), await one.getLock(names[1]!).acquire()];
    const leased = await one.getReadWriteLock(uniqueName()).readLock().acquire({ leaseTime: 20_000 });
    await sleep(300);
    const ttls = await Promise.all([kept, leased].map(({ name }) => admin.pttl(name)));
    proxy.refuse();
    proxy.cut();
    await admin.del(names[0]!);
    await proxy.accept();
    await within(
      SOON_MS,
      'the loss',
      sleepUntil(() => deleted.signal.aborted),
    );
    expect(deleted.signal.reason)
      .to.have.property('message')
      .match(/a check found it gone/);
    await sleep(50);
    expect([kept.isHeld, leased.isHeld]).to.deep.equal([true, true]);
    for (const [i, { name }] of [kept, leased].entries()) expect(await admin.pttl(name)).to.be.lessThan(ttls[i]!);
    await kept.unlock();
    await leased.unlock();
  });
});
