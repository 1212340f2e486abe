// Ids in titles: test/README.md
import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { installFolder } from '../../tools/installFolder';
import { codeBlocks } from '../readme/markdown';
import { RedisServer } from '../support';
import { ConsumerProject } from '../support/ConsumerProject';

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
    it(`D10: ${command}`, async () => {
      const out = path.join(project.folder, 'out');
      fs.rmSync(out, { recursive: true, force: true });
      const PATH = `${path.join(BUNDLERS, 'node_modules', '.bin')}${path.delimiter}${process.env['PATH']}`;
      const env = { PATH, NO_COLOR: '1', FORCE_COLOR: undefined };
      const made = await project.run('sh', ['-c', command.replace('npx ', '')], env, 240_000);
      expect(made.code, made.output).to.equal(0);
      expect(made.output).not.to.match(/warning/i);
      const files = fs.readdirSync(out);
      const formats = command.includes('webpack')
        ? ['main.cjs', 'main.mjs']
        : [/cjs/.test(command) ? 'main.cjs' : 'main.mjs'];
      expect(files).to.deep.equal(formats);
      // Alone: what is not in the bundle is not found, but ioredis.
      const alone = new ConsumerProject(['ioredis']);
      try {
        for (const file of files) {
          fs.copyFileSync(path.join(out, file), path.join(alone.folder, file));
          const run = await alone.run(process.execPath, [file], { REDIS_URL: server.url });
          expect(run, file).to.deep.equal({ code: 0, output: 'one at a time\n' });
        }
      } finally {
        alone.remove();
      }
    });
  }
});
