import * as path from 'node:path';
import { beginTest, endTest, startLeakChecks, stopLeakChecks } from './leaks';
import { startSharedRedis, stopSharedRedis } from './sharedRedis';

/** Tests in these folders never see a server, so none is started for them. */
const WITHOUT_REDIS = ['unit', 'structure', 'types', 'package', 'testing'].map(
  (folder) => path.join('test', folder) + path.sep,
);

/** mocha's root hooks: one shared server per process where a test may need it, and the leak check after every test. */
export const mochaHooks = {
  async beforeAll(this: Mocha.Context): Promise<void> {
    if (!testFiles(this.test?.parent).some(needsRedis)) return;
    // A server may have to be installed first.
    this.timeout(15 * 60_000);
    await startSharedRedis();
    await startLeakChecks();
  },

  async beforeEach(this: Mocha.Context): Promise<void> {
    this.timeout(30_000);
    await beginTest(this.currentTest?.file);
  },

  async afterEach(this: Mocha.Context): Promise<void> {
    this.timeout(30_000);
    report(this, await endTest(this.currentTest?.state === 'failed'));
  },

  async afterAll(this: Mocha.Context): Promise<void> {
    this.timeout(30_000);
    const problems = await stopLeakChecks();
    await stopSharedRedis();
    if (problems.length > 0) throw new Error(problems.join('; '));
  },
};

/** Fails the test that has just run, not the hook: a failed root hook would end the whole run. */
function report(context: Mocha.Context, problems: string[]): void {
  if (problems.length === 0) return;
  const hook = context.test as (Mocha.Runnable & { error(error: Error): void }) | undefined;
  hook?.error(new Error(`"${context.currentTest?.fullTitle()}" left behind: ${problems.join('; ')}`));
}

function testFiles(suite: Mocha.Suite | undefined): string[] {
  if (suite === undefined) return [];
  const files = [suite, ...suite.tests].flatMap(({ file }) => (file === undefined ? [] : [file]));
  return [...files, ...suite.suites.flatMap(testFiles)];
}

function needsRedis(file: string): boolean {
  const relative = path.relative(path.resolve(__dirname, '..', '..'), file);
  return !WITHOUT_REDIS.some((folder) => relative.startsWith(folder));
}
