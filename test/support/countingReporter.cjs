'use strict';
// mocha's own spec output, and three things it does not do by itself:
// - when COUNTS_FILE is set, one line per run with its counts is appended, which .ci/run sums up;
// - when FAILURES_FILE is set, each failed test is appended with its error, which .ci/run prints again at its end;
// - a run that does not end is ended, and says what kept it alive. (mocha's --exit would hide that.)
const fs = require('node:fs');
const path = require('node:path');
const { reporters, Runner } = require('mocha');

const END_TIMEOUT_MS = 10_000;

class CountingReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const passed = new Set();
    runner.on(Runner.constants.EVENT_TEST_PASS, (test) => passed.add(test));
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const failed = new Set(this.failures);
      // A test that passed and then failed its leak check counts once, as failed.
      for (const test of failed) passed.delete(test);
      const { COUNTS_FILE, FAILURES_FILE } = process.env;
      if (FAILURES_FILE) fs.appendFileSync(FAILURES_FILE, [...failed].map(describeFailure).join(''));
      if (COUNTS_FILE) fs.appendFileSync(COUNTS_FILE, `${passed.size} ${failed.size} ${this.stats.pending}\n`);
      setTimeout(endAnyway, END_TIMEOUT_MS).unref();
    });
  }
}

function describeFailure(test) {
  const file = test.file ? path.relative(process.cwd(), test.file) : 'no file';
  return `${test.fullTitle()}\n  in ${file}\n  ${test.err?.stack ?? test.err}\n\n`;
}

function endAnyway() {
  process.stderr.write(
    `All tests are over, but the process stays alive: ${process.getActiveResourcesInfo().join(', ')}\n`,
  );
  process.exit(1);
}

module.exports = CountingReporter;
