// Ids in titles: test/README.md
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { Redisson } from '../../lib';
import type { ObjectReport } from '../../lib/operators/inspection';
import { monitor, RedisCluster, RedisServer, sleepUntil, trackClient } from '../support';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { cli, type CliEnd, CliProcess, TIMEOUT_MS } from './support/CliProcess';
import { observer, scratchFolder, untilQueued, untilWaitedFor } from './support/world';

const JAVA = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee:42';

describe('list, inspect and unlock', function () {
  this.timeout(3 * TIMEOUT_MS);

  let server: RedisServer;
  let redis: Redis;
  let client: Redisson;

  before(() => ensureBuilt());

  beforeEach(async () => {
    server = trackClient(await RedisServer.start());
    redis = observer(server.url);
    client = trackClient(Redisson.create(server.url));
  });

  function ask(...args: string[]): Promise<CliEnd> {
    return cli(args, { env: { REDIS_URL: server.url } });
  }

  async function inspect(name: string): Promise<ObjectReport> {
    return JSON.parse((await ask('inspect', '--json', name)).stdout) as ObjectReport;
  }

  async function list(...args: string[]): Promise<ObjectReport[]> {
    return JSON.parse((await ask('list', '--json', ...args)).stdout) as ObjectReport[];
  }

  it('a lock: owner, client, holds, ttl, waiters', async () => {
    const lock = client.getLock('a');
    await client.runInThread(() => lock.lock().then(() => lock.lock()));
    const waiting = trackClient(Redisson.create(server.url)).getLock('a').acquire();
    waiting.catch(() => undefined);
    await untilWaitedFor(redis, 'a');
    const report = await inspect('a');
    expect(report).to.deep.include({ name: 'a', key: 'a', kind: 'lock', waiters: 1 });
    expect(report.ttlMs).to.be.within(1, 30_000);
    expect(report.channels).to.deep.equal([{ name: 'redisson_lock__channel:{a}', subscribers: 1 }]);
    const [holder] = report.holders;
    expect(holder).to.include({ clientId: client.getId(), client: 'node', holdCount: 2 });
    expect(holder!.owner).to.equal(`${holder!.clientId}:${holder!.threadId}`);
    const text = (await ask('inspect', 'a')).stdout;
    expect(text)
      .to.match(/^Name: +a$/m)
      .and.to.match(/^State: +held$/m);
    expect(text).to.contain(holder!.owner).and.to.contain('Node');
    expect(holder!.process).to.include({ connected: true, java: false, pid: process.pid });
    expect(text)
      .to.contain(`/${process.pid} `)
      // Once it has been held for 5 s its holder says more.
      .and.to.match(
        /^Verdict: +held\. Held, and its holder is connected; it ends in |^Verdict: +held\. Held by process /m,
      );
  });

  it('a lock of a Java client: says that it may be one', async () => {
    await redis.hset('j', JAVA, 3);
    const report = await inspect('j');
    expect(report).to.include({ kind: 'lock', ttlMs: -1, waiters: 0 });
    const [clientId, threadId] = JAVA.split(':');
    const process = { connected: 'unknown', java: true, unknownBecause: 'java' };
    expect(report.holders).to.deep.equal([
      { owner: JAVA, clientId, threadId, client: 'unknown', holdCount: 3, process },
    ]);
    expect((await ask('inspect', 'j')).stdout).to.contain('Java, or an explicit thread id');
  });

  it('a fair lock: the queue, in order, with the time that each has left', async () => {
    await client.getFairLock('f').lock();
    const waiters = [1, 2].map(() => trackClient(Redisson.create(server.url)));
    for (const [i, waiter] of waiters.entries()) {
      waiter
        .getFairLock('f')
        .tryLock(60_000)
        .catch(() => undefined);
      await untilQueued(redis, 'f', i + 1);
    }
    await sleepUntil(async () => (await inspect('f')).queue?.every(({ listening }) => listening), {
      timeout: TIMEOUT_MS,
    });
    const report = await inspect('f');
    expect(report).to.include({ kind: 'fair', waiters: 2 });
    expect(report.holders[0]!.clientId).to.equal(client.getId());
    expect(report.queue!.map(({ clientId }) => clientId)).to.deep.equal(waiters.map((waiter) => waiter.getId()));
    expect(report.queue![0]!.remainingMs).to.be.within(1, 90_000);
    expect(report.queue![1]!.remainingMs).to.be.greaterThan(report.queue![0]!.remainingMs!);
    // Its queue is found where nobody holds it, too; once.
    await redis.del('f');
    expect((await list()).map(({ name, kind }) => [name, kind])).to.deep.equal([['f', 'fair']]);
  });

  it('a fenced lock: its token', async () => {
    await client.getFencedLock('t').lock();
    expect(await inspect('t')).to.deep.include({ kind: 'fenced', token: '1' });
  });

  it('a read/write lock: readers with the leases of their holds, or the writer', async () => {
    const reader = client.getReadWriteLock('r').readLock();
    await client.runInThread(() => reader.lock(60_000).then(() => reader.lock(120_000)));
    const read = await inspect('r');
    expect(read).to.include({ kind: 'readWrite', mode: 'read' });
    expect(read.holders).to.have.lengthOf(1);
    expect(read.holders[0]).to.include({ mode: 'read', holdCount: 2 });
    expect(read.holders[0]!.leasesMs![0]).to.be.within(1, 60_000);
    expect(read.holders[0]!.leasesMs![1]).to.be.within(60_001, 120_000);
    await client.getReadWriteLock('w').writeLock().lock();
    const write = await inspect('w');
    expect(write).to.include({ kind: 'readWrite', mode: 'write' });
    expect(write.holders[0]).to.include({ mode: 'write', client: 'node', clientId: client.getId() });
  });

  it('list says on stderr that there is nothing', async () => {
    expect(await ask('list')).to.include({ code: 0, stdout: '', stderr: 'ioredisson: no locks\n' });
    const found = await ask('list', 'order:*');
    expect(found).to.include({ code: 0, stdout: '', stderr: "ioredisson: no locks match 'order:*'\n" });
    expect(await ask('list', '--json')).to.include({ code: 0, stdout: '[]\n', stderr: '' });
  });

  it('inspect --help says what each field of --json is', async () => {
    const known = new Set([...(await ask('inspect', '--help')).stdout.matchAll(/\w+/g)].map(([word]) => word));
    const source = fs.readFileSync(path.join(projectRoot, 'lib/operators/inspection/reports.ts'), 'utf8');
    const reports =
      /interface (?:ProcessReport|Verdict|HoldReport|WaitingProcess|OwnerReport|HolderReport|WaiterReport|PermitReport|ObjectReport) .*?\n}/gs;
    const fields = [...source.matchAll(reports)].flatMap(([text]) =>
      [...text.matchAll(/^ {2}readonly (\w+)/gm)].map(([, field]) => field!),
    );
    expect(fields).to.include.members(['heldSince', 'hold', 'silent', 'waiting', 'circle', 'ttlMs']);
    expect(fields.filter((field) => !known.has(field))).to.deep.equal([]);
  });

  it('semaphores and latches: by their data, or by who listens', async () => {
    await redis.set('permits', 5);
    const id = '00ff0a0d25e282ac8027410042435c5e';
    await redis.zadd('{permits}:timeout', Date.now() + 60_000, Buffer.from(id, 'hex'));
    await redis.zadd('{permits}:timeout', '922337203685477', Buffer.from('f'.repeat(32), 'hex'));
    await redis.set('sem', 0).then(() => redis.set('latch', 3));
    await redis.set('counter', 12);
    const listener = observer(server.url);
    await listener.subscribe('redisson_sc:{sem}', 'redisson_countdownlatch__channel__{latch}');

    const permits = await inspect('permits');
    expect(permits).to.include({ kind: 'permitExpirableSemaphore', value: 5, acquired: 2 });
    expect(permits.permits!.map((permit) => permit.id)).to.deep.equal([id, 'f'.repeat(32)]);
    expect(permits.permits![0]!.remainingMs).to.be.within(1, 60_000);
    expect(permits.permits![1]!.remainingMs).to.equal(null);
    expect(await inspect('sem')).to.include({ kind: 'semaphore', value: 0, waiters: 1 });
    expect(await inspect('latch')).to.include({ kind: 'countDownLatch', value: 3, waiters: 1 });
    expect(await inspect('counter')).to.include({ kind: 'number', value: 12 });
    // Any counter looks like a semaphore.
    expect((await list()).map(({ name }) => name)).to.deep.equal(['latch', 'permits', 'sem']);
  });

  it('who has permits has said so: it is connected, and nobody has counted for how long', async () => {
    const semaphore = client.getPermitExpirableSemaphore('out');
    await semaphore.trySetPermits(1);
    const hold = await semaphore.acquireHold();
    const told = await sleepUntil(
      async () => {
        const { stdout } = await ask('inspect', 'out');
        return stdout.includes('Held by') && stdout;
      },
      { timeout: TIMEOUT_MS },
    );
    expect(told)
      .to.match(/watchdog, .* yes +Node/)
      .and.not.to.contain('undefined');
    await hold.release();
  });

  it('B13: integers are shown exactly', async () => {
    const listener = observer(server.url);
    await listener.subscribe('redisson_sc:{sem}');
    await redis.set('sem', '9007199254740993');
    expect(await inspect('sem')).to.include({ kind: 'semaphore', value: '9007199254740993' });
    for (const args of [['inspect', 'sem'], ['list']])
      expect((await ask(...args)).stdout).to.contain('9007199254740993');
    await redis.hset('t', JAVA, 1);
    await redis.set('redisson_lock_token:{t}', '9223372036854775807');
    expect(await inspect('t')).to.include({ kind: 'fenced', token: '9223372036854775807' });
    expect((await ask('inspect', 't')).stdout).to.contain('9223372036854775807');
  });

  it('nothing of somebody else is listed, or called a lock', async () => {
    await redis.hset('hash', 'field', 1);
    await redis.hset('mode', { mode: 'dark' });
    await redis.rpush('list', JAVA);
    await redis.set('text', 'text');
    await redis.zadd('{text}:timeout', 1, 'x').then(() => redis.del('{text}:timeout'));
    expect(await list()).to.deep.equal([]);
    expect((await ask('list')).stdout).to.equal('');
    const end = await ask('inspect', '--json', 'missing');
    expect(end).to.include({ code: 1, stderr: '' });
    expect(JSON.parse(end.stdout)).to.include({ name: 'missing', kind: 'none' });
  });

  it('inspect: exits 65 for a key of another type, and says so', async () => {
    await redis.hset('hash', 'field', 1);
    await redis.rpush('list', JAVA);
    await redis.set('text', 'text');
    for (const name of ['hash', 'list', 'text']) {
      const end = await ask('inspect', '--json', name);
      expect(end.code).to.equal(65);
      expect(JSON.parse(end.stdout)).to.include({ name, kind: 'other', ttlMs: -1 });
    }
    const { stdout, ...end } = await ask('inspect', 'list');
    expect(end).to.deep.equal({
      code: 65,
      stderr: "ioredisson: the key 'list' holds data that are no lock or synchronizer\n",
    });
    // The verdict first, then what to do, as of everything that is looked at.
    expect(stdout).to.match(/^Verdict: +wrong-type\. The key holds data.*\nWhat to do: +Give the lock/);
  });

  it('list: a line for each that matches, by SCAN, writing nothing', async () => {
    const pipeline = redis.pipeline();
    for (let i = 0; i < 2_500; i++) pipeline.set(`other:${i}`, 'x');
    for (const name of ['order:1', 'order:2', 'orders', 'x{order:3}']) pipeline.hset(name, JAVA, 1);
    await pipeline.exec();
    const seen = trackClient(await monitor(server.url));
    const { stdout, code } = await ask('list', 'order:?');
    expect(code).to.equal(0);
    const [head, ...lines] = stdout.trimEnd().split('\n');
    expect(head).to.match(/^NAME +VERDICT +PROCESS +WAITERS +TTL +KIND +HOLDS +OWNER$/);
    expect(lines.map((line) => line.split(/ +/))).to.deep.equal([
      ['order:1', 'no-expiry', 'Java?', '0', 'none', 'lock', '1', JAVA],
      ['order:2', 'no-expiry', 'Java?', '0', 'none', 'lock', '1', JAVA],
    ]);
    expect((await list()).map(({ name }) => name)).to.deep.equal(['order:1', 'order:2', 'orders', 'x{order:3}']);
    const reading = [
      'scan',
      'type',
      'exists',
      'pttl',
      'hlen',
      'hscan',
      'hgetall',
      'lrange',
      'zrange',
      'zcard',
      'get',
      'getrange',
    ];
    // Most keys are read by a script: what it does counts as well.
    const names = [...new Set((await seen.commands()).map(({ name }) => name))];
    expect(names).to.include('type');
    const scripts = ['evalsha', 'eval'];
    expect(names.filter((name) => !reading.includes(name) && !scripts.includes(name))).to.deep.equal([]);
  });

  it('names cannot forge lines', async () => {
    await redis.hset('evil\n\u001b[2Jname', JAVA, 1);
    expect((await ask('list')).stdout)
      .to.contain('evil [2Jname ')
      .and.not.to.contain('\u001b');
    await redis.hset('x\u202e:redro\u2028\ufeff', JAVA, 1);
    const { stdout } = await ask('inspect', 'x\u202e:redro\u2028\ufeff');
    expect((await ask('list', 'x*')).stdout + stdout)
      .to.contain('x\\u202e:redro\\u2028\\ufeff ')
      .and.not.to.match(/[\u202e\u2028\ufeff]/);
  });

  for (const [kind, take] of [
    ['lock', () => client.getLock('u').lock()],
    ['fair', () => client.getFairLock('u').lock()],
    ['fenced', () => client.getFencedLock('u').lock()],
    ['readWrite', () => client.getReadWriteLock('u').readLock().lock()],
    ['readWrite', () => client.getReadWriteLock('u').writeLock().lock()],
  ] as const) {
    it(`unlock --force: releases a lock (${kind}) and tells whose it was`, async () => {
      await take();
      const end = await ask('unlock', '--force', '--json', 'u');
      expect(end.code).to.equal(0);
      const report = JSON.parse(end.stdout) as { released: boolean; holders: { clientId: string }[] };
      expect(report.released).to.equal(true);
      expect(report.holders[0]!.clientId).to.equal(client.getId());
      expect(await redis.exists('u')).to.equal(0);
    });
  }

  it('unlock --force: wakes who waits', async () => {
    await redis.hset('u', JAVA, 1);
    const waiting = client.getLock('u').acquire();
    await untilWaitedFor(redis, 'u');
    const end = await ask('unlock', '--force', 'u');
    expect(end).to.include({ code: 0, stdout: `'u' (lock) is released; it was taken from ${JAVA}\n` });
    await (await waiting).unlock();
  });

  it('unlock: not without --force; 1 where there is nothing; 65 for what is no lock', async () => {
    await redis.hset('u', JAVA, 1);
    expect((await ask('unlock', 'u')).code).to.equal(64);
    expect(await redis.exists('u')).to.equal(1);
    expect(await ask('unlock', '--force', 'free')).to.include({ code: 1, stdout: "'free' is not locked\n" });
    await redis.set('number', 1);
    expect((await ask('unlock', '--force', 'number')).code).to.equal(65);
    expect(await redis.get('number')).to.equal('1');
  });

  it('a cluster: sees the locks and the listeners of every master', async () => {
    const cluster = trackClient(await RedisCluster.start());
    const config = path.join(scratchFolder(), 'redisson.yaml');
    fs.writeFileSync(config, `clusterServersConfig:\n  nodeAddresses: ["${cluster.urls[0]}"]\n`);
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) CliProcess.start(['run', '-c', config, name, '--', 'sleep', '600']);
    await sleepUntil(
      async () => {
        const { stdout } = await cli(['list', '--json', '-c', config]);
        return (JSON.parse(stdout) as ObjectReport[]).map(({ name }) => name).join() === names.join();
      },
      { timeout: TIMEOUT_MS },
    );
    expect((await cli(['unlock', '--force', '-c', config, 'a'])).code).to.equal(0);
  });
});
