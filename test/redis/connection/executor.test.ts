import { expect } from 'chai';
import { Redis } from 'ioredis';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import type { RedissonOptions } from '../../../lib/config/RedissonOptions';
import { connect } from '../../../lib/connection/connect';
import { type CommandExecutor, newSendRecord } from '../../../lib/connection/pending/CommandExecutor';
import type { Connections } from '../../../lib/connection/ConnectionMonitor';
import type { ConnectionError } from '../../../lib/errors';
import { defineScript, RESEND_FLAG, type Resend } from '../../../lib/scripts/Script';
import {
  loadSlowly,
  monitor,
  RedisServer,
  redisUrl,
  sleep,
  sleepUntil,
  TcpProxy,
  trackClient,
  uniqueName,
} from '../../support';

/** Counts how often it ran, and tells what it was told of repeats. */
function counter(resend: Resend) {
  return defineScript({
    name: `count.${resend}`,
    keys: ['name'],
    args: ['repeated'],
    resend,
    lua: `redis.call('rpush', name, repeated) return redis.call('llen', name)`,
    decode: Number,
  });
}

const COUNTERS = { always: counter('always'), connection: counter('connection'), never: counter('never') };

describe('Executor and StandaloneLink on a server', function () {
  this.timeout(20_000);
  let redis: Redis;
  let name: string;

  beforeEach(() => {
    redis = trackClient(new Redis(redisUrl()));
    name = uniqueName('count');
  });

  afterEach(async () => {
    if (redis.status === 'ready') await redis.del(name);
  });

  function open(url: string, options: RedissonOptions = {}): CommandExecutor {
    return openBoth(url, options).executor;
  }

  function openBoth(url: string, options: RedissonOptions = {}): Connections {
    const connections = connect(resolveConfig({ url, ...options }));
    trackClient({
      close: () => {
        connections.subscriber.close();
        return connections.executor.close();
      },
    });
    return connections;
  }

  function count(executor: CommandExecutor, resend: Resend, sendRecord = newSendRecord()): Promise<number> {
    return executor.run(COUNTERS[resend], { name }, { repeated: RESEND_FLAG }, { sendRecord, name });
  }

  async function errorOf(work: Promise<unknown>): Promise<ConnectionError> {
    const error: unknown = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.be.instanceOf(Error);
    return error as ConnectionError;
  }

  it('runs scripts in the order of the calls, also those that were made before there was a connection', async () => {
    const executor = open(redisUrl());
    const results = await Promise.all(Array.from({ length: 50 }, () => count(executor, 'never')));
    expect(results).to.deep.equal(Array.from({ length: 50 }, (_, i) => i + 1));
  });

  it('writes what one turn sends together', async () => {
    const proxy = trackClient(await TcpProxy.start(redisUrl()));
    const executor = open(proxy.url);
    await count(executor, 'never');
    const before = proxy.stats;
    await Promise.all(Array.from({ length: 10 }, () => count(executor, 'never')));
    expect(proxy.stats.bytesUp).to.be.greaterThan(before.bytesUp);
    expect(await redis.llen(name)).to.equal(11);
  });

  it('sends the text after SCRIPT FLUSH, once for each that was under way', async () => {
    const executor = open(redisUrl());
    await count(executor, 'never');
    await redis.script('FLUSH');
    const results = await Promise.all(Array.from({ length: 20 }, () => count(executor, 'never')));
    expect(results.at(-1)).to.equal(21);
    expect(await redis.lrange(name, 0, -1)).to.deep.equal(Array(21).fill('0'));
  });

  for (const resend of ['always', 'connection', 'never'] as const) {
    it(`a lost answer and connection: '${resend}'`, async () => {
      const proxy = trackClient(await TcpProxy.start(redisUrl()));
      const executor = open(proxy.url);
      await count(executor, 'never');
      const { connectionNumber } = executor;
      const sendRecord = newSendRecord();
      const swallowed = proxy.swallowNextReply({ command: 'evalsha', then: 'cut' });
      const outcome = count(executor, resend, sendRecord);
      await swallowed;
      if (resend === 'never') {
        const error = await errorOf(outcome);
        expect([error.code, error.mayHaveRun]).to.deep.equal(['CONNECTION', true]);
        expect(await redis.lrange(name, 0, -1)).to.deep.equal(['0', '0']);
      } else {
        expect(await outcome).to.equal(3);
        expect(await redis.lrange(name, 0, -1)).to.deep.equal(['0', '0', '1']);
        expect(sendRecord.sends).to.equal(2);
      }
      expect(executor.connectionNumber).to.equal(connectionNumber + 1);
    });
  }

  it('a connection that is refused is waited for; what waits runs in order once it is there', async () => {
    const proxy = trackClient(await TcpProxy.start(redisUrl()));
    const executor = open(proxy.url);
    await count(executor, 'never');
    proxy.refuse();
    proxy.cut();
    await sleep(100);
    const waiting = Array.from({ length: 10 }, () => count(executor, 'never'));
    await sleep(200);
    await proxy.accept();
    expect(await Promise.all(waiting)).to.deep.equal(Array.from({ length: 10 }, (_, i) => i + 2));
  });

  it('a black hole is left after two silent time-outs, and what may be repeated is', async () => {
    const proxy = trackClient(await TcpProxy.start(redisUrl()));
    const executor = open(proxy.url, { timeout: 300 });
    await count(executor, 'never');
    const { accepted } = proxy.stats;
    proxy.blackhole();
    const startedAt = performance.now();
    const never = errorOf(count(executor, 'never'));
    const always = count(executor, 'always');
    expect((await never).code).to.equal('COMMAND_TIMEOUT');
    await sleepUntil(() => proxy.stats.open <= 1, { message: 'the dead connection is given up' });
    await proxy.pass();
    proxy.cut();
    expect(await always).to.equal(2);
    expect(performance.now() - startedAt).to.be.lessThan(5_000);
    expect(proxy.stats.accepted).to.be.greaterThan(accepted);
  });

  it('a server that hangs while we connect is left for the one that takes its place', async () => {
    const server = trackClient(await RedisServer.start());
    const proxy = trackClient(await TcpProxy.start(server.url));
    proxy.blackhole();
    const executor = open(proxy.url, { timeout: 300 });
    const outcome = count(executor, 'always');
    await sleepUntil(() => proxy.stats.accepted >= 4, { message: 'it tries again, both connections do' });
    await proxy.pass();
    proxy.cut();
    expect(await outcome).to.equal(1);
  });

  it('a subscriber in a black hole finds out', async () => {
    const proxy = trackClient(await TcpProxy.start(redisUrl()));
    const { subscriber } = openBoth(proxy.url, { timeout: 400 });
    const told: string[] = [];
    subscriber.events = {
      message: (channel, message) => told.push(`${channel}=${message}`),
      interrupted: () => told.push('interrupted'),
      restored: () => told.push('restored'),
    };
    await subscriber.subscribe(name);
    told.length = 0;
    proxy.blackhole();
    await sleepUntil(() => told.includes('interrupted'), { message: 'it misses the heartbeat' });
    await proxy.pass();
    proxy.cut();
    await sleepUntil(() => told.includes('restored'));
    // Each time anew: on a busy machine the next heartbeat may be missed as well.
    await sleepUntil(() => redis.publish(name, 'x').then(() => told.includes(`${name}=x`)), { interval: 50 });
    subscriber.unsubscribe(name);
  });

  it('commands wait for a server that loads its data', async function () {
    const server = trackClient(await RedisServer.start({ debug: true }));
    const admin = trackClient(new Redis(server.url));
    await loadSlowly(this, admin);
    await admin.call('DEBUG', 'POPULATE', '20000', 'filler', '100');
    const executor = open(server.url);
    await executor.call('set', [name, '1']);
    const reloading = admin.call('DEBUG', 'RELOAD').catch(() => undefined);
    await sleepUntil(async () => (await probe(server)).includes('LOADING'), { interval: 1 });
    expect(await executor.call('get', [name])).to.equal('1');
    const late = open(server.url);
    expect(await late.call('get', [name])).to.equal('1');
    await reloading;
  });

  it('a wrong password, no password and a database that is not there are told at once', async () => {
    const server = trackClient(await RedisServer.start({ password: 'geheim' }));
    const bare = `redis://${server.host}:${server.port}`;
    for (const [url, message] of [
      [`redis://:falsch@${server.host}:${server.port}`, 'WRONGPASS'],
      [bare, 'NOAUTH'],
      [`${server.url}/99`, 'DB index is out of range'],
    ] as const) {
      const startedAt = performance.now();
      const { executor, subscriber } = openBoth(url);
      const waiting = subscriber.subscribe('a').catch(() => undefined);
      const errors = [await errorOf(executor.call('get', ['a'])), await errorOf(executor.call('get', ['a']))];
      for (const error of errors) {
        expect([error.code, error.mayHaveRun]).to.deep.equal(['CONNECTION', false]);
        expect(error.message).to.contain(message).and.not.contain('falsch').and.not.contain('geheim');
        expect((error.cause as Error).message).to.contain(message);
      }
      expect(performance.now() - startedAt).to.be.lessThan(2_000);
      subscriber.close();
      await waiting;
    }
  });

  it('nothing is said twice: one script is one command', async () => {
    const executor = open(redisUrl());
    await count(executor, 'never');
    const seen = trackClient(await monitor(redisUrl()));
    await count(executor, 'never');
    await executor.call('llen', [name]);
    expect(await seen.sentNames()).to.deep.equal(['evalsha', 'llen']);
  });

  it('close settles what is under way, whatever the state of the connection', async () => {
    const proxy = trackClient(await TcpProxy.start(redisUrl()));
    for (const prepare of [
      async () => undefined,
      async () => proxy.blackhole(),
      async () => {
        proxy.refuse();
        proxy.cut();
        await sleep(20);
      },
    ]) {
      await proxy.pass();
      const executor = open(proxy.url);
      await count(executor, 'never');
      await prepare();
      const outcomes = [errorOf(count(executor, 'never')), errorOf(count(executor, 'always'))];
      await executor.close();
      for (const error of await Promise.all(outcomes)) expect(error.code).to.equal('SHUTDOWN');
    }
  });
});

async function probe(server: RedisServer): Promise<string> {
  const client = new Redis(server.url, { enableReadyCheck: false, retryStrategy: null });
  try {
    return await client.get('x').then(
      () => '',
      (error: Error) => error.message,
    );
  } finally {
    client.disconnect();
  }
}
