import { expect } from 'chai';
import { Redis } from 'ioredis';
import { CommandError, Config, Redisson, TimeUnit } from '../../lib';
import { examine } from '../../lib/operators/doctor';
import { Inspector } from '../../lib/operators/inspection';
import { redisUrl, risen, sleep, sleepUntil, trackClient, uniqueName } from '../support';
import { FakeProvider } from '../support/FakeProvider';
import { PROVIDERS, type ProviderProfile, refusalOf, WITHOUT_SCRIPTS } from '../support/providers';

/** A waiter that is told wakes within this, in ms; one that sleeps on sleeps for its lease. */
const WOKEN_MS = 5_000;
/**
 * Renewed every three seconds: a machine that stands still for two more loses nothing, nor does a connection that is
 * cut.
 */
const WATCHDOG_MS = 9_000;

function configOf(provider: FakeProvider): Config {
  const config = new Config().setLockWatchdogTimeout(WATCHDOG_MS);
  if (provider.profile.virtualCluster !== undefined) config.useClusterServers().addNodeAddress(provider.url);
  else config.useSingleServer().setAddress(provider.url);
  return config;
}

describe('managed services, as they are documented (docs/managed.md)', function () {
  this.timeout(60_000);

  for (const profile of PROVIDERS) {
    describe(profile.name, () => {
      let provider: FakeProvider;
      let clients: readonly [Redisson, Redisson];

      let redis: Redis;

      beforeEach(async () => {
        redis = trackClient(new Redis(redisUrl()));
        provider = trackClient(await FakeProvider.start(profile, redisUrl()));
        clients = [trackClient(Redisson.create(configOf(provider))), trackClient(Redisson.create(configOf(provider)))];
      });

      /** Waits until the lease of a lock has risen in Redis, past the provider. */
      async function renewed(name: string): Promise<void> {
        const isRenewed = risen(() => redis.pttl(name));
        await sleepUntil(isRenewed, { interval: 20, timeout: WATCHDOG_MS, message: `a renewal of ${name}` });
      }

      for (const kind of ['getLock', 'getFairLock', 'getFencedLock', 'getSpinLock'] as const) {
        it(`${kind}: never two inside; a waiter is woken`, async () => {
          const name = uniqueName();
          let inside = 0;
          const work = [0, 1, 2, 3, 4, 5].map((i) =>
            clients[i % 2]![kind](name).withLock(
              async () => {
                expect(++inside).to.equal(1);
                await sleep(5);
                inside--;
              },
              { leaseTime: 60_000 },
            ),
          );
          const startedAt = performance.now();
          await Promise.all(work);
          expect(performance.now() - startedAt).to.be.lessThan(WOKEN_MS);
          await redis.del(`redisson_lock_token:{${name}}`);
        });
      }

      it('a read/write lock, a semaphore, permits with a lease, a latch, a group', async () => {
        const [one, other] = clients;
        const name = uniqueName();
        const pair = one.getReadWriteLock(name);
        await pair.readLock().lock();
        const writing = other.getReadWriteLock(name).writeLock().acquire();
        await pair.readLock().unlock();
        await (await writing).unlock();
        const semaphore = one.getSemaphore(`${name}:s`);
        await semaphore.trySetPermits(1);
        await semaphore.acquire();
        const waiting = other.getSemaphore(`${name}:s`).tryAcquire(1, WOKEN_MS, TimeUnit.MILLISECONDS);
        await semaphore.release();
        expect(await waiting).to.equal(true);
        await semaphore.delete();
        const permits = one.getPermitExpirableSemaphore(`${name}:p`);
        await permits.trySetPermits(1);
        await permits.release(await permits.acquire());
        await permits.delete();
        const latch = one.getCountDownLatch(`${name}:l`);
        await latch.trySetCount(1);
        const opened = other.getCountDownLatch(`${name}:l`).await(WOKEN_MS, TimeUnit.MILLISECONDS);
        await latch.countDown();
        expect(await opened).to.equal(true);
        await one.getMultiLock(`${name}:g`, ['a', 'b']).withLock(() => undefined);
      });

      it('a lock is kept over connections that are cut since they are silent, and a waiter is woken', async () => {
        const [one, other] = clients;
        const name = uniqueName();
        const hold = await one.getLock(name).acquire();
        const waiting = other.getLock(name).acquire();
        await (provider.profile.idle === undefined ? sleep(1_200) : renewed(name));
        expect(hold.isHeld).to.equal(true);
        const startedAt = performance.now();
        await hold.unlock();
        await (await waiting).unlock();
        expect(performance.now() - startedAt).to.be.lessThan(WOKEN_MS);
        if (provider.profile.idle !== undefined) expect(provider.idleCuts).to.be.greaterThan(0);
      });

      it('an inspector says who holds a lock and who waits', async () => {
        const [one, other] = clients;
        const name = uniqueName();
        const inspector = trackClient(new Inspector(one));
        const hold = await one.getFairLock(name).acquire();
        const waiting = other.getFairLock(name).acquire();
        // A waiter stands in the queue before it listens.
        const report = await sleepUntil(async () => {
          const seen = await inspector.inspect(name);
          return seen.queue?.length === 1 && seen.queue[0]!.listening ? seen : undefined;
        });
        expect(report.holders).to.have.length(1);
        expect(report.verdict.kind).to.be.oneOf(['held', 'unknown']);
        expect((await inspector.list(name)).map((one) => one.name)).to.deep.equal([name]);
        await hold.unlock();
        await (await waiting).unlock();
      });

      it('the doctor names what is refused, and what that costs', async () => {
        const [finding] = (await examine(configOf(provider))).filter(({ check }) => check === 'provider');
        const refused = ['WAIT', 'CONFIG GET', 'CLIENT LIST', 'PUBSUB NUMSUB', 'INFO'].flatMap((command) => {
          const words = refusalOf(profile, command.split(' '));
          return words === undefined ? [] : [{ command, words }];
        });
        // What only this user may not do is named, too; it is nothing to be warned of.
        const unknown = refused.filter(({ words }) => !words.startsWith('NOPERM'));
        for (const { command } of refused) expect(finding!.found).to.contain(command);
        if (refused.length === 0) expect(finding!.found).to.not.match(/WAIT|CONFIG|CLIENT|PUBSUB|INFO/);
        expect(finding!.status).to.equal(unknown.length > 0 ? 'warning' : 'ok');
      });
    });
  }

  for (const says of [
    "ERR unknown command 'info', with args beginning with: ",
    "ERR Command is not available: 'INFO'. See https://docs.upstash.com/overall/rediscompatibility for details",
    'ERR This command is disabled by the administrator',
    "ERR command 'INFO' not support for normal user",
  ]) {
    it(`INFO may be refused to everybody: ${says}`, async () => {
      const refuses = { info: { says, evidence: { kind: 'guess' } as const } };
      const profile: ProviderProfile = { name: 'no INFO', id: 'no-info', refuses };
      const provider = trackClient(await FakeProvider.start(profile, redisUrl()));
      const [one, other] = [0, 1].map(() => trackClient(Redisson.create(provider.url))) as [Redisson, Redisson];
      const name = uniqueName();
      const hold = await one.getLock(name).acquire();
      const waiting = other.getLock(name).acquire();
      await hold.unlock();
      await (await waiting).unlock();
      const [finding] = (await examine(configOf(provider))).filter(({ check }) => check === 'provider');
      expect(finding!.found).to.contain('INFO (');
      expect(finding!.status).to.equal('warning');
    });
  }

  it(`${WITHOUT_SCRIPTS.name}: a lock is refused with the words of the service, and the doctor says why`, async () => {
    const provider = trackClient(await FakeProvider.start(WITHOUT_SCRIPTS, redisUrl()));
    const config = configOf(provider);
    const client = trackClient(Redisson.create(config));
    const error = (await client
      .getLock(uniqueName())
      .tryLock()
      .catch((reason: unknown) => reason)) as CommandError;
    expect(error).to.be.instanceOf(CommandError);
    expect((error.cause as Error).message).to.match(/unknown command '(eval|EVAL)/);
    const findings = await examine(configOf(provider));
    expect(
      findings
        .filter(({ status }) => status === 'error')
        .map(({ found }) => found)
        .join(),
    ).to.match(/eval/i);
  });

  it('C13: an endpoint whose old connections are sent in a circle is connected to anew', async () => {
    const profile: ProviderProfile = { ...PROVIDERS[0]!, refuses: {} };
    const provider = trackClient(await FakeProvider.start(profile, redisUrl()));
    const client = trackClient(Redisson.create(configOf(provider)));
    const lock = client.getLock(uniqueName());
    await lock.withLock(() => undefined);
    provider.swap();
    const startedAt = performance.now();
    await lock.withLock(() => undefined);
    expect(performance.now() - startedAt).to.be.lessThan(WOKEN_MS);
    await sleepUntil(() => provider.circles > 0);
  });
});
