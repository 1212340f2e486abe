import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type LockHold, LockLostError, type LockLostEvent, type Redisson } from '../../lib';
import { monotonicNow, RedisServer, sleep, sleepUntil, TcpProxy, trackClient, uniqueName } from '../support';
import { client, connection, gone, SOON_MS, within } from './scene';

/** Renewed every 2200 ms: a machine that stands still for two seconds more than the trouble lasts loses nothing. */
const WATCHDOG_MS = 6_600;
/** For a loss that is waited for. */
const SHORT_WATCHDOG_MS = 2_100;

describe('a holder', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  let direct: Redis;
  let redisson: Redisson;
  let name: string;
  let hold: LockHold;
  let lost: LockLostEvent[];

  beforeEach(async () => {
    server = trackClient(await RedisServer.start({ args: ['--lua-time-limit', '100'], debug: true }));
    proxy = trackClient(await TcpProxy.start(server.url));
    direct = connection(server.url);
    redisson = client(proxy.url, { lockWatchdogTimeout: WATCHDOG_MS, timeout: 300 });
    lost = [];
    redisson.onLockLost((event) => lost.push(event));
    name = uniqueName();
    hold = await redisson.getLock(name).acquire();
  });

  /** The trouble lasts until a renewal has been due for a while, and was not confirmed. */
  async function renewalMissed(): Promise<void> {
    const isDue = (): boolean => hold.remainingLeaseMs < (2 / 3) * WATCHDOG_MS;
    do {
      await sleepUntil(isDue, { timeout: WATCHDOG_MS, message: 'a renewal is due' });
      await sleep(200);
    } while (!isDue());
  }

  /** Waits until Redis has confirmed a renewal from now on. */
  async function renewed(one: LockHold): Promise<void> {
    const end = (): number => monotonicNow() + one.remainingLeaseMs;
    const before = end();
    await sleepUntil(() => one.isHeld && end() > before + 1_000, {
      timeout: WATCHDOG_MS,
      message: 'the lease is renewed',
    });
    expect(await direct.pttl(one.name)).to.be.at.least(Math.floor(one.remainingLeaseMs));
  }

  /** Its lease goes on after the trouble, with the same owner, and it can be given back. */
  async function survives(): Promise<void> {
    const owner = await direct.hgetall(name);
    await renewed(hold);
    expect(hold.isHeld).to.be.true;
    expect(hold.signal.aborted).to.be.false;
    expect(lost).to.deep.equal([]);
    expect(Object.values(owner)).to.deep.equal(['1']);
    expect(await direct.hgetall(name)).to.deep.equal(owner);
    await hold.unlock();
    expect(await direct.exists(name)).to.equal(0);
  }

  /** What the server has counted: that the trouble met a renewal at all. */
  function stats(section: string): Promise<string> {
    return direct.info(section);
  }

  describe('keeps the lock', () => {
    it('when renewals are refused with READONLY (a failover that is taken back)', async () => {
      await direct.replicaof('127.0.0.1', '1');
      await renewalMissed();
      await direct.replicaof('NO', 'ONE');
      expect(await stats('errorstats')).to.contain('errorstat_READONLY');
      await survives();
    });

    it('when renewals are refused with BUSY (a script that does not end)', async () => {
      const stuck = connection(server.url);
      const endless = stuck.eval('while true do end', 0).catch((error: Error) => error.message);
      await renewalMissed();
      await direct.script('KILL');
      expect(await endless).to.match(/killed/i);
      expect(await stats('errorstats')).to.contain('errorstat_BUSY');
      await survives();
    });

    it('when renewals are refused with LOADING (a server that reads its data)', async () => {
      // Keys enough for a minute, each of them ten milliseconds.
      await direct.eval("for i = 1, 6000 do redis.call('set', 'filler' .. i, i) end", 0);
      await direct.config('SET', 'key-load-delay', '10000');
      await direct.config('SET', 'loading-process-events-interval-bytes', '1024');
      const refusals = connection(server.url);
      await refusals.ping();
      const reloading = direct.call('DEBUG', 'RELOAD');
      await sleepUntil(
        () =>
          refusals.get('filler1').then(
            () => false,
            (error: Error) => error.message.startsWith('LOADING'),
          ),
        { interval: 1, message: 'the server says LOADING' },
      );
      await renewalMissed();
      await refusals.config('SET', 'key-load-delay', '0');
      await reloading;
      expect(await stats('commandstats')).to.match(/cmdstat_eval(sha)?:.*rejected_calls=[1-9]/);
      await survives();
    });

    it('when renewals go unanswered', async () => {
      proxy.blackhole();
      await renewalMissed();
      // No network loses bytes and goes on: replies would be those of earlier commands.
      proxy.cut();
      await proxy.pass();
      await survives();
    });

    it('when answers are lost, although the renewals arrive', async () => {
      proxy.blackhole('down');
      await renewalMissed();
      // No network loses bytes and goes on: replies would be those of earlier commands.
      proxy.cut();
      await proxy.pass();
      await survives();
    });

    it('when the connection breaks and comes back', async () => {
      proxy.refuse();
      proxy.cut();
      await renewalMissed();
      await proxy.accept();
      await survives();
    });

    it('when the server hangs for a while', async () => {
      server.pause();
      await renewalMissed();
      server.resume();
      await survives();
    });

    it('when the scripts are flushed', async () => {
      await direct.script('FLUSH');
      await survives();
    });
  });

  describe('is told of a loss', () => {
    /** Takes the lock with a lease that is worth waiting for. */
    async function holdShortly(): Promise<void> {
      await hold.unlock();
      redisson = client(proxy.url, { lockWatchdogTimeout: SHORT_WATCHDOG_MS, timeout: 300 });
      redisson.onLockLost((event) => lost.push(event));
      hold = await redisson.getLock(name).acquire();
    }

    it('before anybody else can have the lock, once, when Redis is out of reach for longer than the lease', async () => {
      const events: string[] = [];
      await holdShortly();
      hold.signal.addEventListener('abort', () => events.push('lost'));
      const other = client(server.url).getLock(name);
      const waiting = other.acquire().then((next) => {
        // What is in the queue of this very turn counts as before.
        events.push(hold.isHeld ? 'in while held' : 'in');
        return next;
      });
      proxy.blackhole();
      const next = await within(SOON_MS, 'the other one gets in', waiting);
      expect(events).to.deep.equal(['lost', 'in']);
      await proxy.pass();
      expect(hold.signal.reason).to.be.instanceOf(LockLostError);
      const error = await hold.unlock().catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(LockLostError);
      // Its watchdog is back in reach, and leaves the lock of the other one alone.
      await sleep(SHORT_WATCHDOG_MS / 2);
      expect(next.isHeld).to.be.true;
      expect(lost.map((event) => [event.name, event.threadId])).to.deep.equal([[name, hold.threadId]]);
      await next.unlock();
    });

    it('before anybody else can have the lock when an explicit lease ends', async () => {
      const events: string[] = [];
      const short = await redisson.getLock(`${name}:2`).acquire({ leaseTime: 500 });
      short.signal.addEventListener('abort', () => events.push('lost'));
      const next = await client(server.url).getLock(`${name}:2`).acquire();
      events.push('in');
      expect(events).to.deep.equal(['lost', 'in']);
      await next.unlock();
      await hold.unlock();
    });

    it('at the next renewal, once, after a restart without data', async () => {
      await holdShortly();
      await direct.ping();
      await server.restart();
      await sleepUntil(() => hold.signal.aborted, { timeout: SOON_MS, message: 'the loss is told' });
      expect(hold.signal.reason).to.be.instanceOf(LockLostError);
      expect(hold.isHeld).to.be.false;
      await sleep(SHORT_WATCHDOG_MS / 2);
      expect(lost).to.have.lengthOf(1);
      expect(lost[0]!.cause).to.equal(hold.signal.reason);
      await direct.ping();
    });

    it('when somebody deletes the lock, at the next renewal, and lets the next owner be', async () => {
      await direct.del(name);
      const next = await client(server.url).getLock(name).acquire();
      await sleepUntil(() => hold.signal.aborted, { timeout: SOON_MS, message: 'the loss is told' });
      expect(lost).to.have.lengthOf(1);
      expect(await hold.unlock().catch((reason: unknown) => reason)).to.be.instanceOf(LockLostError);
      expect(next.isHeld).to.be.true;
      await next.unlock();
      await gone(direct, name);
    });

    it('whatever its listeners do: one that throws stops neither the others nor the watchdog', async () => {
      const warnings: Error[] = [];
      const collect = (warning: Error): void => void warnings.push(warning);
      process.on('warning', collect);
      try {
        const told: string[] = [];
        redisson.onLockLost(() => {
          throw new Error('on purpose');
        });
        redisson.onLockLost((event) => told.push(event.name));
        const other = await redisson.getLock(`${name}:2`).acquire();
        await direct.del(name);
        await sleepUntil(() => told.length > 0, { timeout: SOON_MS, message: 'the loss is told' });
        await renewed(other);
        expect(told).to.deep.equal([name]);
        expect(other.isHeld).to.be.true;
        await other.unlock();
        await sleepUntil(() => warnings.length > 0, { message: 'the warning' });
        expect(warnings.map(({ message }) => message).join()).to.contain('on purpose');
      } finally {
        process.off('warning', collect);
      }
    });
  });
});
