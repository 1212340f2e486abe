// Ids in titles: test/README.md
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { inspect } from 'node:util';
import { Config, RedissonError, Redisson, type RedissonOptions } from '../../../lib';
import { RedisServer, sleepUntil, trackClient, uniqueName } from '../../support';

const SECRET = 'hunter2-geheim';
/** A line of every script of ours: none of their text may be shown. */
const SCRIPT_TEXT = /redis\.call\(/;

/** Every way in which somebody may come to see a value. */
function shown(value: unknown): string {
  const texts = [
    String(value),
    inspect(value, { depth: Infinity, showHidden: true, getters: true }),
    inspect(value, { depth: Infinity, showHidden: true, customInspect: false }),
    JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? String(one) : one)) ?? '',
    ...everything(value),
  ];
  if (value instanceof Error) texts.push(String(value.stack), inspect(structuredClone(value), { depth: Infinity }));
  return texts.join('\n');
}

/** All own properties of an object and of what hangs on it. */
function everything(value: unknown, seen = new Set<unknown>()): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  return Reflect.ownKeys(value).flatMap((key) => [
    String(key),
    ...everything((value as Record<PropertyKey, unknown>)[key], seen),
  ]);
}

function expectNoSecret(value: unknown): void {
  const text = shown(value);
  expect(text).to.not.contain(SECRET);
  expect(text).to.not.contain(encodeURIComponent(SECRET));
  expect(text).to.not.match(SCRIPT_TEXT);
}

describe('secrets (B2)', function () {
  this.timeout(30_000);
  let server: RedisServer;
  let where: string;
  const warnings: unknown[] = [];
  const listen = (warning: unknown): unknown => warnings.push(warning);

  before(async () => {
    server = trackClient(await RedisServer.start({ password: 'right' }));
    where = `${server.host}:${server.port}`;
    process.on('warning', listen);
  });

  after(() => process.off('warning', listen));

  async function errorOf(work: Promise<unknown>): Promise<RedissonError> {
    const error: unknown = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(RedissonError);
    return error as RedissonError;
  }

  function yaml(): Config {
    process.env['TEST_REDIS_PASSWORD'] = SECRET;
    try {
      return Config.fromYAML(
        `singleServerConfig: {address: "redis://${where}", password: "\${TEST_REDIS_PASSWORD}"}\n`,
      );
    } finally {
      delete process.env['TEST_REDIS_PASSWORD'];
    }
  }

  function setters(): Config {
    const config = new Config();
    config.useSingleServer().setAddress(`redis://${where}`).setUsername('ann').setPassword(SECRET);
    return config;
  }

  function addressOf(config: Config): Config {
    config.useSingleServer().setAddress(`redis://:${SECRET}@${where}`);
    return config;
  }

  const client = (): RedissonOptions => ({
    client: trackClient(new Redis(`redis://:${SECRET}@${where}`, { lazyConnect: true })),
  });
  const ways: Readonly<Record<string, () => string | URL | Config | RedissonOptions>> = {
    'a URL': () => `redis://:${SECRET}@${where}`,
    'a URL object': () => new URL(`redis://ann:${SECRET}@${where}`),
    options: () => ({ url: `redis://${where}`, password: SECRET }),
    'options with a user': () => ({ url: `redis://${where}`, username: 'ann', password: SECRET }),
    'a client': client,
    setters,
    'an address in a Config': () => addressOf(new Config()),
    'YAML and the environment': yaml,
    JSON: () => Config.fromJSON(JSON.stringify({ singleServerConfig: { address: `redis://:${SECRET}@${where}` } })),
  };

  for (const [way, configure] of Object.entries(ways)) {
    it(`${way}: a failed login shows no password, nor do the settings`, async () => {
      const config = configure();
      if (!(config instanceof URL) && typeof config === 'object' && !('client' in config || 'password' in config)) {
        expectNoSecret(config);
      }
      const redisson = trackClient(Redisson.create(config));
      const lock = redisson.getLock(uniqueName());
      const errors = [await errorOf(lock.lock()), await errorOf(redisson.getSemaphore(uniqueName()).acquire())];
      for (const error of errors) {
        expect(error.code).to.equal('CONNECTION');
        expect(error.message).to.match(/WRONGPASS|NOAUTH/);
        expectNoSecret(error);
      }
      expectNoSecret(redisson);
      expectNoSecret(redisson.getConfig());
      expectNoSecret(lock);
    });
  }

  it('REDIS_URL', async () => {
    const before = process.env['REDIS_URL'];
    process.env['REDIS_URL'] = `redis://:${SECRET}@${where}`;
    try {
      const redisson = trackClient(Redisson.create());
      expectNoSecret(await errorOf(redisson.getLock(uniqueName()).lock()));
    } finally {
      if (before === undefined) delete process.env['REDIS_URL'];
      else process.env['REDIS_URL'] = before;
    }
  });

  it("refused commands keep Redis' words, and neither arguments nor the text of a script", async () => {
    const admin = trackClient(new Redis(`redis://:right@${where}`));
    await admin.call('ACL', 'SETUSER', 'bob', 'on', `>${SECRET}`, '~*', '&*', '+@all', '-eval', '-evalsha', '-get');
    const redisson = trackClient(Redisson.create(`redis://bob:${SECRET}@${where}`));
    const lock = redisson.getLock(uniqueName());
    for (const work of [lock.lock(), lock.tryLock(), lock.isLocked(), lock.unlock(), lock.forceUnlock()]) {
      const outcome: unknown = await work.catch((error: unknown) => error);
      expectNoSecret(outcome);
      if (!(outcome instanceof Error) || outcome.cause === undefined) continue;
      expect((outcome.cause as Error).message).to.contain('NOPERM');
      expect(Object.keys(outcome.cause as Error)).to.deep.equal([]);
    }
    await admin.call('ACL', 'SETUSER', 'bob', '+@all');
    const taken = uniqueName();
    await admin.set(taken, SECRET);
    const wrong = await errorOf(redisson.getLock(taken).lock());
    expect((wrong.cause as Error).message).to.match(/^WRONGTYPE/);
    expect((wrong.cause as Error).name).to.equal('ReplyError');
    expectNoSecret(wrong);
  });

  it('an unknown command: its arguments are cut off', async () => {
    const other = trackClient(await RedisServer.start({ args: ['--rename-command', 'EVAL', ''] }));
    const redisson = trackClient(Redisson.create(other.url));
    const error = await errorOf(redisson.getLock(SECRET).lock());
    expect((error.cause as Error).message).to.match(/unknown command .EVAL.$/i);
    expectNoSecret(error.cause);
  });

  it('B7: a refused SUBSCRIBE is a CommandError, and shows no secret', async () => {
    const admin = trackClient(new Redis(`redis://:right@${where}`));
    await admin.call('ACL', 'SETUSER', 'eve', 'on', `>${SECRET}`, '~*', 'resetchannels', '+@all');
    const holder = trackClient(Redisson.create(`redis://:right@${where}`)).getLock(uniqueName());
    await holder.lock();
    const redisson = trackClient(Redisson.create(`redis://eve:${SECRET}@${where}`));
    const error = await errorOf(redisson.getLock(holder.name).lock());
    expect(error.code).to.equal('COMMAND');
    expect((error.cause as Error).message).to.contain('NOPERM');
    expectNoSecret(error);
    await holder.unlock();
  });

  it('a connection that breaks while commands are under way shows nothing of them', async () => {
    const other = trackClient(await RedisServer.start({ password: SECRET }));
    const redisson = trackClient(Redisson.create({ url: other.url, retryAttempts: 0, timeout: 500 }));
    const lock = redisson.getLock(uniqueName());
    await lock.lock();
    other.pause();
    const outcomes = [lock.unlock(), lock.isLocked(), redisson.getLock(uniqueName()).lock()].map(errorOf);
    await other.kill();
    for (const error of await Promise.all(outcomes)) expectNoSecret(error);
    expectNoSecret(await errorOf(redisson.getLock(uniqueName()).lock()));
  });

  it('no warning of ours held one', async () => {
    await sleepUntil(() => true);
    for (const warning of warnings) expectNoSecret(warning);
  });
});
