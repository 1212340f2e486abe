import { expect } from 'chai';
import { execFile } from 'node:child_process';
import * as path from 'node:path';
import { projectRoot } from '../../../tools/buildOutput';

interface Report {
  readonly passes: readonly { readonly title: string }[];
  readonly failures: readonly { readonly title: string; readonly err: { readonly message: string } }[];
}

/** Runs leaky.ts by mocha, as any test file is run. */
function runLeaky(): Promise<Report> {
  const mocha = path.join(projectRoot, 'node_modules', 'mocha', 'bin', 'mocha.js');
  const args = [mocha, '--reporter', 'json', path.join(__dirname, 'leaky.ts')];
  // On a server of its own: connections are counted there only.
  const options = { cwd: projectRoot, timeout: 60_000, env: { ...process.env, REDIS_URL: '' } };
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (_error, stdout) =>
      resolve(JSON.parse(stdout.slice(stdout.indexOf('{'))) as Report),
    );
  });
}

describe('the leak check', function () {
  this.timeout(60_000);
  let report: Report;

  before(async () => {
    report = await runLeaky();
  });

  for (const [title, message] of Object.entries({
    subscription: /left behind: leaked subscription: left-/,
    key: /left behind: leaked key: redisson_left-/,
    connections: /left behind: leaked connections: 1/,
    timers: /left behind: leaked timers: 1/,
    'unhandled rejection': /left behind: unhandled rejection: Error: nobody listens/,
  })) {
    it(`fails a test that leaves: ${title}`, () => {
      const messages = report.failures.filter((test) => test.title === title).map(({ err }) => err.message);
      expect(messages.join()).to.match(message);
    });
  }

  it('fails no other', () => {
    expect(report.failures.filter(({ title }) => title.startsWith('nothing'))).to.deep.equal([]);
    expect(report.passes.filter(({ title }) => title.startsWith('nothing'))).to.have.lengthOf(3);
  });
});
