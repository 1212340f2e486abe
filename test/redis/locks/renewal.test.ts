// Ids in titles: test/README.md
import { expect } from 'chai';
import { IllegalMonitorStateError } from '../../../lib';
import { monitor, RedisServer, sleep, sleepUntil, trackClient } from '../../support';
import { bareClient, newClient, rejection } from '../synchronizers/support';

const WATCHDOG_MS = 900;

describe('watchdog on a server of its own', () => {
  it('LR-03: after a restart that lost the lock its unlock is refused; later cycles are renewed as ever', async function () {
    this.timeout(20_000);
    const server = trackClient(await RedisServer.start());
    const client = newClient({ url: server.url, lockWatchdogTimeout: WATCHDOG_MS, lockWatchdogBatchSize: 50 });
    const lock = client.getLock('lock');
    const lost: string[] = [];
    client.onLockLost(({ name }) => lost.push(name));

    await lock.lock();
    await server.restart();
    await sleep(WATCHDOG_MS * 2);
    expect(lost).to.deep.equal(['lock']);
    expect(await rejection(lock.unlock())).to.be.instanceOf(IllegalMonitorStateError);

    for (let cycle = 0; cycle < 2; cycle++) {
      await lock.lock();
      await sleep(WATCHDOG_MS * 1.7);
      expect(await lock.isHeldByCurrentThread()).to.equal(true);
      await lock.unlock();
      await sleep(WATCHDOG_MS / 2);
    }
    expect(lost).to.have.length(1);
  });

  it('LR-03: a server that is away for less than the lease costs no lock', async function () {
    this.timeout(20_000);
    const server = trackClient(await RedisServer.start());
    const client = newClient({ url: server.url, lockWatchdogTimeout: 1_500 });
    const hold = await client.getLock('lock').acquire();
    await sleep(100);
    server.pause();
    await sleep(700);
    server.resume();
    await sleep(2_000);
    expect(hold.isHeld).to.equal(true);
    await hold.unlock();
  });

  it('G-12: 120 locks in batches of 50 are 3 commands per period; one that vanishes takes no other with it', async function () {
    this.timeout(20_000);
    const server = trackClient(await RedisServer.start());
    const redis = bareClient(server.url);
    const client = newClient({ url: server.url, lockWatchdogTimeout: WATCHDOG_MS, lockWatchdogBatchSize: 50 });
    const names = Array.from({ length: 120 }, (_, i) => `lock-${i}`);
    const lost: string[] = [];
    client.onLockLost(({ name }) => lost.push(name));
    await Promise.all(names.map((name) => client.getLock(name).lock(-1, undefined, 1)));
    await sleep(WATCHDOG_MS / 2);
    const seen = trackClient(await monitor(server.url));
    await redis.del('lock-60');
    await sleepUntil(() => lost.length > 0, { timeout: WATCHDOG_MS + 1_000 });
    const renewals = (await seen.sent()).filter(({ name }) => name.startsWith('eval'));
    expect(renewals.length % 3).to.equal(0);
    await sleep(WATCHDOG_MS * 1.5);
    expect(lost).to.deep.equal(['lock-60']);
    expect(await redis.exists(...names)).to.equal(119);
    await Promise.all(names.filter((name) => name !== 'lock-60').map((name) => client.getLock(name).unlock(1)));
    expect(await redis.dbsize()).to.equal(0);
  });
});

describe('keyspace events', () => {
  it('L-26 LX-03: an unlock deletes the key, a lease lets it expire; a hand-over is neither', async function () {
    const server = trackClient(await RedisServer.start({ args: ['--notify-keyspace-events', 'Egx'] }));
    const listener = bareClient(server.url);
    const events: string[] = [];
    listener.on('pmessage', (_pattern: string, channel: string, key: string) => {
      if (key === 'lock') events.push(channel.split(':')[1]!);
    });
    await listener.psubscribe('__keyevent@*__:expired', '__keyevent@*__:del');
    const client = newClient({ url: server.url });
    const lock = client.getLock('lock');
    await lock.lock(5_000);
    await lock.unlock();
    await sleepUntil(() => events.length === 1);
    await lock.lock(200);
    await sleepUntil(() => events.length === 2);
    expect(events).to.deep.equal(['del', 'expired']);

    await lock.lock(5_000);
    const next = client.getLock('lock').lock(5_000, undefined, 1);
    await sleep(50);
    await lock.unlock();
    await next;
    await client.getLock('lock').unlock(1);
    await sleepUntil(() => events.length >= 3);
    await sleep(50);
    expect(events.slice(2).every((event) => event === 'del')).to.equal(true);
  });
});
