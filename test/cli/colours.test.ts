import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { trackClient, uniqueName } from '../support';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { CliProcess, TIMEOUT_MS } from './support/CliProcess';
import { observer, scratchFolder } from './support/world';

const BOOTSTRAP = path.join(projectRoot, 'tools', 'bootstrap.cjs');
const DEMO = ['ts', path.join('examples', 'flashSale', 'main.ts'), '30'];
const ESCAPE = '\u001b';
/** What makes the libraries that we use take any output for a terminal with colours. */
const EAGER = { FORCE_COLOR: '3', COLORTERM: 'truecolor', TERM: 'xterm-256color', NO_COLOR: undefined };

describe('B13: no colours unless the output is a terminal that wants them', function () {
  this.timeout(3 * TIMEOUT_MS);

  before(() => ensureBuilt());

  it('npm run demo into a file is plain text, whatever FORCE_COLOR says', async function () {
    // It starts sixteen processes of its own, one act after the other.
    this.timeout(10 * TIMEOUT_MS);
    const file = path.join(scratchFolder(), 'demo.txt');
    const output = fs.openSync(file, 'w');
    const env = { ...process.env, NODE_OPTIONS: undefined, REDIS_URL: undefined, ...EAGER };
    const stdio = ['ignore', output, output] as const;
    const child = spawn(process.execPath, [BOOTSTRAP, ...DEMO], {
      env,
      cwd: projectRoot,
      stdio: [...stdio],
      detached: true,
    });
    // With its workers.
    trackClient({ stop: () => void (child.exitCode === null && process.kill(-child.pid!)) });
    const [code] = (await once(child, 'exit')) as [number | null];
    fs.closeSync(output);
    const text = fs.readFileSync(file, 'utf8');
    expect(text).to.contain('With the lock every piece was sold exactly once.').and.to.not.contain(ESCAPE);
    // No frame of a table either.
    expect(text).to.match(/^[\n -~]*$/);
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
