import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { installFolder } from '../../tools/installFolder';
import { codeBlocks } from '../readme/markdown';
import { ConsumerProject } from '../support/ConsumerProject';

const RUNNERS = path.join(__dirname, 'versions', 'runners');

/**
 * A runner of tests: how it is told to run the tests of a folder, and its fake timers for `programs/fakeTimers.cjs`.
 */
interface Runner {
  /** Of its recipe in docs/testing.md. */
  readonly heading: string;
  readonly args: (folder: string) => string[];
  readonly adapter: string;
  /** What it says when so many tests have passed, and no other. */
  readonly passed: (count: number) => RegExp;
}

const TEST_RUNNERS: Readonly<Record<string, Runner>> = {
  mocha: {
    heading: 'mocha and sinon',
    args: (folder) => ['node_modules/mocha/bin/mocha.js', '--timeout=60000', folder],
    adapter: `
      const sinon = require('sinon');
      let clock;
      require('../fakeTimers.cjs')({
        describe, test: it, afterEach,
        fake: () => { clock = sinon.useFakeTimers({ now: Date.now() }); },
        real: () => clock.restore(),
        advance: (ms) => clock.tickAsync(ms),
      });`,
    passed: (count) => new RegExp(`^ +${count} passing`, 'm'),
  },
  'node-test': {
    heading: 'node:test and sinon',
    // Each file by itself: `node --test` of Node 20 counts files, not tests.
    args: (folder) => ['-e', NODE_TESTS, folder],
    adapter: `
      const { afterEach, describe, test } = require('node:test');
      const sinon = require('sinon');
      const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'];
      let clock;
      require('../fakeTimers.cjs')({
        describe, test, afterEach,
        fake: () => { clock = sinon.useFakeTimers({ now: Date.now(), toFake }); },
        real: () => clock.restore(),
        advance: (ms) => clock.tickAsync(ms),
      });`,
    passed: (count) => new RegExp(`^# pass ${count}$`, 'm'),
  },
  jest: {
    heading: 'jest',
    args: (folder) => ['node_modules/jest/bin/jest.js', '--no-watchman', '--runInBand', '--testTimeout=60000', folder],
    adapter: `
      require('../fakeTimers.cjs')({
        describe, test, afterEach,
        fake: () => jest.useFakeTimers(),
        real: () => jest.useRealTimers(),
        advance: (ms) => jest.advanceTimersByTimeAsync(ms),
      });`,
    passed: (count) => new RegExp(`^Tests: +${count} passed, ${count} total$`, 'm'),
  },
  vitest: {
    heading: 'vitest',
    args: (folder) => ['node_modules/vitest/vitest.mjs', 'run', '--testTimeout=60000', folder],
    adapter: `
      import { afterEach, describe, test, vi } from 'vitest';
      import fakeTimers from '../fakeTimers.cjs';
      fakeTimers({
        describe, test, afterEach,
        fake: () => vi.useFakeTimers(),
        real: () => vi.useRealTimers(),
        advance: (ms) => vi.advanceTimersByTimeAsync(ms),
      });`,
    passed: (count) => new RegExp(`^ +Tests +${count} passed \\(${count}\\)$`, 'm'),
  },
};

describe('ioredisson/testing, under the fake timers of test runners', function () {
  this.timeout(240_000);
  let project: ConsumerProject;

  before(() => {
    ensureBuilt();
    expect(installFolder(RUNNERS, 'jest and vitest', console.log)).to.equal(true);
    project = new ConsumerProject(['ioredis', 'mocha', 'sinon']);
    for (const name of ['jest', 'vitest']) project.link(name, path.join(RUNNERS, 'node_modules', name));
    project.installBuilt();
    project.write('fakeTimers.cjs', fs.readFileSync(path.join(__dirname, 'programs', 'fakeTimers.cjs'), 'utf8'));
  });

  after(() => project?.remove());

  it('D12: node:test with its own mock timers: they are refused by name, and tick() does not hang', async () => {
    project.write('mockTimers.test.js', MOCK_TIMERS);
    const args = ['--test-reporter=tap', 'mockTimers.test.js'];
    const { code, output } = await project.run(process.execPath, args);
    expect(code, output).to.equal(0);
    expect(output).to.match(/^# pass 1$/m);
  });

  for (const [name, { heading, args, adapter, passed }] of Object.entries(TEST_RUNNERS)) {
    it(`${name}: the recipe of docs/testing.md, and every promise about time`, async () => {
      const recipe = recipeOf(heading);
      fs.mkdirSync(path.join(project.folder, name));
      project.write(`${name}/recipe.test.js`, recipe);
      project.write(`${name}/promises.test.js`, adapter);
      const { code, output } = await project.run(process.execPath, args(name), {
        NO_COLOR: '1',
        FORCE_COLOR: undefined,
      });
      expect(code, output).to.equal(0);
      expect(stripVTControlCharacters(output), output).to.match(passed(count(recipe) + count(PROMISES)));
    });
  }
});

/** Runs both files, and says how many tests have passed. */
const NODE_TESTS = `
  const { execFileSync } = require('node:child_process');
  let passed = 0;
  for (const name of ['recipe', 'promises']) {
    const file = process.argv[1] + '/' + name + '.test.js';
    const output = execFileSync(process.execPath, ['--test-reporter=tap', file], { encoding: 'utf8' });
    console.log(output);
    passed += Number(/^# pass (\\d+)$/m.exec(output)[1]);
  }
  console.log('# pass ' + passed);`;

const MOCK_TIMERS = `
  const { strict: assert } = require('node:assert');
  const { mock, test } = require('node:test');
  const { createTestRedisson } = require('ioredisson/testing');

  test('they are refused while they are on', async () => {
    const redisson = createTestRedisson();
    const held = await redisson.getLock('held').acquire();
    mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const refused = { code: 'CONFIG', message: /mock timers of node:test.*docs.testing.md/ };
    await assert.rejects(redisson.getLock('a').tryLock(), refused);
    await assert.rejects(redisson.getLock('a').withLock(() => undefined, { waitTime: 1000 }), refused);
    await assert.rejects(redisson.getFairLock('a').lock(), refused);
    await assert.rejects(redisson.getSemaphore('a').trySetPermits(1), refused);
    mock.timers.tick(100_000);
    mock.timers.reset();
    await redisson.getLock('a').withLock(() => undefined);
    await held.unlock();
    // Only Date: leases do not go by it.
    mock.timers.enable({ apis: ['Date'] });
    await redisson.getLock('a').withLock(() => mock.timers.tick(100_000));
    mock.timers.reset();
    await redisson.shutdown();
  });`;

const PROMISES = fs.readFileSync(path.join(__dirname, 'programs', 'fakeTimers.cjs'), 'utf8');

/** How many tests a file has. */
function count(text: string): number {
  return text.match(/^ *(?:it|test)\(/gm)?.length ?? 0;
}

/** The code below a heading of docs/testing.md. */
function recipeOf(heading: string): string {
  const page = fs.readFileSync(path.join(projectRoot, 'docs', 'testing.md'), 'utf8');
  const section = page.split(/^#+ /m).find((text) => text.startsWith(`${heading}\n`));
  return codeBlocks(section ?? '')
    .map(({ code }) => code)
    .join('\n\n');
}
