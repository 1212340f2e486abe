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

  for (const streaming of [false, true]) {
    const how = streaming ? 'a provider tells of' : 'clients ask for';
    it(`D1: hours of tokens that live 15 minutes, which ${how}: no lock is lost, and no waiter sleeps on`, () => {
      const world = {
        tokens: { lifetimeMs: 900_000, streaming, revokedEveryMs: 600_000 },
        ...{ servers: 1, replicas: 0, sentinels: 0, javaApps: 0, apps: 3, tasks: 4, thinkMs: 60_000 },
        ...{ kinds: ['lock', 'fair', 'read', 'write'], namesPerKind: 1, synchronizers: 0, multis: 0, groups: 0 },
        ...{ longHolds: 100, faults: [] },
      };
      // A connection whose login ends, an error, and a loss are violations, since nothing is wrong in this world.
      const [line] = run('--seed', '7', '--each', '2000', '--profile', JSON.stringify(world));
      expect(Number(/([\d.]+) s of the world/.exec(line!)![1])).to.be.greaterThan(2.5 * 3_600);
    });
  }
});
