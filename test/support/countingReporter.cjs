'use strict';
// mocha's own spec output, and two things it does not do by itself:
// - when COUNTS_FILE is set, one line per run with its counts is appended, which .ci/run sums up;
// - a run that does not end is ended, and says what kept it alive. (mocha's --exit would hide that.)
const fs = require('node:fs');
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
      const { COUNTS_FILE } = process.env;
      if (COUNTS_FILE) fs.appendFileSync(COUNTS_FILE, `${passed.size} ${failed.size} ${this.stats.pending}\n`);
      setTimeout(endAnyway, END_TIMEOUT_MS).unref();
    });
  }
}

function endAnyway() {
  process.stderr.write(
    `All tests are over, but the process stays alive: ${process.getActiveResourcesInfo().join(', ')}\n`,
  );
  process.exit(1);
}

module.exports = CountingReporter;
