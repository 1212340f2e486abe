'use strict';
// mocha's own spec output; and, when COUNTS_FILE is set, one line per run with its counts, which .ci/run sums up.
const fs = require('node:fs');
const { reporters, Runner } = require('mocha');

class CountingReporter extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const file = process.env.COUNTS_FILE;
    if (!file) return;
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const failed = new Set();
      for (const test of this.failures) failed.add(test);
      // A test that passed and then failed its leak check is counted once, as failed.
      const passed = this.stats.passes - [...failed].filter((test) => this.passedTests.has(test)).length;
      fs.appendFileSync(file, `${passed} ${failed.size} ${this.stats.pending}\n`);
    });
    this.passedTests = new Set();
    runner.on(Runner.constants.EVENT_TEST_PASS, (test) => this.passedTests.add(test));
  }
}

module.exports = CountingReporter;
