import { Redis } from 'ioredis';
import * as sinon from 'sinon';
import { allowLeftovers, fakeClock, redisUrl, trackClient, uniqueName } from '../../support';

// Run by leaks.test.ts: each of these leaves something behind, and says in its title what the leak check has to say.
const target = { method: () => 'real' };

describe('leaky', () => {
  it('subscription', async () => {
    await trackClient(new Redis(redisUrl())).subscribe(uniqueName('left'));
  });

  it('key', async () => {
    await trackClient(new Redis(redisUrl())).set(uniqueName('redisson_left'), 1, 'PX', 20_000);
  });

  it('connections', async () => {
    const forgotten = new Redis(redisUrl());
    await forgotten.ping();
    process.once('leaky:close', () => forgotten.disconnect());
  });

  it('timers', () => {
    const forgotten = setTimeout(() => undefined, 60_000);
    process.once('leaky:close', () => clearTimeout(forgotten));
  });

  it('unhandled rejection', async () => {
    void Promise.reject(new Error('nobody listens'));
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('nothing: fakes', () => {
    fakeClock();
    sinon.stub(target, 'method').returns('fake');
  });

  it('nothing: the fakes are gone', () => {
    if (target.method() !== 'real' || Date.now() < 1e12) throw new Error('still faked');
  });

  it('nothing: all of it allowed', async () => {
    allowLeftovers({ keys: /^redisson_left/, channels: true });
    const client = trackClient(new Redis(redisUrl()));
    await client.set(uniqueName('redisson_left'), 1, 'PX', 20_000);
    await client.subscribe(uniqueName('left'));
  });

  after(() => process.emit('leaky:close' as never));
});
