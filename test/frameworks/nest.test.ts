// Ids in titles: test/README.md
import 'reflect-metadata';
import type { DynamicModule } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { inspect } from 'node:util';
import sinon from 'sinon';
import * as ts from 'typescript';
import { ConfigError, Redisson, type RedissonClient } from '../../lib';
import {
  InjectRedisson,
  REDISSON,
  RedissonHealthError,
  RedissonHealthIndicator,
  RedissonModule,
  redissonToken,
  WithLock,
} from '../../lib/integrations/nestjs';
import { createTestRedisson } from '../../lib/testing';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { installFolder } from '../../tools/installFolder';
import { codeBlocks } from '../readme/markdown';
import { RedisServer, redisUrl, trackClient } from '../support';
import { ConsumerProject } from '../support/ConsumerProject';
import { typeErrors } from '../support/typeErrors';

const NEST = path.join(__dirname, 'versions', 'nest12');
const LEGACY = { experimentalDecorators: true, emitDecoratorMetadata: true };

describe('the service of docs/nestjs.md', function () {
  this.timeout(180_000);
  let project: ConsumerProject;
  let server: RedisServer;

  before(async () => {
    ensureBuilt();
    expect(installFolder(NEST, 'NestJS 12', console.log)).to.equal(true);
    server = await RedisServer.start();
    project = new ConsumerProject(['ioredis', '@types/node', 'undici-types']);
    const { dependencies } = JSON.parse(fs.readFileSync(path.join(NEST, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    for (const name of Object.keys(dependencies)) project.link(name, path.join(NEST, 'node_modules', name));
    project.installBuilt();
  });

  after(async () => {
    project?.remove();
    await server?.stop();
  });

  /** The blocks of the page that begin with the name of a file. */
  function pageFiles(): readonly (readonly [name: string, code: string])[] {
    const page = fs.readFileSync(path.join(projectRoot, 'docs', 'nestjs.md'), 'utf8');
    return codeBlocks(page).flatMap(({ code }) => {
      const [, name] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? [];
      return name === undefined ? [] : [[name, code] as const];
    });
  }

  it('type-checks', () => {
    const files = pageFiles().map(([name, code]) => project.write(name, code));
    expect(files).to.have.lengthOf(6);
    const options = {
      ...LEGACY,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      typeRoots: [path.join(project.folder, 'node_modules', '@types')],
    };
    expect(typeErrors(files, options)).to.deep.equal([]);
  });

  it('D8, D9, D12: does what the page says', async () => {
    for (const [name, code] of pageFiles()) {
      const compilerOptions = { ...LEGACY, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS };
      const { outputText } = ts.transpileModule(code, { compilerOptions });
      project.write(name.replace(/ts$/, 'js'), outputText);
    }
    const program = fs.readFileSync(path.join(__dirname, 'programs', 'nestFleet.cjs'), 'utf8');
    const file = project.write('fleet.cjs', program);
    const { code, output } = await project.run(process.execPath, [file], { REDIS_URL: server.url });
    expect(code, output).to.equal(0);
    expect(JSON.parse(output)).to.deep.equal({
      sent: [1, 1],
      paid: [201, { order: '1', paid: 7, by: 'bob' }],
      refunded: [201, { order: '1', refunded: 7 }],
      cancelled: [201, { cancelled: '1' }],
      health: [200, 'up'],
      conflict: [409, { message: "'order:1' is locked", error: 'Conflict', statusCode: 409 }],
      another: 201,
      refund: 409,
      unanswered: 503,
      shutDown: [503, { message: 'Not available now, try again', error: 'Service Unavailable', statusCode: 503 }],
      inMemory: 1,
      made: 0,
      shared: ['ready', true],
      logged: [],
    });
  });
});

describe('RedissonModule in tests', () => {
  afterEach(() => sinon.restore());

  it('D12: a client of ioredisson/testing survives the application, unless shutdownDrain says otherwise', async () => {
    const redisson = createTestRedisson();
    for (let i = 0; i < 2; i++) {
      const module = await Test.createTestingModule({ imports: [RedissonModule.forRoot({ redisson })] }).compile();
      expect(module.get(REDISSON)).to.equal(redisson);
      await module.close();
      expect(await redisson.getLock('a').tryLock()).to.equal(true);
      await redisson.getLock('a').forceUnlock();
    }
    const ending = RedissonModule.forRoot({ redisson, shutdownDrain: 0 });
    await (await Test.createTestingModule({ imports: [ending] }).compile()).close();
    expect(redisson.state).to.equal('closed');
  });

  it('a real client that is given is shut down with the application', async () => {
    const redisson = Redisson.create(redisUrl());
    trackClient({ close: () => redisson.shutdown() });
    const module = await Test.createTestingModule({ imports: [RedissonModule.forRoot({ redisson })] }).compile();
    await module.close();
    expect(redisson.state).to.equal('closed');
  });

  it('a shutdownDrain that is no time is refused when the application starts, and no client is made', async () => {
    const create = sinon.spy(Redisson, 'create');
    for (const shutdownDrain of [-1, NaN, '5s', null] as number[]) {
      const imported = RedissonModule.forRoot({ url: redisUrl(), shutdownDrain });
      const error = await Test.createTestingModule({ imports: [imported] })
        .compile()
        .catch((thrown: unknown) => thrown);
      expect(error, String(shutdownDrain)).to.be.instanceOf(RangeError);
    }
    expect(create.callCount).to.equal(0);
  });

  it('what is no client, or a factory that returns nothing, is refused: nothing falls back to another server', async () => {
    const wrong = null as never;
    for (const imported of [
      RedissonModule.forRoot(wrong),
      RedissonModule.forRoot({ redisson: wrong }),
      RedissonModule.forRoot({ redisson: 5 as never }),
      RedissonModule.forRootAsync({ useFactory: () => wrong }),
      RedissonModule.forRootAsync({ useFactory: () => undefined as never }),
    ]) {
      const error = await Test.createTestingModule({ imports: [imported] })
        .compile()
        .catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(ConfigError);
    }
  });

  it('@WithLock refuses a wrong name and unknown options where it decorates', () => {
    for (const [key, options] of [[''], [undefined], [5], [{}], ['a', 5], ['a', null], ['a', { waitTme: 5 }]] as [
      never,
      never,
    ][]) {
      expect(() => WithLock(key, options), inspect([key, options])).to.throw(ConfigError);
    }
    expect(() => WithLock('a', { waitTime: 5, atLeast: 5, http: true, skip: true })).not.to.throw();
  });

  it('D12: overrideProvider(REDISSON) makes no other client, by forRoot and forRootAsync', async () => {
    const create = sinon.spy(Redisson, 'create');
    const url = 'redis://127.0.0.1:1';
    for (const imported of [
      RedissonModule.forRoot({ url }),
      RedissonModule.forRootAsync({ useFactory: () => Promise.resolve({ url }) }),
    ]) {
      const redisson = createTestRedisson();
      create.resetHistory();
      const testing = Test.createTestingModule({ imports: [imported] }).overrideProvider(REDISSON);
      const module = await testing.useValue(redisson).compile();
      await module.init();
      expect(module.get(Redisson)).to.equal(redisson);
      expect((await module.get(RedissonHealthIndicator).check('redis')).redis.status).to.equal('up');
      await module.close();
      expect(create.callCount).to.equal(0);
      expect(redisson.state).to.equal('ready');
      await redisson.shutdown();
    }
  });
});

describe('RedissonModule with several clients (F10)', () => {
  const one = createTestRedisson();
  const audit = createTestRedisson();

  /**
   * What `class Jobs { constructor(@InjectRedisson('audit') audit) {} @WithLock('a', { client: 'audit' }) run() {} }`
   * is.
   */
  class Jobs {
    constructor(
      readonly first: RedissonClient,
      readonly second: RedissonClient,
    ) {}

    async run(): Promise<number[]> {
      return [one, audit].map((redisson) => redisson.holders('a').length);
    }

    async runFirst(): Promise<number[]> {
      return this.run();
    }
  }
  InjectRedisson()(Jobs, undefined, 0);
  InjectRedisson('audit')(Jobs, undefined, 1);
  for (const [key, decorate] of [
    ['runFirst', WithLock('a')],
    ['run', WithLock('a', { client: 'audit' })],
  ] as const) {
    const descriptor = Object.getOwnPropertyDescriptor(Jobs.prototype, key)! as TypedPropertyDescriptor<
      () => Promise<number[]>
    >;
    decorate(Jobs.prototype, key, descriptor);
    Object.defineProperty(Jobs.prototype, key, descriptor);
  }

  const started = (...imports: DynamicModule[]): Promise<TestingModule> =>
    Test.createTestingModule({ imports, providers: [Jobs] }).compile();

  for (const [what, named] of Object.entries({
    forRoot: RedissonModule.forRoot({ name: 'audit', redisson: audit }),
    forRootAsync: RedissonModule.forRootAsync({ name: 'audit', useFactory: () => ({ redisson: audit }) }),
  })) {
    it(`${what}: a named one is injected by its name, and @WithLock takes the lock of that client`, async () => {
      const module = await started(RedissonModule.forRoot({ redisson: one }), named);
      const jobs = module.get(Jobs);
      expect([jobs.first, jobs.second]).to.deep.equal([one, audit]);
      expect(module.get(redissonToken('audit'))).to.equal(audit);
      expect(await jobs.run()).to.deep.equal([0, 1]);
      // `runFirst` calls `run`: both locks.
      expect(await jobs.runFirst()).to.deep.equal([1, 1]);
      await module.close();
    });
  }

  it('a second one without a name, or of the same name, is a ConfigError that says what to do', async () => {
    const first = RedissonModule.forRoot({ redisson: one });
    const named = RedissonModule.forRoot({ name: 'audit', redisson: audit });
    for (const [imports, text] of [
      [[first, RedissonModule.forRoot({ redisson: audit }), named], 'is imported 2 times without a name'],
      [[first, named, RedissonModule.forRoot({ name: 'audit', redisson: one })], "2 times with the name 'audit'"],
    ] as const) {
      const error = await started(...imports).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(ConfigError);
      expect((error as Error).message)
        .to.include(text)
        .and.include("RedissonModule.forRoot({ name: 'audit', url })");
    }
    // The same module, imported by two others, is one.
    await (await started(first, first, named)).close();
  });

  it('refuses a name that is none where it is given', () => {
    for (const name of ['', 5, null] as never[]) {
      expect(() => RedissonModule.forRoot({ name })).to.throw(ConfigError);
      expect(() => RedissonModule.forRootAsync({ name, useFactory: () => ({}) })).to.throw(ConfigError);
      expect(() => InjectRedisson(name)).to.throw(ConfigError);
      expect(() => WithLock('a', { client: name })).to.throw(ConfigError);
    }
  });
});

describe('RedissonHealthIndicator', () => {
  for (const [what, options, limit] of [
    ['less than a second', undefined, 800],
    ['its own limit', { timeout: 200 }, 200],
  ] as const) {
    it(`D14: gives Redis ${what}`, async () => {
      const ping = sinon.fake.rejects(new Error('silent'));
      const indicator = new RedissonHealthIndicator({ ping, state: 'reconnecting' } as unknown as RedissonClient);
      const error = (await indicator.check('redis', options).catch((thrown: unknown) => thrown)) as RedissonHealthError;
      expect(error).to.be.instanceOf(RedissonHealthError);
      expect(error.causes).to.deep.equal({ redis: { status: 'down', state: 'reconnecting', message: 'silent' } });
      expect(ping.args).to.deep.equal([[{ timeout: limit }]]);
    });
  }

  it('D14: a frozen server does not hold it up', async () => {
    const server = trackClient(await RedisServer.start());
    const redisson = Redisson.create(server.url);
    trackClient({ close: () => redisson.shutdown() });
    const indicator = new RedissonHealthIndicator(redisson);
    expect((await indicator.check('redis')).redis.status).to.equal('up');
    server.pause();
    const startedAt = performance.now();
    const error = await indicator.check('redis', { timeout: 50 }).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(RedissonHealthError);
    expect(performance.now() - startedAt).to.be.below(2_000);
    server.resume();
  });

  for (const timeout of [-1, 0, NaN, Infinity, '500', {}] as number[]) {
    it(`refuses a limit that is no time at the call, and asks nobody: ${inspect(timeout)}`, async () => {
      const ping = sinon.fake.resolves(1);
      const indicator = new RedissonHealthIndicator({ ping, state: 'ready' } as unknown as RedissonClient);
      const error = await indicator.check('redis', { timeout }).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(RangeError);
      expect((error as Error).message).to.contain('timeout');
      expect(ping.callCount).to.equal(0);
    });
  }
});
