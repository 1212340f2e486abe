import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { packTarball } from '../../tools/packTarball';
import { RedisServer } from '../../tools/redisServer';
import { codeBlocks } from '../readme/markdown';
import { ConsumerProject } from '../support/ConsumerProject';
import { typeErrors } from '../support/typeErrors';

/** What somebody does who has just found the package: an empty folder, `npm install`, and what the README shows. */
describe('a newcomer', function () {
  this.timeout(120_000);
  const blocks = codeBlocks(fs.readFileSync(path.join(projectRoot, 'README.md'), 'utf8'));
  const quickStart = block('ts', /withLock/);
  let tarball: string;
  let project: ConsumerProject;
  let server: RedisServer;

  before(async () => {
    ensureBuilt();
    tarball = packTarball();
    project = new ConsumerProject([]);
    server = await RedisServer.start();
  });

  after(async () => {
    project?.remove();
    if (tarball !== undefined) fs.rmSync(path.dirname(tarball), { recursive: true, force: true });
    await server?.stop();
  });

  /** The code of the first block of the README in that language that has this in it. */
  function block(language: string, text: RegExp): string {
    const found = blocks.find((one) => one.language === language && text.test(one.code));
    if (found === undefined) throw new Error(`the README has no ${language} with ${text}`);
    return found.code;
  }

  async function run(command: string, args: readonly string[]): Promise<string> {
    const { code, output } = await project.run(command, args, { REDIS_URL: server.url, NODE_NO_WARNINGS: '1' });
    expect(code, output).to.equal(0);
    return output;
  }

  it('installs it with the line of the README, and gets no more packages than are needed', async () => {
    const line = block('bash', /^npm install/);
    expect(line).to.equal('npm install ioredisson ioredis');
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
    await run('npm', ['install', ...quiet, tarball, 'ioredis']);
    const installed = path.join(project.folder, 'node_modules', 'ioredisson');
    expect(fs.lstatSync(installed).isSymbolicLink()).to.equal(false);
    for (const name of ['commander', '@nestjs', 'fastify', 'prom-client', '@opentelemetry'])
      expect(fs.existsSync(path.join(project.folder, 'node_modules', name)), name).to.equal(false);
  });

  it('ESM: pastes the quick start', async () => {
    expect(await run(process.execPath, [project.write('start.mjs', quickStart)])).to.equal('42\n');
  });

  it('TypeScript: the same compiles, strictly, with the types that came along', async () => {
    for (const name of ['@types/node', 'undici-types'])
      project.link(name, path.join(projectRoot, 'node_modules', name));
    const file = project.write('start.mts', quickStart);
    const options = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
    const typeRoots = [path.join(project.folder, 'node_modules', '@types')];
    expect(typeErrors([file], { ...options, typeRoots })).to.deep.equal([]);
    const { outputText } = ts.transpileModule(quickStart, {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
    });
    expect(await run(process.execPath, [project.write('compiled.mjs', outputText)])).to.equal('42\n');
  });

  it('CommonJS: requires it', async () => {
    await run(process.execPath, [project.write('start.cjs', block('js', /require\('ioredisson'\)/))]);
    const inside = `const { Redisson } = require('ioredisson');
      const redisson = Redisson.create(process.env.REDIS_URL);
      redisson.getLock('a').withLock(() => console.log('inside')).then(() => redisson.shutdown());`;
    expect(await run(process.execPath, [project.write('inside.cjs', inside)])).to.equal('inside\n');
  });

  it('reads a redisson.yaml', async () => {
    project.write('redisson.yaml', 'singleServerConfig:\n  address: "${REDIS_URL}"\nlockWatchdogTimeout: 20000\n');
    const program = `import { Config, Redisson } from 'ioredisson';
      const redisson = Redisson.create(Config.fromYAML('redisson.yaml'));
      console.log(redisson.getConfig().lockWatchdogTimeout, await redisson.getLock('a').withLock(() => 'inside'));
      await redisson.shutdown();`;
    expect(await run(process.execPath, [project.write('config.mjs', program)])).to.equal('20000 inside\n');
  });

  it('runs a command under a lock', async () => {
    const output = await run('npx', ['--no-install', 'ioredisson', 'run', 'nightly-report', '--', 'echo', 'one of us']);
    expect(output).to.match(/^one of us$/m);
  });
});
