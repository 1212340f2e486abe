import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { redisUrl, uniqueName } from '../support';
import { ensureBuilt } from '../../tools/buildOutput';
import { cli, CliProcess, TIMEOUT_MS } from './support/CliProcess';
import { configFile, observer, scratchFolder, untilQueued } from './support/world';

const MANY = 50;
/** mkdir is one step: whoever finds the folder there is inside together with somebody else. */
const SECTION = 'mkdir inside || echo two >> broken; sleep 0.005; rmdir inside; echo done >> log';

describe('many commands at once', function () {
  this.timeout(6 * TIMEOUT_MS);

  before(() => ensureBuilt());

  it(`${MANY} started at once: all run, never two together`, async () => {
    const name = uniqueName();
    const cwd = scratchFolder();
    // 50 Nodes that start on a few busy processors are slow, not gone.
    const slow = ['timeout', 'connectTimeout', 'subscriptionTimeout', 'lockWatchdogTimeout'].map(
      (key) => `${key}: 120000`,
    );
    const config = configFile(redisUrl(), ...slow);
    const runs = Array.from({ length: MANY }, () =>
      cli(['run', '-c', config, name, '--', 'sh', '-c', SECTION], { cwd }),
    );
    const ends = await Promise.all(runs);
    expect(ends.filter(({ code, stderr }) => code !== 0 || stderr !== '')).to.deep.equal([]);
    expect(fs.existsSync(path.join(cwd, 'broken'))).to.equal(false);
    expect(fs.readFileSync(path.join(cwd, 'log'), 'utf8').match(/done/g)).to.have.lengthOf(MANY);
    expect(await observer().exists(name)).to.equal(0);
  });

  it('-t fair: in the order of asking', async () => {
    const name = uniqueName();
    const redis = observer();
    const cwd = scratchFolder();
    const holder = CliProcess.start(['run', '-t', 'fair', name, '--', 'sh', '-c', 'echo inside; read line']);
    await holder.prints(/inside/);
    const waiters: CliProcess[] = [];
    for (let i = 1; i <= 5; i++) {
      waiters.push(CliProcess.start(['run', '-t', 'fair', name, '--', 'sh', '-c', `echo ${i} >> log`], { cwd }));
      await untilQueued(redis, name, i);
    }
    holder.type('\n');
    for (const waiter of waiters) expect((await waiter.ended).code).to.equal(0);
    expect(fs.readFileSync(path.join(cwd, 'log'), 'utf8')).to.equal('1\n2\n3\n4\n5\n');
  });

  it('-t read: readers together, a writer alone', async () => {
    const name = uniqueName();
    const readers = [1, 2].map(() =>
      CliProcess.start(['run', '-t', 'read', name, '--', 'sh', '-c', 'echo inside; read line']),
    );
    for (const reader of readers) await reader.prints(/inside/);
    expect((await cli(['run', '-n', '-t', 'write', name, '--', 'echo', 'in'])).code).to.equal(1);
    for (const reader of readers) reader.type('\n');
    for (const reader of readers) expect((await reader.ended).code).to.equal(0);
    expect((await cli(['run', '-n', '-t', 'write', name, '--', 'echo', 'in'])).stdout).to.equal('in\n');
  });
});
