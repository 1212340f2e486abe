import { expect } from 'chai';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import * as ts from 'typescript';
import { projectRoot } from '../../tools/buildOutput';
import { trackClient } from '../support';
import { typeErrors } from '../support/typeErrors';

const EXAMPLES = path.join(projectRoot, 'examples');
const REGISTER = ['--require', path.join(projectRoot, 'tools', 'register.cjs')];

describe('the examples', function () {
  this.timeout(120_000);

  it('each one has a command of its own, and the README of examples/ says what it shows', () => {
    const { scripts } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const readme = fs.readFileSync(path.join(EXAMPLES, 'README.md'), 'utf8');
    const folders = fs.readdirSync(EXAMPLES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    for (const { name } of folders) {
      const command = Object.keys(scripts).find((key) => scripts[key]!.endsWith(` examples/${name}/main.ts`));
      expect(command, `the command of ${name}`).to.be.a('string');
      expect(readme).to.contain(`npm run ${command!}`).and.to.contain(`](${name}`);
    }
  });

  it('npm run example:fastify sells what there is, and no more', async () => {
    const output = await run('fastifyCheckout');
    expect(output).to.match(/^without a lock: \d+ sold$/m);
    expect(output).to.match(/^with the lock: {2}10 sold$/m);
  });

  it('npm run example:nest replaces each process of a fleet, and loses no lock, payment or request', async () => {
    const fleet = new Running('nestFleet');
    const [, url] = await fleet.shows(/dashboard {2}(http:\S+?)\/locks\//);
    await fleet.shows(/3 processes take requests[^]*process \d imports/);
    expect(await (await fetch(`${url}/locks/`)).text()).to.contain('<title>');
    // The page reads Redis now and then, and the import may have ended just then.
    while (!(await lockNames(`${url}/locks/api/locks`)).includes('import')) await setTimeout(200);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    for (const member of [1, 2, 3]) expect(metrics).to.match(new RegExp(`acquisitions_total.*process="${member}"`));
    const clicks = [1, 2].map(() => fetch(`${url}/orders/A-1/pay`, { method: 'POST' }));
    expect((await Promise.all(clicks)).map(({ status }) => status).sort()).to.deep.equal([201, 409]);

    await fleet.shows(/DEPLOYED/);
    const output = await fleet.end();
    for (const member of [1, 2, 3]) expect(output).to.match(new RegExp(`process ${member} drains; it holds \\S`));
    expect(output).to.match(/ENDING.*locks lost: 0\n.*imports: (\d+) begun, \1 finished, at most 1 at once\n/s);
    expect(output).to.match(/ENDING.*orders: \d+ paid, 0 of them twice;.*requests that failed: 0\n$/s);
  });

  it('npm run example:bullmq does the jobs of a customer one after the other, and those of several at once', async () => {
    const output = await run('bullmqWorkers');
    expect(output).to.match(/^12 jobs in 2 processes: at most \d at once, 1 of one customer$/m);
    const folder = path.join(EXAMPLES, 'bullmqWorkers');
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

async function lockNames(url: string): Promise<readonly string[]> {
  const { rows } = (await (await fetch(url)).json()) as { readonly rows: readonly { readonly name: string }[] };
  return rows.map(({ name }) => name);
}

/** What it prints; rejects unless it ends with 0. */
function run(example: string): Promise<string> {
  const args = [...REGISTER, path.join('examples', example, 'main.ts')];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: projectRoot, timeout: 100_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message}\n${stdout}${stderr}`));
    });
  });
}

/** An example that runs until Ctrl-C. */
class Running {
  readonly #child: ChildProcess;
  #output = '';
  #onChange = (): void => undefined;

  constructor(example: string) {
    const args = [...REGISTER, path.join('examples', example, 'main.ts')];
    this.#child = spawn(process.execPath, args, { cwd: projectRoot, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        this.#onChange();
      });
    }
    this.#child.once('exit', () => this.#onChange());
    const closed = once(this.#child, 'close');
    trackClient({
      stop: () => {
        this.#child.kill('SIGKILL');
        return closed;
      },
    });
  }

  /** Resolves when it has printed this. */
  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#output);
      if (found !== null) return found;
      if (this.#child.exitCode !== null) throw new Error(`it has ended:\n${this.#output}`);
      await new Promise<void>((resolve) => (this.#onChange = resolve));
    }
  }

  /** As Ctrl-C. @returns all that it has printed; rejects unless it ends with 0 */
  async end(): Promise<string> {
    this.#child.kill('SIGINT');
    const [code] = (await once(this.#child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`it has ended with ${code}:\n${this.#output}`);
    return this.#output;
  }
}
