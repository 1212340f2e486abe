import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { projectRoot } from '../../../tools/buildOutput';

interface Ran {
  readonly code: number;
  readonly output: string;
  /** What it appended for .ci/run. */
  readonly counts: string;
  readonly failures: string;
  readonly disturbed: string;
}

describe('the queue of test files', function () {
  this.timeout(180_000);
  this.slow(10_000);
  let folder: string;

  beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-queue-'))));
  afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

  async function run(fixtures: readonly string[], ...options: readonly string[]): Promise<Ran> {
    const files = fixtures.map((name) => path.join(__dirname, 'queue', `${name}.fixture.ts`));
    const report = (name: string): string => path.join(folder, name);
    const env = {
      ...{ ...process.env, QUEUE_FIXTURES: folder, DURATIONS_FILE: '' },
      ...{ COUNTS_FILE: report('counts'), FAILURES_FILE: report('failures'), DISTURBED_FILE: report('disturbed.txt') },
    };
    const args = ['--require', './tools/register.cjs', 'tools/testQueue.ts', '--at-once', '2', ...options, ...files];
    const child = spawn(process.execPath, args, { cwd: projectRoot, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    child.stderr.on('data', (data: Buffer) => (output += data.toString()));
    const [code] = (await once(child, 'close')) as [number];
    const [counts = '', failures = '', disturbed = ''] = ['counts', 'failures', 'disturbed.txt'].map((name) =>
      fs.readFileSync(report(name), 'utf8'),
    );
    return { code, output, counts, failures, disturbed };
  }

  const lastLines = ({ output }: Ran): string[] => output.trimEnd().split('\n').slice(-2);
  const timesAlone = ({ output }: Ran): number => output.match(/again, alone/g)?.length ?? 0;

  it('a failure that does not come again is disturbed: told, counted, and no failure of the run', async () => {
    const ran = await run(['failsOnce', 'passes']);
    expect([ran.code, ran.counts, ran.failures]).to.deep.equal([0, '3 0 1\n', '']);
    expect(timesAlone(ran)).to.equal(3);
    expect(ran.output).to.include('Add to test/DISTURBED.md');
    expect(ran.disturbed).to.match(
      /^\| \S+failsOnce.fixture.ts: a file that fails once fails the first time \| \d{4}-\d\d-\d\d \| Error: disturbed \\\| by something \| not known yet \|$/m,
    );
    expect(ran.disturbed).to.match(/failsOnce.fixture.ts: .*"before all" hook.*Error: no server yet/);
    const [time, counts] = lastLines(ran);
    expect(time).to.match(/^2 files in \d+ s, \d+ s of CPU; 2 disturbed$/);
    expect(counts).to.equal('3 passed, 0 failed, 1 skipped');
  });

  it('one that comes again fails the run, at the first time alone or at the second', async () => {
    const ran = await run(['failsAlways', 'failsTwice', 'passes']);
    expect([ran.code, ran.counts, ran.disturbed]).to.deep.equal([1, '1 2 1\n', '']);
    expect(timesAlone(ran)).to.equal(3);
    expect(ran.failures).to.include('a file that fails always fails').and.include('Error: broken for good');
    expect(ran.failures).to.include('Error: fails now and then');
    expect(lastLines(ran)[1]).to.equal('1 passed, 2 failed, 1 skipped');
  });

  it('more than three failures are not run again, and fail the run', async () => {
    const ran = await run(['failsFourTimes', 'passes']);
    expect([ran.code, ran.counts, timesAlone(ran)]).to.deep.equal([1, '1 4 1\n', 0]);
    expect(ran.output).to.include('More than 3 failed: none was run again');
  });

  it('a process that ends, and a file that cannot be loaded, fail the run; the files after them run', async () => {
    const ran = await run(['crashes', 'cannotBeLoaded', 'only', 'passes'], '--at-once', '1');
    expect([ran.code, ran.counts]).to.deep.equal([1, '1 3 1\n']);
    expect(ran.failures).to.match(/only.fixture.ts[^]*`\.only` is not supported|forbidOnly|forbid-only/);
    expect(ran.failures).to.match(/the process of \S+crashes.fixture.ts[^]*ended with 7[^]*last words/);
    expect(ran.failures).to.match(/cannotBeLoaded.fixture.ts cannot be loaded[^]*nothing to test with/);
  });

  it('files leave no listener of mocha to those after them in the same process', async () => {
    const ran = await run(['passes', 'rejectsLate'], '--at-once', '1');
    expect([ran.code, ran.counts, ran.disturbed]).to.deep.equal([0, '2 0 1\n', '']);
  });

  it('a file that hangs is killed at its limit, and one that leaves the process alive is told', async () => {
    const ran = await run(['hangs', 'staysAlive', 'passes'], '--limit', '3000', '--grace', '50');
    expect([ran.code, ran.counts]).to.deep.equal([1, '2 2 1\n']);
    expect(ran.failures).to.match(/the process of \S+hangs.fixture.ts[^]*killed after 3 s/);
    expect(ran.failures).to.match(/staysAlive.fixture.ts leaves the process alive[^]*TCPServerWrap: 1/);
  });
});
