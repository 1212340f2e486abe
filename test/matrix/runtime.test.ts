import { expect } from 'chai';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { skip } from '../support';
import { IOREDIS_FOLDER } from './ioredisFolder';
import { type Place, placesOf, topology } from './places';
import { RUNTIME } from './runCell';
import { runCommand } from './runCommand';

/** The program may take so long, in ms. */
const LIMIT_MS = 90_000;
/** What the package needs besides ioredis. */
const DEPENDENCIES = ['p-defer'];

/** How a runtime is told to run a program as it is. */
const ARGS: Readonly<Record<string, readonly string[]>> = {
  node: [],
  bun: ['run'],
  deno: ['run', '--allow-all', '--no-config', '--node-modules-dir=manual'],
};

/** The runtime of the cell; without one the Node that runs us, so that the program itself is tried, too. */
const runtime = process.env[RUNTIME] || process.execPath;

for (const [i, { name, open }] of placesOf(topology).entries()) {
  describe(`what must hold on every runtime (${path.basename(runtime)}, ${name})`, function () {
    this.timeout(LIMIT_MS + 30_000);
    let folder: string;
    let place: Place;

    before(async function () {
      if (process.env[RUNTIME] === undefined) return skip(this, 'not in a cell of the matrix');
      ensureBuilt();
      folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-runtime-'));
      const modules = path.join(folder, 'node_modules');
      const own = path.join(modules, 'ioredisson');
      fs.cpSync(path.join(projectRoot, 'dist'), path.join(own, 'dist'), { recursive: true });
      fs.copyFileSync(path.join(projectRoot, 'package.json'), path.join(own, 'package.json'));
      const installed = path.join(projectRoot, 'node_modules');
      for (const one of DEPENDENCIES) fs.symlinkSync(path.join(installed, one), path.join(modules, one));
      fs.symlinkSync(process.env[IOREDIS_FOLDER] || path.join(installed, 'ioredis'), path.join(modules, 'ioredis'));
      fs.copyFileSync(path.join(__dirname, 'program.cjs'), path.join(folder, 'program.cjs'));
      place = await open();
      fs.writeFileSync(path.join(folder, 'redisson.yaml'), place.yaml);
    });

    after(() => fs.rmSync(folder, { recursive: true, force: true }));

    it('locks, synchronizers, threads, renewal and loss; and it ends by itself', async () => {
      const args = [...ARGS[path.basename(runtime)]!, 'program.cjs', 'redisson.yaml', ...(i > 0 ? ['quick'] : [])];
      const env = { ...process.env, DENO_DIR: path.join(folder, 'deno'), DENO_NO_UPDATE_CHECK: '1' };
      const { succeeded, output } = await runCommand(runtime, args, { cwd: folder, env, limitMs: LIMIT_MS });
      const lines = output.split('\n');
      expect(succeeded, output).to.equal(true);
      expect(lines.filter((line) => line.startsWith('ok ')).length, output).to.be.greaterThan(11);
      expect(output).to.not.contain('FAIL');
    });
  });
}
