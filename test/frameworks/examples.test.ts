import { expect } from 'chai';
import { execFile } from 'node:child_process';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';

describe('the examples', function () {
  this.timeout(120_000);

  it('npm run example:fastify sells what there is, and no more', async () => {
    const output = await run('fastifyCheckout');
    expect(output).to.match(/^without a lock: \d+ sold$/m);
    expect(output).to.match(/^with the lock: {2}10 sold$/m);
  });

  it('npm run example:nest makes each report once, and pays an order once', async () => {
    const output = await run('nestFleet');
    for (const tick of [1, 2, 3]) {
      expect(output).to.match(new RegExp(`^tick ${tick}: the report was made by process \\d of 3$`, 'm'));
    }
    expect(output).to.match(/^the same order paid 3 times at once: 201, 409, 409$/m);
  });
});

/** What it prints; rejects unless it ends with 0. */
function run(example: string): Promise<string> {
  const args = [
    '--require',
    path.join(projectRoot, 'tools', 'register.cjs'),
    path.join('examples', example, 'main.ts'),
  ];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: projectRoot, timeout: 100_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message}\n${stdout}${stderr}`));
    });
  });
}
