// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import type { Redisson } from '../../../lib';
import { within } from '../../faults/scene';
import { sleep } from '../../support';
import { newClient, openTwoNames, untilListening } from './support';

// Redisson gives the names x and {x} one channel, and a semaphore and a permit-expirable semaphore of one name as well.
describe('A1: synchronizers whose channel is that of another name, too', () => {
  let redis: Redis;
  let client: Redisson;
  let bare: string;
  let braced: string;

  beforeEach(() => {
    ({ redis, bare, braced } = openTwoNames());
    client = newClient();
  });

  for (const order of ['x before {x}', '{x} before x']) {
    it(`semaphore: permits of the one wake its waiter, however many wait for the other before it: ${order}`, async () => {
      const [first, second] = order.startsWith('x') ? [bare, braced] : [braced, bare];
      const stop = new AbortController();
      const others = Array.from({ length: 5 }, () =>
        client
          .getSemaphore(first)
          .acquire(1, { signal: stop.signal })
          .catch(() => 'stopped'),
      );
      await untilListening(redis, `redisson_sc:{${bare}}`);
      const waiter = client.getSemaphore(second).acquire(1);
      const small = client.getSemaphore(second).acquire(2);
      await client.getSemaphore(second).release(1);
      await within(2_000, 'the waiter of one permit', waiter);
      await client.getSemaphore(second).release(2);
      await within(2_000, 'the waiter of two permits', small);
      expect([await redis.get(first), await redis.get(second)]).to.deep.equal([null, '0']);
      stop.abort();
      expect(await Promise.all(others)).to.deep.equal(Array(5).fill('stopped'));
      await untilListening(redis, `redisson_sc:{${bare}}`, 0);
    });

    it(`permit-expirable semaphore: the same: ${order}`, async () => {
      const [first, second] = order.startsWith('x') ? [bare, braced] : [braced, bare];
      const stop = new AbortController();
      const others = Array.from({ length: 5 }, () =>
        client
          .getPermitExpirableSemaphore(first)
          .acquire(-1, undefined, { signal: stop.signal })
          .catch(() => 'stopped'),
      );
      await untilListening(redis, `redisson_sc:{${bare}}`);
      const waiter = client.getPermitExpirableSemaphore(second).acquire();
      await client.getPermitExpirableSemaphore(second).trySetPermits(1);
      expect(await within(2_000, 'the waiter', waiter)).to.match(/^[0-9a-f]{32}$/);
      stop.abort();
      expect(await Promise.all(others)).to.deep.equal(Array(5).fill('stopped'));
    });
  }

  for (const same of [false, true]) {
    it(`each kind of semaphore is woken by its own rule, whichever waited first${same ? ', also of one name' : ''}`, async () => {
      const stop = new AbortController();
      // It needs three, and takes no notice of fewer; a permit-expirable one beside it must not learn that from it.
      const plain = client
        .getSemaphore(same ? bare : braced)
        .acquire(3, { signal: stop.signal })
        .catch(() => 'stopped');
      await untilListening(redis, `redisson_sc:{${bare}}`);
      const permits = client.getPermitExpirableSemaphore(bare);
      await permits.trySetPermits(1);
      const waiter = permits.acquireMany(2);
      // It sleeps by then: its second attempt would find what is added.
      await sleep(100);
      await permits.addPermits(1);
      expect(await within(2_000, 'the waiter', waiter)).to.have.length(2);
      stop.abort();
      expect(await plain).to.equal('stopped');
    });
  }

  it('latch: x and {x} open each for itself', async () => {
    const [one, other] = [client.getCountDownLatch(bare), client.getCountDownLatch(braced)];
    await one.trySetCount(1);
    await other.trySetCount(1);
    let open = false;
    const waiting = other.await().then(() => (open = true));
    const first = one.await();
    await untilListening(redis, `redisson_countdownlatch__channel__{${bare}}`);
    await untilListening(redis, `redisson_countdownlatch__channel__{${braced}}`);
    await one.countDown();
    expect(await within(2_000, 'the latch', first)).to.equal(true);
    expect(open).to.equal(false);
    await other.countDown();
    await within(2_000, 'the other latch', waiting);
  });
});
