// Ids in titles: test/README.md
import { expect } from 'chai';
import { transform } from 'esbuild';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { gzipSync } from 'node:zlib';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { installFolder } from '../../tools/installFolder';
import { LIMITS } from '../package/support/weight';
import { codeBlocks } from '../readme/markdown';
import { RedisServer } from '../support';
import { ConsumerProject } from '../support/ConsumerProject';

/** The program of the page, with a configuration in YAML. */
const WITH_YAML = `
  import { Config, Redisson } from 'ioredisson';
  const config = Config.fromYAML('singleServerConfig: { address: "\${REDIS_URL}" }');
  const redisson = Redisson.create(config);
  const lock = redisson.getLock('report');
  lock.withLock(() => console.log('one at a time')).finally(() => redisson.shutdown());`;

const BUNDLERS = path.join(__dirname, 'versions', 'bundlers');

describe('the commands of docs/bundlers.md', function () {
  this.timeout(300_000);
  let project: ConsumerProject;
  let server: RedisServer;

  const blocks = codeBlocks(fs.readFileSync(path.join(projectRoot, 'docs', 'bundlers.md'), 'utf8'));
  const commands = blocks
    .filter(({ language }) => language === 'bash')
    .flatMap(({ code }) => code.split('\n'))
    .filter((line) => !line.startsWith('npm i '));

  before(async () => {
    ensureBuilt();
    expect(installFolder(BUNDLERS, 'bundlers', console.log)).to.equal(true);
    server = await RedisServer.start();
    project = new ConsumerProject(['ioredis']);
    for (const name of ['vite', 'webpack', 'rollup', '@rollup/plugin-commonjs', '@rollup/plugin-node-resolve'])
      project.link(name, path.join(BUNDLERS, 'node_modules', name));
    project.installBuilt();
    fs.mkdirSync(path.join(project.folder, 'src'));
    for (const { language, code } of blocks.filter((block) => block.language === 'js')) {
      const [, name] = /^\/\/ (\S+)\n/.exec(code) ?? [];
      expect(name, language).not.to.equal(undefined);
      project.write(name!, code);
    }
  });

  after(async () => {
    project?.remove();
    await server?.stop();
  });

  it('are those of four bundlers', () => {
    for (const name of ['esbuild', 'rollup', 'webpack', 'vite'])
      expect(
        commands.filter((line) => line.includes(`npx ${name} `) || line.endsWith(`npx ${name}`)),
        name,
      ).not.to.be.empty;
  });

  for (const command of commands) {
    it(`D10, F11: ${command}`, async () => {
      const files = await bundled(command);
      for (const file of files) {
        // Not all of them minify by themselves.
        const { code } = await transform(fs.readFileSync(file, 'utf8'), {
          minify: true,
          format: /cjs$/.test(file) ? 'cjs' : 'esm',
        });
        expect(gzipSync(code).length, path.basename(file)).to.be.below(LIMITS.gzip);
        expect(code).not.to.include('tag:yaml.org');
      }
      await expectToRun(files);
      const main = fs.readFileSync(path.join(project.folder, 'src', 'main.js'), 'utf8');
      try {
        project.write('src/main.js', WITH_YAML);
        await expectToRun(await bundled(command));
      } finally {
        project.write('src/main.js', main);
      }
    });
  }

  /** Runs the command. @returns the files that it made */
  async function bundled(command: string): Promise<string[]> {
    const out = path.join(project.folder, 'out');
    fs.rmSync(out, { recursive: true, force: true });
    const PATH = `${path.join(BUNDLERS, 'node_modules', '.bin')}${path.delimiter}${process.env['PATH']}`;
    const env = { PATH, NO_COLOR: '1', FORCE_COLOR: undefined };
    const made = await project.run('sh', ['-c', command.replace('npx ', '')], env, 240_000);
    expect(made.code, made.output).to.equal(0);
    expect(made.output).not.to.match(/warning/i);
    const files = fs.readdirSync(out);
    const both = ['main.cjs', 'main.mjs'];
    expect(files).to.deep.equal(command.includes('webpack') ? both : [/cjs/.test(command) ? both[0] : both[1]]);
    return files.map((file) => path.join(out, file));
  }

  /** Alone: what is not in the bundle is not found, but ioredis. */
  async function expectToRun(files: readonly string[]): Promise<void> {
    const alone = new ConsumerProject(['ioredis']);
    try {
      for (const file of files) {
        const copy = alone.write(path.basename(file), fs.readFileSync(file, 'utf8'));
        const run = await alone.run(process.execPath, [copy], { REDIS_URL: server.url });
        expect(run, file).to.deep.equal({ code: 0, output: 'one at a time\n' });
      }
    } finally {
      alone.remove();
    }
  }
});
