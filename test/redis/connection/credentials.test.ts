import { expect } from 'chai';
import { Redis } from 'ioredis';
import { inspect } from 'node:util';
import {
  Config,
  ConnectionError,
  type CredentialsRequest,
  type IssuedCredentials,
  Redisson,
  type RedissonOptions,
  type StreamingCredentialsListener,
} from '../../../lib';
import { Inspector } from '../../../lib/operators/inspection';
import { RedisServer, sleep, sleepUntil, trackClient, uniqueName } from '../../support';
import { prepareThread } from '../locks/threadSupport';

/** A user whose password changes, as a token does: the one before ends, and so do its connections. */
class Rotation {
  readonly #admin: Redis;
  readonly user: string;
  password = '';
  #count = 0;

  constructor(admin: Redis, user: string) {
    this.#admin = admin;
    this.user = user;
  }

  /** A new password; the old one lets nobody in any more. @param kill - connections end, too */
  async next(kill = false): Promise<void> {
    const password = `token-geheim-${++this.#count}`;
    await this.#admin.call('ACL', 'SETUSER', this.user, 'on', 'resetpass', `>${password}`, '~*', '&*', '+@all');
    this.password = password;
    if (kill) await this.#admin.client('KILL', 'USER', this.user);
  }
}

describe('credentials (D1)', function () {
  this.timeout(60_000);
  let server: RedisServer;
  let admin: Redis;
  let rotation: Rotation;
  let asked: CredentialsRequest[];

  // In a checkout the first thread of a process is bundled where it is started: in the midst of a lease of 3 s.
  before(prepareThread);

  before(async () => {
    server = trackClient(await RedisServer.start({ password: 'admin' }));
    admin = trackClient(new Redis(server.url));
  });

  beforeEach(async () => {
    asked = [];
    rotation = new Rotation(admin, uniqueName());
    await rotation.next();
  });

  const where = (): string => `redis://${server.host}:${server.port}`;

  function issue(more?: Partial<IssuedCredentials>) {
    return (request: CredentialsRequest): IssuedCredentials => {
      asked.push(request);
      return { username: rotation.user, password: rotation.password, ...more };
    };
  }

  function open(options: RedissonOptions): Redisson {
    return trackClient(Redisson.create({ url: where(), ...options }));
  }

  async function connections(): Promise<{ id: string; sub: boolean }[]> {
    const lines = String(await admin.client('LIST')).split('\n');
    const ours = lines.filter((line) => line.includes(`user=${rotation.user} `));
    return ours.map((line) => ({ id: /\bid=(\d+)/.exec(line)![1]!, sub: / s?sub=[1-9]/.test(line) }));
  }

  async function errorOf(work: Promise<unknown>): Promise<Error> {
    const error: unknown = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(Error);
    expect(inspect(error, { depth: Infinity, showHidden: true })).to.not.contain('geheim');
    return error as Error;
  }

  it('are asked for each connection, with its address and role, and again for the next attempt', async () => {
    const client = open({ credentials: issue() });
    await client.getLock(uniqueName()).withLock(async () => {
      expect(asked).to.deep.include({ host: server.host, port: server.port, role: 'master' });
      await rotation.next(true);
      const before = asked.length;
      await client.ping();
      expect(asked.length).to.be.greaterThan(before);
    });
  });

  it('are used for AUTH on live connections before they expire; the connection stays', async () => {
    const client = open({ credentials: issue({ expiresIn: 300 }) });
    await client.ping();
    const before = (await connections()).filter(({ sub }) => !sub).map(({ id }) => id);
    const count = asked.length;
    await rotation.next();
    await sleepUntil(() => asked.length >= count + 6);
    const after = (await connections()).map(({ id }) => id);
    expect(before.some((id) => after.includes(id))).to.equal(true);
    await client.ping();
  });

  it('open a subscribed connection anew before the old one ends: a waiter is woken all along', async () => {
    const client = open({ credentials: issue({ expiresIn: 200 }) });
    const other = open({ credentials: issue() });
    const name = uniqueName();
    for (let round = 0; round < 8; round++) {
      const hold = await other.getLock(name).acquire({ leaseTime: 60_000 });
      const waiting = client.getLock(name).acquire();
      await sleep(97);
      await hold.unlock();
      const start = performance.now();
      await (await waiting).unlock();
      expect(performance.now() - start).to.be.lessThan(5_000);
    }
    const subscribers = (await connections()).filter(({ sub }) => sub);
    expect(subscribers.length).to.be.at.most(3);
  });

  it('change under load: no lock is lost, nobody sleeps on, never two inside', async () => {
    const clients = [1, 2, 3].map(() => open({ credentials: issue({ expiresIn: 400 }), lockWatchdogTimeout: 6_000 }));
    const lost: unknown[] = [];
    for (const client of clients) client.onLockLost((event) => lost.push(event));
    const long = await clients[0]!.getLock(uniqueName()).acquire();
    const name = uniqueName();
    let inside = 0;
    let done = 0;
    let over = false;
    const work = clients.flatMap((client) =>
      [1, 2].map(async () => {
        while (!over) {
          await client.getLock(name).withLock(async () => {
            expect(++inside).to.equal(1);
            await sleep(3);
            inside--;
            done++;
          });
        }
      }),
    );
    for (let i = 0; i < 12; i++) {
      await sleep(200);
      await rotation.next(i % 3 === 2);
    }
    over = true;
    await Promise.all(work);
    expect(done).to.be.greaterThan(20);
    expect(lost).to.deep.equal([]);
    expect(long.isHeld).to.equal(true);
    await long.unlock();
  });

  it('that are rejected are a ConnectionError with the message, without the token; and they are asked again', async () => {
    let broken = true;
    const client = open({
      timeout: 200,
      retryAttempts: 0,
      credentials: (request) => {
        if (!broken) return issue()(request);
        throw new Error('no token today', { cause: rotation.password });
      },
    });
    const error = await errorOf(client.getLock(uniqueName()).lock());
    expect(error).to.be.instanceOf(ConnectionError);
    expect(error.message).to.contain('no token today');
    broken = false;
    await sleepUntil(() => client.state === 'ready');
    await client.getLock(uniqueName()).withLock(() => undefined);
  });

  it('that never come are bounded by the connect time-out', async () => {
    let calls = 0;
    const credentials = (): Promise<IssuedCredentials> => {
      calls++;
      return new Promise(() => undefined);
    };
    const client = open({ connectTimeout: 150, timeout: 500, retryAttempts: 0, credentials });
    const error = await errorOf(client.ping());
    expect(error).to.be.instanceOf(ConnectionError);
    expect(error.message).to.contain('credentials: no answer within 150 ms');
    await sleepUntil(() => calls > 4);
  });

  const NONSENSE: [string, unknown, RegExp][] = [
    ['nothing', undefined, /no password/],
    ['no password', { username: 'ann' }, /no password/],
    ['an empty password', { password: '' }, /no password/],
    ['a number as user', { username: 5, password: 'geheim' }, /username that is no string/],
    ['an expiresIn of the past', { password: 'geheim', expiresIn: -1 }, /expiresIn/],
    ['NaN', { password: 'geheim', expiresIn: NaN }, /expiresIn/],
  ];
  for (const [what, given, message] of NONSENSE) {
    it(`that are nonsense (${what}) are a ConnectionError that says so`, async () => {
      const client = open({ timeout: 100, retryAttempts: 0, credentials: () => given as IssuedCredentials });
      const error = await errorOf(client.ping());
      expect(error).to.be.instanceOf(ConnectionError);
      expect(error.message).to.match(message);
    });
  }

  it('that the server refuses are a ConnectionError with its words', async () => {
    const client = open({ timeout: 100, retryAttempts: 0, credentials: () => ({ password: 'wrong-geheim' }) });
    const error = await errorOf(client.ping());
    expect(error).to.be.instanceOf(ConnectionError);
    expect(error.message).to.contain('WRONGPASS');
  });

  it('serve the watchdog thread, which cannot be given a function', async () => {
    const client = open({ credentials: issue({ expiresIn: 400 }), watchdogThread: true, lockWatchdogTimeout: 3_000 });
    const hold = await client.getLock(uniqueName()).acquire();
    const threads = async (): Promise<number> => {
      const lines = String(await admin.client('LIST')).split('\n');
      return lines.filter((line) => line.includes(':watchdog ') && line.includes(`user=${rotation.user} `)).length;
    };
    // For longer than a lease.
    for (let i = 0; i < 8; i++) {
      await sleepUntil(async () => (await threads()) === 1);
      await sleep(500);
      await rotation.next(i % 2 === 1);
    }
    expect(hold.isHeld).to.equal(true);
    await hold.unlock();
  });

  const deployments: Record<string, (config: Config) => unknown> = {
    single: (config) => config.useSingleServer().setAddress(where()),
    'master and slaves': (config) => config.useMasterSlaveServers().setMasterAddress(where()),
    replicated: (config) => config.useReplicatedServers().addNodeAddress(where()),
  };
  for (const [deployment, use] of Object.entries(deployments)) {
    it(`${deployment}: a login that was refused is tried again with the next one before a call fails`, async () => {
      const config = new Config().setCredentials(() => {
        const password = ++calls <= 3 ? `of-yesterday-${calls}` : rotation.password;
        return { username: rotation.user, password };
      });
      let calls = 0;
      use(config);
      const client = trackClient(Redisson.create(config));
      await client.getLock(uniqueName()).withLock(() => undefined);
      expect(calls).to.be.greaterThan(3);
    });
  }

  it('serve an inspector', async () => {
    const client = open({ credentials: issue() });
    const name = uniqueName();
    const inspector = new Inspector(client);
    await client.getLock(name).withLock(async () => {
      expect((await inspector.inspect(name)).verdict.kind).to.equal('held');
    });
    await inspector.close();
  });

  describe('of a streaming provider', () => {
    let listeners: Set<StreamingCredentialsListener>;
    let subscriptions: number;
    let refused: Error[];
    const provider = {
      type: 'streaming-credentials-provider' as const,
      subscribe(listener: StreamingCredentialsListener) {
        subscriptions++;
        listeners.add(listener);
        const subscription = { dispose: () => void listeners.delete(listener) };
        return Promise.resolve([{ username: rotation.user, password: rotation.password }, subscription] as const);
      },
      onReAuthenticationError: (error: Error) => void refused.push(error),
    };

    beforeEach(() => {
      listeners = new Set();
      subscriptions = 0;
      refused = [];
    });

    const tell = (): void => {
      for (const { onNext } of listeners) onNext({ username: rotation.user, password: rotation.password });
    };

    it('are one subscription, told to every live connection, and disposed of at shutdown', async () => {
      const client = open({ credentials: provider });
      const hold = await client.getLock(uniqueName()).acquire();
      expect([subscriptions, listeners.size]).to.deep.equal([1, 1]);
      const before = (await connections()).map(({ id }) => id);
      await rotation.next();
      tell();
      await sleepUntil(async () => (await connections()).some(({ id }) => !before.includes(id)));
      expect(hold.isHeld).to.equal(true);
      await rotation.next();
      tell();
      await hold.unlock();
      expect(refused).to.deep.equal([]);
      await client.shutdown();
      expect(listeners.size).to.equal(0);
      expect(subscriptions).to.equal(1);
    });

    it('are subscribed to anew when the provider has given up', async () => {
      const client = open({ credentials: provider });
      await client.ping();
      for (const { onError } of [...listeners]) onError(new Error('the identity provider is down'));
      expect(listeners.size).to.equal(0);
      expect(refused.map(({ message }) => message)).to.deep.equal(['credentials: the identity provider is down']);
      await rotation.next(true);
      await client.ping();
      await sleepUntil(() => listeners.size === 1);
    });

    it('that a server refuses are subscribed to anew, even if the provider does not know', async () => {
      const told = rotation.password;
      await rotation.next();
      let stale = true;
      const client = open({
        credentials: {
          subscribe: (listener) => {
            subscriptions++;
            listeners.add(listener);
            const dispose = (): void => {
              stale = false;
              listeners.delete(listener);
            };
            const password = stale ? told : rotation.password;
            return Promise.resolve([{ username: rotation.user, password }, { dispose }] as const);
          },
        },
      });
      await client.ping();
      expect([subscriptions, listeners.size]).to.deep.equal([2, 1]);
    });

    it('change under load: nobody sleeps on', async () => {
      const clients = [open({ credentials: provider }), open({ credentials: provider })];
      const name = uniqueName();
      let over = false;
      let done = 0;
      const work = clients.map(async (client) => {
        while (!over) {
          await client.getLock(name).withLock(async () => {
            await sleep(2);
            done++;
          });
        }
      });
      for (let i = 0; i < 10; i++) {
        await sleep(100);
        await rotation.next();
        tell();
      }
      over = true;
      await Promise.all(work);
      expect(done).to.be.greaterThan(20);
    });
  });
});
