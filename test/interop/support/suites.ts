import { JavaRedisson } from './JavaRedisson';
import { javaArguments } from './javaBuild';
import { type Side, Stage } from './Stage';
import { NEWEST, whyNoJava } from './toolchain';

/** Maven may have to fetch all of Redisson first. */
const BUILD_MS = 600_000;

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
 * @param version - of Redisson: its driver is built first. @default the newest
 */
export function describeWithJava(title: string, suite: () => void, version: string = NEWEST): void {
  const reason = whyNoJava();
  if (reason !== undefined) {
    describe.skip(`${title} (skipped: ${reason})`, suite);
    return;
  }
  describe(title, function () {
    this.timeout(60_000);
    this.slow(5000);
    before(async function () {
      this.timeout(BUILD_MS);
      await javaArguments(version);
    });
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
