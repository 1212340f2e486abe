// Ids in titles: test/README.md
import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { ConsumerProject } from '../support/ConsumerProject';
import { packTarball } from '../../tools/packTarball';
import { typeErrors } from '../support/typeErrors';

const CONSUMER = `
import { Redisson, TimeUnit, type RLock } from 'ioredisson';

export async function sell(redisson: Redisson): Promise<boolean> {
  const lock: RLock = redisson.getLock('stock');
  if (!(await lock.tryLock(1, 10, TimeUnit.SECONDS))) return false;
  await lock.unlock();
  return true;
}

// @ts-expect-error a lock has a name
export const nameless: (redisson: Redisson) => RLock = (redisson) => redisson.getLock();
`;

describe('the packed package', function () {
  this.timeout(120_000);
  let project: ConsumerProject;
  let installed: string;

  before(() => {
    const { dependencies } = readPackage(projectRoot);
    project = new ConsumerProject([...Object.keys(dependencies), 'ioredis', '@types/node', 'undici-types']);
    ensureBuilt();
    installed = path.join(project.folder, 'node_modules', 'ioredisson');
    fs.mkdirSync(installed);
    const tarball = packTarball();
    execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components', '1']);
    fs.rmSync(path.dirname(tarball), { recursive: true });
  });

  after(() => project.remove());

  it('holds what a user needs, and nothing else', () => {
    const sources = filesUnder(path.join(projectRoot, 'lib')).map((file) => file.replace(/\.ts$/, ''));
    const compiled = sources.flatMap((file) => ['.js', '.js.map', '.d.ts'].map((end) => `dist/${file}${end}`));
    const texts = ['README.md', 'CHANGELOG.md', 'LICENSE'].filter((file) =>
      fs.existsSync(path.join(projectRoot, file)),
    );
    expect(filesUnder(installed).sort()).to.deep.equal([...compiled, ...texts, 'package.json'].sort());
  });

  it('loads from CommonJS, and from ESM by the same names', async () => {
    project.write('names.cjs', "console.log(JSON.stringify(Object.keys(require('ioredisson')).sort()))");
    project.write(
      'names.mjs',
      `import * as all from 'ioredisson'; import { createRequire } from 'node:module';
       import { Redisson, Config, TimeUnit, LockTimeoutError } from 'ioredisson';
       const required = createRequire(import.meta.url)('ioredisson');
       if (![Redisson, Config, TimeUnit, LockTimeoutError].every((one) => one)) throw new Error('undefined export');
       if (required.Redisson !== Redisson) throw new Error('two copies');
       const names = Object.keys(all).filter((name) => !['default', 'module.exports', '__esModule'].includes(name));
       console.log(JSON.stringify(names.sort()))`,
    );
    const cjs = await project.run(process.execPath, ['names.cjs']);
    const esm = await project.run(process.execPath, ['names.mjs']);
    expect(cjs.output).to.include('"Redisson"');
    expect(cjs.code).to.equal(0);
    expect(esm).to.deep.equal(cjs);
  });

  it('needs no connection to be loaded, and lets the process end', async () => {
    const result = await project.run(process.execPath, ['-e', "require('ioredisson'); console.log('loaded')"]);
    expect(result).to.deep.equal({ code: 0, output: 'loaded\n' });
  });

  it('brings its command', async () => {
    const { bin, version } = readPackage(installed);
    const result = await project.run(process.execPath, [path.join(installed, bin['ioredisson'] ?? ''), '--version']);
    expect(result).to.deep.equal({ code: 0, output: `${version}\n` });
  });

  const resolutions: Record<string, ts.CompilerOptions> = {
    node16: { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 },
    nodenext: { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
    bundler: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
  };
  for (const [name, options] of Object.entries(resolutions)) {
    it(`type-checks under ${name} resolution, its declarations too`, () => {
      const extensions = name === 'bundler' ? ['ts'] : ['cts', 'mts'];
      const files = extensions.map((extension) => project.write(`consumer.${extension}`, CONSUMER));
      const errors = typeErrors(files, { ...options, typeRoots: [typeRoot()] });
      expect(errors).to.deep.equal([]);
    });
  }

  it('type-checks in a project whose lib is es2020 (B13)', () => {
    const file = project.write('older.cts', CONSUMER);
    const errors = typeErrors([file], { ...resolutions['node16'], typeRoots: [typeRoot()], lib: ['lib.es2020.d.ts'] });
    expect(errors).to.deep.equal([]);
  });

  function typeRoot(): string {
    return path.join(project.folder, 'node_modules', '@types');
  }
});

interface PackageJson {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

function readPackage(folder: string): PackageJson {
  return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')) as PackageJson;
}

/** Relative paths with slashes. */
function filesUnder(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'));
}
