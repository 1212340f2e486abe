import { expect } from 'chai';
import { execFile } from 'node:child_process';
import * as path from 'node:path';
import * as ts from 'typescript';
import { projectRoot } from '../../tools/buildOutput';
import { typeErrors } from '../support/typeErrors';

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

  it('npm run example:bullmq does the jobs of a customer one after the other, and those of several at once', async () => {
    const output = await run('bullmqWorkers');
    expect(output).to.match(/^12 jobs in 2 processes: at most \d at once, 1 of one customer$/m);
    const folder = path.join(projectRoot, 'examples', 'bullmqWorkers');
    const options = {
      module: ts.ModuleKind.Node20,
      moduleResolution: ts.ModuleResolutionKind.Node16,
      esModuleInterop: true,
      skipLibCheck: true,
    };
    const files = ['main.ts', 'worker.ts'].map((file) => path.join(folder, file));
    expect(typeErrors(files, options)).to.deep.equal([]);
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
