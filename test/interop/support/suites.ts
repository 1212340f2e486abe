import { JavaRedisson } from './JavaRedisson';
import { type Side, Stage } from './Stage';
import { whyNoJava } from './toolchain';

// A root hook: mocha reads the suites, which import this, while the root suite is the current one.
after(async function () {
  this.timeout(30_000);
  await Stage.closeShared();
  await JavaRedisson.closeShared();
});

/**
 * `describe` for a suite that needs a JVM. Without one it is skipped, with the reason in its title, so that the report
 * shows both what did not run and why.
 *
 * @param title - of the suite
 * @param suite - declares the tests
 * @param timeoutMs - of each test and hook. The first hook of a run may have to build the driver
 */
export function describeWithJava(title: string, suite: () => void, timeoutMs = 60_000): void {
  const reason = whyNoJava();
  if (reason !== undefined) {
    describe.skip(`${title} (skipped: ${reason})`, suite);
    return;
  }
  describe(title, function () {
    this.timeout(timeoutMs);
    this.slow(5000);
    suite();
  });
}

/** A test for each direction: the first side does it first, or holds; the second meets what the first has done. */
export function bothWays(title: string, test: (first: Side, second: Side) => Promise<void>): void {
  for (const [first, second] of [
    ['java', 'node'],
    ['node', 'java'],
  ] as const) {
    it(`${title} (${first}, then ${second})`, () => test(first, second));
  }
}
