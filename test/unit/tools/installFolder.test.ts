import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { projectRoot } from '../../../tools/buildOutput';

describe('installFolder', function () {
  this.timeout(60_000);
  let folder: string;

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-install-'));
  });

  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  it('waits for another process that installs the same folder, and uses what that has installed', async () => {
    const lock = JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.0' } } });
    fs.writeFileSync(path.join(folder, 'package-lock.json'), lock);
    fs.mkdirSync(path.join(folder, '.installing'));
    const program = `
      const { installFolder } = require('./tools/installFolder.ts');
      console.log('asks');
      console.log(installFolder(${JSON.stringify(folder)}, 'a', () => console.log('installs')));`;
    const child = spawn(process.execPath, ['-r', './tools/register.cjs', '-e', program], {
      cwd: projectRoot,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (output === '') {
        // What the other process does.
        fs.mkdirSync(path.join(folder, 'node_modules', 'a'), { recursive: true });
        fs.writeFileSync(path.join(folder, 'node_modules', 'a', 'package.json'), '{}');
        fs.writeFileSync(path.join(folder, 'node_modules', '.package-lock.json'), lock);
        fs.rmdirSync(path.join(folder, '.installing'));
      }
      output += text;
    });
    await once(child, 'close');
    expect(output).to.equal('asks\ntrue\n');
    expect(fs.existsSync(path.join(folder, '.installing'))).to.equal(false);
  });
});
