import { expect } from 'chai';
import { Redis } from 'ioredis';
import { CommandError, Config, Redisson, type RLock } from '../../lib';
import { examine } from '../../lib/operators/doctor';
import { Inspector } from '../../lib/operators/inspection';
import { redisUrl, RedisServer, ReplicatedRedis, sleep, sleepUntil, trackClient, uniqueName } from '../support';
import { FakeProvider } from '../support/FakeProvider';

const RULES = ['reset', 'on', '>secret', '~*', '&*', '+@all'];

/** Both take the lock in turn, the second one after it has slept. */
async function takeTurns(one: RLock, other: RLock): Promise<void> {
  const hold = await one.acquire({ leaseTime: 60_000 });
  const next = other.acquire({ waitTime: 10_000 });
  await sleep(50);
  const startedAt = performance.now();
  await hold.unlock();
  await (await next).unlock();
  expect(performance.now() - startedAt).to.be.below(5_000);
}

describe('what a service may refuse, by the rights of a user of a real server (docs/managed.md)', function () {
  this.timeout(60_000);

  async function serverFor(...denied: string[]): Promise<{ readonly url: string; readonly admin: Redis }> {
    const server = trackClient(await RedisServer.start());
    const admin = trackClient(new Redis(server.url));
    await admin.call('acl', 'setuser', 'service', ...RULES, ...denied);
    return { url: `redis://service:secret@${server.host}:${server.port}`, admin };
  }

  const open = (url: string): Redisson => trackClient(Redisson.create(url));

  for (const denied of [
    '-wait',
    '-client',
    '-config',
    '-info',
    '-pubsub',
    '-wait -client -config -info -pubsub -acl',
  ]) {
    it(`${denied}: locks are taken, waited for and handed on`, async () => {
      const { url } = await serverFor(...denied.split(' '));
      const [one, other] = [open(url), open(url)];
      for (const kind of ['getLock', 'getFairLock', 'getFencedLock', 'getNonReentrantLock'] as const) {
        const name = uniqueName();
        await takeTurns(one[kind](name), other[kind](name));
      }
    });
  }

  it('CLIENT: a holder is not known to be connected, and nobody is said to be gone', async () => {
    const { url } = await serverFor('-client');
    const hold = await open(url).getLock('app:x').acquire();
    const inspector = trackClient(new Inspector(open(url)));
    const { holders, verdict } = await inspector.inspect('app:x');
    expect(holders).to.have.length(1);
    expect(verdict.kind).to.be.oneOf(['held', 'unknown']);
    await hold.unlock();
  });

  it('PUBSUB: a list has the locks and their holders all the same', async () => {
    const { url } = await serverFor('-pubsub');
    const client = open(url);
    const hold = await client.getLock('app:x').acquire();
    const waiting = open(url).getLock('app:x').acquire();
    const inspector = trackClient(new Inspector(client));
    const listed = await inspector.list('app:*');
    expect(listed.map(({ name, holders }) => [name, holders.length])).to.deep.equal([['app:x', 1]]);
    await hold.unlock();
    await (await waiting).unlock();
  });

  it('CONFIG: the doctor says UNKNOWN of what only it tells, and names what that costs', async () => {
    const { url } = await serverFor('-config');
    const findings = await examine(url);
    const statusOf = (check: string): string => findings.find((one) => one.check === check)!.status;
    expect([statusOf('buffers'), statusOf('timeouts'), statusOf('memory')]).to.deep.equal(['unknown', 'unknown', 'ok']);
    expect(findings.find(({ check }) => check === 'provider')!.found).to.match(
      /CONFIG GET \(.*console of the provider/,
    );
  });

  it('SUBSCRIBE: who waits gets a CommandError with the words of the server; who does not wait gets the lock', async () => {
    const { url } = await serverFor('-subscribe');
    const [one, other] = [open(url), open(url)];
    const hold = await one.getLock('app:x').acquire();
    const lock = other.getLock('app:x');
    expect(await lock.tryLock()).to.equal(false);
    const error = await lock.lock().then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(error).to.be.instanceOf(CommandError);
    expect(((error as Error).cause as Error).message).to.match(/^NOPERM .*subscribe/i);
    await hold.unlock();
    expect(await lock.tryLock()).to.equal(true);
    await lock.unlock();
  });

  it('WAIT, with replicas and checkLockSyncedSlaves: acquisitions are not confirmed, and succeed', async () => {
    const group = trackClient(await ReplicatedRedis.start({ replicas: 1 }));
    for (const { url } of [group.master, ...group.replicas]) {
      await trackClient(new Redis(url)).call('acl', 'setuser', 'service', ...RULES, '-wait');
    }
    const [one, other] = [1, 2].map(() => {
      const config = new Config();
      const servers = config.useMasterSlaveServers().setUsername('service').setPassword('secret');
      servers.setMasterAddress(group.master.url).addSlaveAddress(...group.replicas.map(({ url }) => url));
      return trackClient(Redisson.create(config));
    }) as [Redisson, Redisson];
    await takeTurns(one.getLock('app:x'), other.getLock('app:x'));
  });
});

describe('a service that limits how many channels a connection listens to', () => {
  it('the waits within the limit are served; the next one is a CommandError, until there is room', async () => {
    const says = 'ERR max number of subscriptions per connection reached';
    const evidence = { kind: 'guess' } as const;
    const profile = { name: 'few channels', id: 'few-channels', refuses: {}, channels: { most: 2, says, evidence } };
    const provider = trackClient(await FakeProvider.start(profile, redisUrl()));
    const waiter = trackClient(Redisson.create({ url: provider.url, introspection: false }));
    const holder = trackClient(Redisson.create(redisUrl()));
    const names = [uniqueName(), uniqueName(), uniqueName()] as const;
    const holds = await Promise.all(names.map((name) => holder.getLock(name).acquire()));
    const redis = trackClient(new Redis(redisUrl()));
    const listening = async (name: string): Promise<boolean> =>
      ((await redis.pubsub('NUMSUB', `redisson_lock__channel:{${name}}`)) as [string, number])[1] > 0;
    const [first, second] = names.slice(0, 2).map((name) => waiter.getLock(name).acquire());
    await sleepUntil(async () => (await listening(names[0])) && (await listening(names[1])));
    const error = await waiter
      .getLock(names[2])
      .acquire()
      .catch((failure: unknown) => failure);
    expect(error).to.be.instanceOf(CommandError);
    expect(((error as Error).cause as Error).message).to.equal(says);
    for (const hold of holds.slice(0, 2)) await hold.unlock();
    for (const taken of [await first!, await second!]) await taken.unlock();
    await sleepUntil(async () => !(await listening(names[0])));
    const third = waiter.getLock(names[2]).acquire();
    await sleepUntil(() => listening(names[2]));
    await holds[2]!.unlock();
    await (await third).unlock();
  });
});
