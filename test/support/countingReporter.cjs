'use strict';
// mocha's own spec output, and four things it does not do by itself:
// - when COUNTS_FILE is set, one line per run with its counts is appended, which .ci/run sums up;
// - when FAILURES_FILE is set, each failed test is appended with its error, which .ci/run prints again at its end;
// - when DURATIONS_FILE is set, the time that each file took, and the tests that came near their limits, are appended;
// - a run that does not end is ended, and says what kept it alive. (mocha's --exit would hide that.)
const fs = require('node:fs');
const path = require('node:path');
const { reporters, Runner } = require('mocha');

const END_TIMEOUT_MS = 10_000;
/** A test that took more than this part of its limit will exceed it on a busy machine. */
const NEAR = 0.4;

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
    if (process.env.DURATIONS_FILE) measure(runner, process.env.DURATIONS_FILE);
  }
}

/** Appends lines of three columns: seconds, of how many (for a test near its limit), which file or test. */
function measure(runner, durationsFile) {
  let begunAt = performance.now();
  const files = new Map();
  const near = [];
  const { EVENT_SUITE_BEGIN, EVENT_SUITE_END, EVENT_TEST_PASS, EVENT_RUN_END } = Runner.constants;
  runner.on(EVENT_SUITE_BEGIN, (suite) => {
    if (suite.parent?.root) begunAt = performance.now();
  });
  runner.on(EVENT_SUITE_END, (suite) => {
    if (!suite.parent?.root) return;
    const file = fileOf(suite);
    files.set(file, (files.get(file) ?? 0) + performance.now() - begunAt);
  });
  runner.on(EVENT_TEST_PASS, (test) => {
    if (test.timeout() > 0 && test.duration > NEAR * test.timeout()) near.push(test);
  });
  runner.once(EVENT_RUN_END, () => {
    const lines = [...files].map(([file, ms]) => `${seconds(ms)} - ${file}\n`);
    const tests = near.map(
      (test) => `${seconds(test.duration)} ${seconds(test.timeout())} ${fileOf(test)}: ${test.fullTitle()}\n`,
    );
    fs.appendFileSync(durationsFile, [...lines, ...tests].join(''));
  });
}

const seconds = (ms) => (ms / 1000).toFixed(1);
const fileOf = ({ file }) => (file ? path.relative(process.cwd(), file) : 'no file');

function describeFailure(test) {
  return `${test.fullTitle()}\n  in ${fileOf(test)}\n  ${test.err?.stack ?? test.err}\n\n`;
}

function endAnyway() {
  process.stderr.write(
    `All tests are over, but the process stays alive: ${process.getActiveResourcesInfo().join(', ')}\n`,
  );
  process.exit(1);
}

module.exports = CountingReporter;
