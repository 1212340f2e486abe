import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect } from 'chai';
import { bundle } from './bundle';

/** Of all positions so many are passed over for each that is tried: all of them take ten minutes. */
const EVERY = 30;

describe('the exploration', function () {
  this.timeout(300_000);
  let file: string;

  before(async () => {
    file = await bundle(undefined, path.join(__dirname, 'explore', 'main.ts'));
  });

  after(() => fs.rmSync(file, { force: true }));

  function run(...args: string[]): { status: number | null; output: string } {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', file, '--verbose', ...args], {
      encoding: 'utf8',
    });
    expect(stderr).to.equal('');
    return { status, output: stdout };
  }

  it('runs a position exactly alike, after whatever other ones', () => {
    const hashes = ['lock-acquire', 'fair-one-attempt'].map((name) => {
      const some = ['--scenario', name, '--kind', 'cut', '--every', '10', '--jobs', '1'];
      const [all = ''] = /hash \w+/.exec(run(...some).output) ?? [];
      const [again = ''] = /hash \w+/.exec(run(...some).output) ?? [];
      expect(all)
        .to.match(/hash \w/)
        .and.to.equal(again);
      return all;
    });
    expect(new Set(hashes).size).to.equal(2);
    const alone = run('--scenario', 'lock-acquire', '--fault', 'late-300ms@20').output;
    expect(alone)
      .to.contain('1 of 1 faults')
      .and.to.equal(run('--scenario', 'lock-acquire', '--fault', 'late-300ms@20').output);
  });

  it(`finds nothing wrong in any scenario with each fault, at one position of ${EVERY}`, () => {
    const { status, output } = run('--every', String(EVERY));
    const failures = output.split('\n').filter((line) => line.startsWith('FAILED'));
    expect(failures).to.deep.equal([]);
    expect(status).to.equal(0);
    expect(Number(/(\d+) runs in/.exec(output)?.[1])).to.be.above(1_500);
  });
});
