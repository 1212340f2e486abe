'use strict';
// mocha's own spec output, and what it does not do by itself. In the queue of tools/testQueue.ts its worker gets what a
// run has come to. In a mocha of its own,
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
    const times = measure(runner);
    runner.on(Runner.constants.EVENT_TEST_PASS, (test) => passed.add(test));
    runner.once(Runner.constants.EVENT_RUN_END, () => {
      const failed = new Set(this.failures);
      // A test that passed and then failed its leak check counts once, as failed.
      for (const test of failed) passed.delete(test);
      const failures = [...failed].map(describeFailure);
      const result = { passed: passed.size, failures, skipped: this.stats.pending, ...times() };
      const { told } = options.reporterOptions ?? {};
      if (told) told(result);
      else {
        append(result);
        setTimeout(endAnyway, END_TIMEOUT_MS).unref();
      }
    });
  }
}

/**
 * What each file took, and the tests near their limits: lines of seconds, limit (`-` for a file), which file or test.
 */
function measure(runner) {
  let begunAt = performance.now();
  const files = new Map();
  const near = [];
  const { EVENT_SUITE_BEGIN, EVENT_SUITE_END, EVENT_TEST_PASS } = Runner.constants;
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
  return () => ({
    durations: [...files].map(([file, ms]) => `${seconds(ms)} - ${file}\n`),
    near: near.map(
      (test) => `${seconds(test.duration)} ${seconds(test.timeout())} ${fileOf(test)}: ${test.fullTitle()}\n`,
    ),
  });
}

function append({ passed, failures, skipped, durations, near }) {
  const { COUNTS_FILE, FAILURES_FILE, DURATIONS_FILE } = process.env;
  const texts = failures.map(({ title, file, error }) => `${title}\n  in ${file}\n  ${error}\n\n`);
  if (FAILURES_FILE) fs.appendFileSync(FAILURES_FILE, texts.join(''));
  if (COUNTS_FILE) fs.appendFileSync(COUNTS_FILE, `${passed} ${failures.length} ${skipped}\n`);
  if (DURATIONS_FILE) fs.appendFileSync(DURATIONS_FILE, [...durations, ...near].join(''));
}

const seconds = (ms) => (ms / 1000).toFixed(1);
const fileOf = ({ file }) => (file ? path.relative(process.cwd(), file) : 'no file');

function describeFailure(test) {
  return { title: test.fullTitle(), file: fileOf(test), error: String(test.err?.stack ?? test.err) };
}

function endAnyway() {
  process.stderr.write(
    `All tests are over, but the process stays alive: ${process.getActiveResourcesInfo().join(', ')}\n`,
  );
  process.exit(1);
}

module.exports = CountingReporter;
