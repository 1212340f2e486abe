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
    for (const name of ['async-mutex', 'bullmq', 'redis-semaphore', 'redlock'])
      project.link(name, path.join(PACKAGES, 'node_modules', name));
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
