import { expect } from 'chai';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { trackClient, uniqueName } from '../support';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { CliProcess, PATIENCE } from './support/CliProcess';
import { observer, scratchFolder } from './support/world';

const BOOTSTRAP = path.join(projectRoot, 'tools', 'bootstrap.cjs');
const DEMO = ['ts', path.join('examples', 'flashSale', 'main.ts'), '30'];
const ESCAPE = '\u001b';
/** A terminal's colours and styles; other escapes move its cursor. */
// eslint-disable-next-line no-control-regex
const COLOUR = /\u001b\[[\d;:]*m/;
/** What makes the libraries that we use take any output for a terminal with colours. */
const EAGER = { FORCE_COLOR: '3', COLORTERM: 'truecolor', TERM: 'xterm-256color', NO_COLOR: undefined };

describe('B13: no colours unless the output is a terminal that wants them', function () {
  this.timeout(3 * PATIENCE);

  before(() => ensureBuilt());

  /** Runs the demo, on a server of its own, to its end. @returns its exit code */
  async function demo(start: (env: NodeJS.ProcessEnv) => ChildProcess, env: NodeJS.ProcessEnv): Promise<unknown> {
    const child = start({ ...process.env, NODE_OPTIONS: undefined, REDIS_URL: undefined, ...env });
    // With its workers.
    trackClient({ stop: () => void (child.exitCode === null && process.kill(-child.pid!)) });
    return (await once(child, 'exit'))[0];
  }

  it('npm run demo into a file is plain text, whatever FORCE_COLOR says', async () => {
    const file = path.join(scratchFolder(), 'demo.txt');
    const output = fs.openSync(file, 'w');
    const code = await demo(
      (env) =>
        spawn(process.execPath, [BOOTSTRAP, ...DEMO], {
          env,
          cwd: projectRoot,
          stdio: ['ignore', output, output],
          detached: true,
        }),
      EAGER,
    );
    fs.closeSync(output);
    const text = fs.readFileSync(file, 'utf8');
    expect(text).to.contain('With the lock every piece was sold exactly once.').and.to.not.contain(ESCAPE);
    expect(code).to.equal(0);
  });

  it('nor on a terminal where NO_COLOR is set: it moves its cursor, and paints nothing', async function () {
    try {
      execFileSync('script', ['--version']);
    } catch {
      console.log('      skipped: no script(1) to make a terminal with');
      return this.skip();
    }
    const file = path.join(scratchFolder(), 'terminal.txt');
    const command = [process.execPath, BOOTSTRAP, ...DEMO].map((word) => `'${word}'`).join(' ');
    const code = await demo(
      (env) => spawn('script', ['-qec', command, file], { env, cwd: projectRoot, stdio: 'ignore', detached: true }),
      { TERM: 'xterm-256color', NO_COLOR: '1', FORCE_COLOR: undefined },
    );
    const text = fs.readFileSync(file, 'utf8');
    expect(text).to.contain('sold exactly once').and.to.contain(ESCAPE).and.to.not.match(COLOUR);
    expect(code).to.equal(0);
  });

  for (const env of [EAGER, { ...EAGER, FORCE_COLOR: undefined, NO_COLOR: '1' }]) {
    const set = env.NO_COLOR === undefined ? 'FORCE_COLOR' : 'NO_COLOR';
    it(`the command prints plain text into pipes and files, with ${set} set`, async () => {
      const name = uniqueName();
      await observer().hset(name, `${'a'.repeat(8)}-bbbb-4ccc-8ddd-${'e'.repeat(12)}:1`, 1);
      for (const args of [['list', name], ['inspect', name], ['--help'], ['list', '--help'], ['no-such-command']]) {
        const { stdout, stderr } = await CliProcess.start(args, { env }).ended;
        expect(stdout + stderr, args.join(' '))
          .to.not.equal('')
          .and.to.not.contain(ESCAPE);
      }
      await observer().del(name);
    });
  }
});
