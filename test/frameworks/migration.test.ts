// Ids in titles: test/README.md
import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { installFolder } from '../../tools/installFolder';
import { codeBlocks } from '../readme/markdown';
import { RedisServer } from '../support';
import { ConsumerProject } from '../support/ConsumerProject';

const PACKAGES = path.join(__dirname, 'versions', 'migration');

/** The packages that the programs import. */
const LINKED = [
  '@nestjs/common',
  '@nestjs/core',
  'async-mutex',
  'bullmq',
  'murlock',
  'node-redisson',
  'redis-semaphore',
  'redlock',
  'redlock-universal',
  'reflect-metadata',
];

/** What both programs of a page print, or each of them. */
const PRINTED: Readonly<Record<string, string | readonly [before: string, after: string]>> = {
  redlock: '5 sold, 0 left\n',
  'redis-semaphore': 'at most 3 at once\n',
  'async-mutex': 'total 20\na second one timed out\n',
  bullmq: ['at most 2 jobs of a customer at once\n', 'at most 1 jobs of a customer at once\n'],
};

/** What the pages say of the others, as a program that measures it; it prints JSON. */
const MEASURED: Readonly<Record<string, { readonly program: string; readonly check: (result: never) => void }>> = {
  'redlock: ten pauses of 0 to 400 ms, and then ExecutionError': {
    program: `
      import { Redis } from 'ioredis';
      import Redlock from 'redlock';
      const redis = new Redis(process.env.REDIS_URL);
      const redlock = new Redlock([redis], { retryCount: 10, retryDelay: 200, retryJitter: 200 });
      await redis.set('measured', 'another');
      let script;
      let attempts = 0;
      const { evalsha } = redis;
      // When it gives up it runs its script that releases, too.
      redis.evalsha = (hash, ...args) => {
        script ??= hash;
        attempts += hash === script;
        return evalsha.call(redis, hash, ...args);
      };
      const startedAt = performance.now();
      const error = await redlock.acquire(['measured'], 5_000).catch((thrown) => thrown);
      console.log(JSON.stringify({ ms: performance.now() - startedAt, attempts, name: error.name }));
      await redis.del('measured');
      await redis.quit();`,
    check: ({ ms, attempts, name }: { ms: number; attempts: number; name: string }) => {
      expect(name).to.equal('ExecutionError');
      expect(attempts).to.equal(11);
      // Not the 3 s of ten pauses with half of the jitter on top.
      expect(ms).to.be.within(100, 4_000);
    },
  },
  'redlock: the release of a lock that has expired is an ExecutionError': {
    program: `
      import { Redis } from 'ioredis';
      import Redlock from 'redlock';
      const redis = new Redis(process.env.REDIS_URL);
      const lock = await new Redlock([redis]).acquire(['measured'], 5_000);
      await redis.del('measured');
      const error = await lock.release().catch((thrown) => thrown);
      console.log(JSON.stringify({ name: error.name }));
      await redis.quit();`,
    check: ({ name }: { name: string }) => expect(name).to.equal('ExecutionError'),
  },
  'redis-semaphore: a loss ends the process by default': {
    program: `
      import { spawnSync } from 'node:child_process';
      import * as fs from 'node:fs';
      fs.writeFileSync('loser.mjs', \`
        import { Redis } from 'ioredis';
        import { Mutex } from 'redis-semaphore';
        const redis = new Redis(process.env.REDIS_URL);
        await new Mutex(redis, 'measured', { lockTimeout: 1000, refreshInterval: 50 }).acquire();
        await redis.del('mutex:measured');
        setTimeout(() => process.exit(0), 20_000);\`);
      const { status, stderr } = spawnSync(process.execPath, ['loser.mjs'], { encoding: 'utf8' });
      console.log(JSON.stringify({ status, lost: stderr.includes('LostLockError') || stderr.includes('Lost mutex') }));`,
    check: (result: object) => expect(result).to.deep.equal({ status: 1, lost: true }),
  },
  'async-mutex: runExclusive within runExclusive waits for ever': {
    program: `
      import { Mutex } from 'async-mutex';
      const mutex = new Mutex();
      let inner = false;
      void mutex.runExclusive(() => mutex.runExclusive(() => { inner = true; }));
      await new Promise((resolve) => setTimeout(resolve, 50));
      console.log(JSON.stringify({ inner, locked: mutex.isLocked() }));`,
    check: (result: object) => expect(result).to.deep.equal({ inner: false, locked: true }),
  },
  'BullMQ: the lock of a job is a key of its own, with lockDuration': {
    program: `
      import { Redis } from 'ioredis';
      import { Queue, Worker } from 'bullmq';
      const redis = new Redis(process.env.REDIS_URL);
      const connection = { url: process.env.REDIS_URL, maxRetriesPerRequest: null };
      const queue = new Queue('measured', { connection });
      const seen = new Promise((resolve) => {
        const worker = new Worker('measured', async (job, token) => {
          const key = 'bull:measured:' + job.id + ':lock';
          resolve({ worker, mine: (await redis.get(key)) === token, ttl: await redis.pttl(key) });
        }, { connection });
      });
      await queue.add('one', {});
      const { worker, ...result } = await seen;
      console.log(JSON.stringify(result));
      await worker.close();
      await queue.obliterate({ force: true });
      await queue.close();
      await redis.quit();`,
    check: ({ mine, ttl }: { mine: boolean; ttl: number }) => {
      expect(mine).to.equal(true);
      expect(ttl).to.be.within(20_000, 30_000);
    },
  },
  'murlock: waits that grow, and then MurLockException; a key of its own for each method; a ttl that nobody renews': {
    program: `
      import 'reflect-metadata';
      import { Module } from '@nestjs/common';
      import { NestFactory } from '@nestjs/core';
      import { MurLock, MurLockModule } from 'murlock';
      const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const gate = () => {
        let open;
        const opened = new Promise((resolve) => (open = resolve));
        return { open, opened };
      };
      const [paid, both] = [gate(), gate()];
      class Service {
        inside = 0;
        async pay(user) { await paid.opened; return user.id; }
        async refund(user) { return user.id; }
        async slow(user) {
          if (++this.inside === 2) both.open();
          await both.opened;
        }
      }
      for (const [method, releaseTime] of [['pay', 60_000], ['refund', 60_000], ['slow', 100]]) {
        const { value } = Object.getOwnPropertyDescriptor(Service.prototype, method);
        const locked = MurLock(releaseTime, 'user.id')(Service.prototype, method, { value, configurable: true });
        Object.defineProperty(Service.prototype, method, locked);
      }
      class App {}
      const redisOptions = { url: process.env.REDIS_URL };
      const imports = [MurLockModule.forRoot({ redisOptions, wait: 100, maxAttempts: 3, logLevel: 'error' })];
      Module({ imports, providers: [Service] })(App);
      const app = await NestFactory.createApplicationContext(App, { logger: false });
      const service = app.get(Service);
      const user = { id: 'alice' };
      const first = service.pay(user);
      const startedAt = performance.now();
      const refused = await service.pay(user).catch((error) => error.name);
      const waited = performance.now() - startedAt;
      const other = await service.refund(user);
      paid.open();
      await first;
      // Its lease is over, and the second one gets in.
      const slow = [service.slow(user), sleep(250).then(() => service.slow(user))];
      const released = await slow[0].catch((error) => error.name);
      await Promise.allSettled(slow);
      console.log(JSON.stringify({ refused, waited, other, released, inside: service.inside }));
      await app.close();
      process.exit();`,
    check: ({ waited, ...result }: { waited: number }) => {
      // 100, 200 and 300 ms, also after the last attempt.
      expect(waited).to.be.greaterThan(590);
      const released = 'MurLockException';
      expect(result).to.deep.equal({ refused: 'MurLockException', other: 'alice', released, inside: 2 });
    },
  },
  'node-redisson: both share a lock, and each wakes the other': {
    program: `
      import { Redisson as Other } from 'node-redisson';
      import { Redisson } from 'ioredisson';
      const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const { hostname: host, port } = new URL(process.env.REDIS_URL);
      const other = new Other({ redis: { options: { host, port: Number(port) } } });
      const redisson = Redisson.create(process.env.REDIS_URL);
      const [theirs, ours] = [other.getLock('measured'), redisson.getLock('measured')];
      await theirs.lock();
      const refused = [await ours.tryLock()];
      const waiting = ours.acquire({ waitTime: 20_000 });
      await sleep(200);
      await theirs.unlock();
      const released = performance.now();
      const hold = await waiting;
      const woken = [performance.now() - released];
      refused.push(await theirs.tryLock(50n, true));
      const waitingThere = theirs.tryLock(20_000n, true);
      await sleep(200);
      await hold.unlock();
      const givenBack = performance.now();
      const got = await waitingThere;
      woken.push(performance.now() - givenBack);
      await theirs.unlock();
      console.log(JSON.stringify({ refused, got, woken }));
      // A timer of it, which quit() does not end, would throw.
      process.exit();`,
    check: ({ refused, got, woken }: { refused: boolean[]; got: boolean; woken: number[] }) => {
      expect(refused).to.deep.equal([false, false]);
      expect(got).to.equal(true);
      // Not at the end of a lease of 30 s.
      for (const ms of woken) expect(ms).to.be.below(10_000);
    },
  },
  'redlock-universal: retryAttempts pauses of retryDelay, a renewal within using(), several keys at once': {
    program: `
      import { Redis } from 'ioredis';
      import { createLock, IoredisAdapter, LockManager } from 'redlock-universal';
      const redis = new Redis(process.env.REDIS_URL);
      const adapter = new IoredisAdapter(redis);
      const options = { adapter, key: 'measured', ttl: 1_000, retryAttempts: 3, retryDelay: 100 };
      const lock = createLock(options);
      let result;
      await lock.using(async () => {
        const startedAt = performance.now();
        const refused = await createLock(options).acquire().catch((error) => error.name);
        const waited = performance.now() - startedAt;
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        result = { refused, waited, locked: await lock.isLocked('measured') };
      });
      const manager = new LockManager({ nodes: [adapter], defaultTTL: 5_000 });
      const handles = await manager.acquireBatch(['measured:1', 'measured:2']);
      console.log(JSON.stringify({ ...result, batch: handles.length }));
      process.exit();`,
    check: ({ waited, ...result }: { waited: number }) => {
      expect(waited).to.be.greaterThan(290);
      expect(result).to.deep.equal({ refused: 'LockAcquisitionError', locked: true, batch: 2 });
    },
  },
};

describe('the programs of docs/migration', function () {
  this.timeout(120_000);
  let project: ConsumerProject;
  let server: RedisServer;

  const folder = path.join(projectRoot, 'docs', 'migration');
  const programs = fs.readdirSync(folder).flatMap((page) =>
    codeBlocks(fs.readFileSync(path.join(folder, page), 'utf8')).flatMap(({ code }) => {
      const [, name, when] = /^\/\/ (\S+)\/(before|after)\.mjs\n/.exec(code) ?? [];
      return name === undefined ? [] : [{ name, when: when!, code }];
    }),
  );

  before(async () => {
    ensureBuilt();
    expect(installFolder(PACKAGES, 'other packages with locks', console.log)).to.equal(true);
    server = await RedisServer.start();
    project = new ConsumerProject(['ioredis']);
    for (const name of LINKED) project.link(name, path.join(PACKAGES, 'node_modules', name));
    project.installBuilt();
  });

  after(async () => {
    project?.remove();
    await server?.stop();
  });

  async function run(file: string, code: string): Promise<string> {
    const env = { REDIS_URL: server.url, NODE_NO_WARNINGS: '1' };
    const result = await project.run(process.execPath, [project.write(file, code)], env);
    expect(result.code, result.output).to.equal(0);
    return result.output;
  }

  it('are there, before and after', () => {
    const expected = Object.keys(PRINTED).flatMap((name) => [`${name} before`, `${name} after`]);
    expect(programs.map(({ name, when }) => `${name} ${when}`)).to.have.members(expected);
  });

  for (const { name, when, code } of programs) {
    it(`${name}, ${when}`, async () => {
      const printed = PRINTED[name]!;
      const expected = typeof printed === 'string' ? printed : printed[when === 'before' ? 0 : 1];
      expect(await run(`${name}-${when}.mjs`, code)).to.equal(expected);
    });
  }

  for (const [what, { program, check }] of Object.entries(MEASURED)) {
    it(`D14: ${what}`, async () => {
      check(JSON.parse(await run('measured.mjs', program)) as never);
    });
  }
});
