import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { installFolder } from '../../tools/installFolder';
import { codeBlocks } from '../readme/markdown';
import { ConsumerProject } from '../support/ConsumerProject';

const RUNNERS = path.join(__dirname, 'versions', 'runners');

/** A runner of tests: how it is told to run the tests of a folder, and its fake timers for `programs/fakeTimers.cjs`. */
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
      expect(stripVTControlCharacters(output)).to.match(passed(count(recipe) + count(PROMISES)));
    });
  }
});

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
