import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { expect } from 'chai';
import { bundle } from './bundle';

/** Seeds that found something once, or have many kinds of trouble in them. */
const FIRST = 1_041;

describe('the simulation', function () {
  this.timeout(60_000);
  let file: string;

  before(async () => {
    file = await bundle();
  });

  after(() => fs.rmSync(file, { force: true }));

  function run(...args: string[]): string[] {
    const { stdout, stderr } = spawnSync(process.execPath, [file, '--verbose', ...args], { encoding: 'utf8' });
    expect(stderr).to.equal('');
    return stdout.split('\n').filter((line) => /^seed /.test(line));
  }

  it('runs a seed exactly alike, in whatever process and after whatever other seeds', () => {
    const together = run('--seed', String(FIRST), '--seeds', '4', '--each', '150');
    expect(together).to.have.length(4);
    const alone = run('--seed', String(FIRST + 3), '--each', '150');
    expect(alone).to.deep.equal([together[3]]);
  });
});
