// Ids in titles: test/README.md
import { expect } from 'chai';
import { Redis } from 'ioredis';
import {
  CommandError,
  ConfigError,
  PrefixNameMapper,
  Redisson,
  type RedissonOptions,
  type RObject,
  ShutdownError,
  TimeUnit,
  UnsupportedOperationError,
} from '../../../lib';
import { RedisServer, sleepUntil, trackClient } from '../../support';
import { rulesOf } from '../../support/securityPage';

const SETTING = 'notify-keyspace-events';

describe('object listeners', function () {
  this.timeout(20_000);
  let server: RedisServer;
  let admin: Redis;
  let client: Redisson;
  let other: Redisson;
  let heard: string[];

  before(async () => {
    server = await RedisServer.start();
  });
  after(() => server.stop());

  beforeEach(async () => {
    admin = trackClient(new Redis(server.url));
    await admin.flushall();
    await admin.config('SET', SETTING, 'Egx');
    client = opened();
    other = opened();
    heard = [];
  });

  function opened(options: RedissonOptions = {}): Redisson {
    return trackClient(Redisson.create({ url: server.url, ...options }));
  }

  /** Notes what it is told. */
  const notes = {
    onExpired: (name: string) => heard.push(`expired ${name}`),
    onDeleted: (name: string) => heard.push(`deleted ${name}`),
  };

  async function hears(...events: string[]): Promise<void> {
    await sleepUntil(() => heard.length >= events.length, {
      message: `${events.join(', ')}; heard ${heard.join(', ')}`,
    });
    expect(heard).to.deep.equal(events);
    heard.length = 0;
  }

  /** How many connections listen to events. */
  async function listening(event = 'del', database = 0): Promise<number> {
    const [, count] = (await admin.pubsub('NUMSUB', `__keyevent@${database}__:${event}`)) as [string, number];
    return count;
  }

  async function rejection(call: Promise<unknown>): Promise<Error> {
    return call.then(
      () => expect.fail('did not reject'),
      (error: unknown) => error as Error,
    );
  }

  it('L-26 LX-03: deleted by the last release, expired by the lease, nothing after removal', async () => {
    const lock = client.getLock('x');
    const expired = await lock.addListener({ onExpired: notes.onExpired });
    const deleted = await lock.addListener({ onDeleted: notes.onDeleted });
    expect(expired).to.not.equal(deleted);
    await client.getLock('fence').addListener({ onDeleted: notes.onDeleted });
    // Events come in order: whatever was before it has come with it.
    const fence = async (): Promise<void> => {
      await admin.set('fence', 1);
      await admin.del('fence');
    };
    await lock.lock(5, TimeUnit.SECONDS, 7);
    await lock.lock(5, TimeUnit.SECONDS, 7);
    await lock.unlock(7);
    await fence();
    await hears('deleted fence');
    await lock.unlock(7);
    await hears('deleted x');
    await lock.lock(200, TimeUnit.MILLISECONDS);
    await hears('expired x');
    await lock.removeListener(expired);
    await lock.lock(5, TimeUnit.SECONDS);
    await admin.pexpire('x', 20);
    await sleepUntil(async () => (await admin.exists('x')) === 0);
    await lock.lock(5, TimeUnit.SECONDS);
    await lock.unlock();
    await hears('deleted x');
    await lock.removeListener(deleted);
    await lock.lock(5, TimeUnit.SECONDS);
    await lock.unlock();
    await fence();
    await hears('deleted fence');
  });

  it('of every kind of lock and synchronizer; what other clients do is heard, too', async () => {
    const kinds: readonly [name: string, of: (by: Redisson) => RObject, end: (by: Redisson) => Promise<unknown>][] = [
      ['fair', (by) => by.getFairLock('fair'), async (by) => (await by.getFairLock('fair').acquire()).unlock()],
      [
        'fenced',
        (by) => by.getFencedLock('fenced'),
        async (by) => (await by.getFencedLock('fenced').acquire()).unlock(),
      ],
      ['spin', (by) => by.getSpinLock('spin'), async (by) => (await by.getSpinLock('spin').acquire()).unlock()],
      ['non', (by) => by.getNonReentrantLock('non'), async (by) => (await by.getLock('non').acquire()).unlock()],
      [
        'rw',
        (by) => by.getReadWriteLock('rw'),
        async (by) => (await by.getReadWriteLock('rw').writeLock().acquire()).unlock(),
      ],
      [
        'r',
        (by) => by.getReadWriteLock('r').readLock(),
        async (by) => (await by.getReadWriteLock('r').readLock().acquire()).unlock(),
      ],
      [
        'group',
        (by) => by.getMultiLock('group', ['a']),
        async (by) => (await by.getMultiLock('group', ['b']).acquire()).unlock(),
      ],
      [
        'semaphore',
        (by) => by.getSemaphore('semaphore'),
        async (by) => {
          await by.getSemaphore('semaphore').trySetPermits(1);
          await by.getSemaphore('semaphore').delete();
        },
      ],
      [
        'permits',
        (by) => by.getPermitExpirableSemaphore('permits'),
        async (by) => {
          await by.getPermitExpirableSemaphore('permits').trySetPermits(1);
          await by.getPermitExpirableSemaphore('permits').delete();
        },
      ],
      [
        'latch',
        (by) => by.getCountDownLatch('latch'),
        async (by) => {
          await by.getCountDownLatch('latch').trySetCount(1);
          await by.getCountDownLatch('latch').countDown();
        },
      ],
    ];
    for (const [, of] of kinds) await of(client).addListener(notes);
    for (const [name, , end] of kinds) {
      await end(other);
      await hears(`deleted ${name}`);
    }
    await other.getSemaphore('semaphore').trySetPermits(1, 100, TimeUnit.MILLISECONDS);
    await hears('expired semaphore');
  });

  it('a multi-lock and a red lock have none', async () => {
    for (const lock of [client.getMultiLock(client.getLock('a')), client.getRedLock(client.getLock('a'))]) {
      expect(await rejection(lock.addListener(notes))).to.be.instanceOf(UnsupportedOperationError);
      expect(await rejection(lock.removeListener(1))).to.be.instanceOf(UnsupportedOperationError);
    }
  });

  it('all listeners of a name are told, of any handle and kind; those of other names are not', async () => {
    await client.getLock('x').addListener(notes);
    await client.getFairLock('x').addListener({ onDeleted: (name) => heard.push(`fair ${name}`) });
    await client.getLock('y').addListener({ onDeleted: () => heard.push('y') });
    await admin.mset('x', 1, 'z', 1);
    await admin.del('z', 'x');
    await hears('deleted x', 'fair x');
  });

  it('is told the name as it was given, of the key that the name mapper makes, in its database', async () => {
    const mapped = opened({ url: `${server.url}/1`, nameMapper: new PrefixNameMapper('app:') });
    await mapped.getLock('x').addListener(notes);
    expect(await listening('del', 1)).to.equal(1);
    await admin.mset('x', 1, 'app:x', 1);
    await admin.del('x', 'app:x');
    await mapped.getLock('x').lock();
    await mapped.getLock('x').forceUnlock();
    await hears('deleted x');
  });

  it('removal: by any handle of the name, not by another name; the last one closes the connection', async () => {
    const connections = async (): Promise<number> =>
      String(await admin.client('LIST'))
        .trim()
        .split('\n').length;
    await Promise.all([client.ping(), other.ping()]);
    const idle = await connections();
    const first = await client.getLock('x').addListener(notes);
    const second = await client.getLock('x').addListener({ onDeleted: () => heard.push('second') });
    expect(await connections()).to.equal(idle + 1);
    await client.getLock('y').removeListener(first);
    await client.getFairLock('x').removeListener(first);
    await client.getLock('x').removeListener(first);
    await client.getLock('x').removeListener(12345);
    await sleepUntil(async () => (await listening('expired')) === 0);
    await admin.set('x', 1);
    await admin.del('x');
    await hears('second');
    await client.getLock('x').removeListener(second);
    await sleepUntil(async () => (await connections()) === idle);
    // And once more from the beginning.
    await client.getLock('x').addListener(notes);
    await admin.set('x', 1);
    await admin.del('x');
    await hears('deleted x');
  });

  it('listens on after its connection is lost', async () => {
    await client.getLock('x').addListener(notes);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await sleepUntil(async () => (await listening()) === 1 && (await listening('expired')) === 1);
    await admin.set('x', 1);
    await admin.del('x');
    await hears('deleted x');
  });

  it('events about many other keys do not reach it, and do not delay a waiter', async () => {
    await client.getLock('x').addListener(notes);
    const names = Array.from({ length: 20_000 }, (_, i) => `key-${i}`);
    await admin.mset(Object.fromEntries(names.map((name) => [name, 1])));
    const held = await other.getLock('y').acquire();
    const waiting = client.getLock('y').acquire();
    await sleepUntil(async () => ((await admin.pubsub('CHANNELS', '*lock__channel*')) as string[]).length === 1);
    await Promise.all([admin.del(...names), held.unlock()]);
    await (await waiting).unlock();
    await admin.set('x', 1);
    await admin.del('x');
    await hears('deleted x');
  });

  it('a server that does not send the events is refused, and told what to set', async () => {
    const cases: readonly [flags: string, listener: object, isRefused: boolean][] = [
      ['', notes, true],
      ['KA', notes, true],
      ['Eg', notes, true],
      ['Eg', { onDeleted: notes.onDeleted }, false],
      ['Ex', { onExpired: notes.onExpired }, false],
      ['Ex', { onDeleted: notes.onDeleted }, true],
      ['AE', notes, false],
    ];
    for (const [flags, listener, isRefused] of cases) {
      await admin.config('SET', SETTING, flags);
      const added = client.getSemaphore('x').addListener(listener);
      if (!isRefused) {
        await client.getSemaphore('x').removeListener(await added);
        continue;
      }
      const error = await rejection(added);
      expect(error, flags).to.be.instanceOf(UnsupportedOperationError);
      expect(error.message).to.contain(SETTING).and.contain('Egx');
      expect(await listening()).to.equal(0);
    }
  });

  describe('with the rights of docs/security.md', () => {
    async function restricted(without?: string, options: RedissonOptions = {}): Promise<Redisson> {
      const rules = [...rulesOf('connection'), ...rulesOf('lock'), ...rulesOf('listeners')];
      const given = rules.filter((rule) => rule !== without);
      await admin.call('ACL', 'SETUSER', 'service', 'reset', 'on', '>secret', ...given);
      return opened({ ...options, username: 'service', password: 'secret' });
    }

    it('works, and needs each of them', async () => {
      const service = await restricted();
      await service.getLock('app:x').addListener(notes);
      const hold = await service.getLock('app:x').acquire();
      await hold.unlock();
      await hears('deleted app:x');
      for (const channel of ['&__keyevent@0__:del', '&__keyevent@0__:expired']) {
        const lacking = await restricted(channel);
        const error = await rejection(lacking.getLock('app:x').addListener(notes));
        expect(error).to.be.instanceOf(CommandError);
        expect(error.message).to.contain('__keyevent@0__:');
        await lacking.shutdown();
        expect(await listening()).to.be.at.most(1);
      }
    });

    it('who may not read the configuration is believed, and the logger is told once', async () => {
      const lines: string[] = [];
      const nothing = (): void => undefined;
      const warn = (_fields: object, message: string): void => void lines.push(message);
      const logger = { debug: nothing, info: nothing, warn, error: nothing };
      const service = await restricted('+config|get', { logger });
      await service.getLock('app:x').addListener(notes);
      await service.getLock('app:y').addListener(notes);
      await admin.set('app:y', 1);
      await admin.del('app:y');
      await hears('deleted app:y');
      expect(lines).to.have.length(1);
      expect(lines[0]).to.contain(SETTING);
    });
  });

  it('a listener that throws or rejects hurts nobody: it is a warning of the process', async () => {
    const warnings: string[] = [];
    const note = ({ message }: Error): void => void warnings.push(message);
    process.on('warning', note);
    try {
      const lock = client.getLock('x');
      await lock.addListener({ onDeleted: () => Promise.reject(new Error('first')) });
      await lock.addListener({
        onDeleted: () => {
          throw new Error('second');
        },
      });
      await lock.addListener(notes);
      await admin.set('x', 1);
      await admin.del('x');
      await hears('deleted x');
      await sleepUntil(() => warnings.length === 2);
      expect(warnings.sort()).to.deep.equal([
        'An object listener rejected: Error: first',
        'An object listener threw: Error: second',
      ]);
    } finally {
      process.off('warning', note);
    }
  });

  it('refuses what is no listener, and what is no id', async () => {
    const lock = client.getLock('x');
    const bad = [undefined, null, 5, 'x', [], {}, () => undefined, { onDelete: () => undefined }, { onDeleted: 'x' }];
    for (const listener of [...bad, { onExpired: notes.onExpired, onDeleted: 5 }]) {
      const error = await rejection(lock.addListener(listener as object));
      expect(error, JSON.stringify(listener)).to.be.instanceOf(ConfigError);
      expect(error.message).to.contain('onExpired');
    }
    for (const id of [undefined, null, 'x', 1.5, NaN, {}]) {
      expect(await rejection(lock.removeListener(id as number))).to.be.instanceOf(ConfigError);
    }
    expect(await listening()).to.equal(0);
  });

  it('a method of a class instance is a listener, and keeps its this', async () => {
    class Notes {
      readonly names: string[] = [];
      onDeleted(name: string): void {
        this.names.push(name);
      }
    }
    const one = new Notes();
    await client.getLock('x').addListener(one);
    await admin.set('x', 1);
    await admin.del('x');
    await sleepUntil(() => one.names.length === 1);
  });

  it('closes with the client; listeners that come then or later are refused', async () => {
    await client.getLock('x').addListener(notes);
    const coming = rejection(client.getLock('y').addListener(notes));
    await client.shutdown();
    expect(await coming).to.be.instanceOf(ShutdownError);
    expect(await rejection(client.getLock('x').addListener(notes))).to.be.instanceOf(ShutdownError);
    await client.getLock('x').removeListener(1);
    await sleepUntil(async () => (await listening()) === 0);
  });
});
