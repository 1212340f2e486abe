// Ids in titles: test/README.md
import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as ts from 'typescript';
import { ALL_KINDS, scriptsOf } from '../../lib/kinds/allKinds';
import { projectRoot } from '../../tools/buildOutput';
import { entryPoints } from '../../tools/entryPoints';
import type { AnyScript } from '../../tools/scripts';
import type { ConsumerProject } from '../support/ConsumerProject';
import { typeErrors } from '../support/typeErrors';
import { filesUnder, optionalPeers, ordinaryPackages, PackedPackage, readPackage } from './support/installed';

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
  let packed: PackedPackage;
  let project: ConsumerProject;
  let installed: string;

  before(() => {
    packed = new PackedPackage();
    project = packed.installedWith([...ordinaryPackages(), ...optionalPeers(), '@types/node', 'undici-types']);
    installed = path.join(project.folder, 'node_modules', 'ioredisson');
  });

  after(() => {
    project?.remove();
    packed?.remove();
  });

  it('holds what a user needs, and nothing else', () => {
    const files = filesUnder(packed.folder);
    const texts = ['README.md', 'CHANGELOG.md', 'LICENSE', 'NOTICE', 'package.json'];
    expect(files).to.include.members([...texts, 'dist/operators/cli/main.js', 'dist/operators/cli/LICENSES.txt']);
    const others = files.filter((file) => !texts.includes(file));
    expect(others.filter((file) => !file.startsWith('dist/'))).to.deep.equal([]);
    expect(others.filter((file) => file.endsWith('.map'))).to.deep.equal([]);
    // The command line is a file, and nobody imports it; beside it are its completions for three shells, and its help.
    expect(others.filter((file) => file.startsWith('dist/operators/cli/'))).to.have.lengthOf(16);
    expect(others.filter((file) => file.startsWith('dist/esm/operators/cli/'))).to.deep.equal([]);
  });

  it('has nothing large twice: what both builds need stands beside them', () => {
    const marks = {
      'the page of the dashboard': '<!doctype html>',
      'the scripts of the test client': '.returned(',
      'the YAML library': 'tag:yaml.org,2002:',
    };
    for (const [what, mark] of Object.entries(marks)) {
      const files = filesUnder(packed.folder).filter(
        (file) => /\.m?js$/.test(file) && fs.readFileSync(path.join(packed.folder, file), 'utf8').includes(mark),
      );
      const large = files.filter((file) => fs.statSync(path.join(packed.folder, file)).size > 20_000);
      expect(large, what).to.have.lengthOf(1);
    }
  });

  it('has the scripts of every kind as JavaScript for the test client, which makes no code at run time', async () => {
    const compiled = project.write(
      'compiled.cjs',
      `const { ALL_SHAS } = process.env;
       const made = require(${JSON.stringify(path.join(installed, 'dist', 'testing', 'scripts.js'))})({}, {}, {});
       console.log(ALL_SHAS.split(' ').filter((sha) => typeof made[sha] !== 'function').join(' '));
       require('ioredisson/testing').createTestRedisson().getFairLock('a').lock().then(() => console.log('held'));`,
    );
    const shas = ALL_KINDS.flatMap((kind) => scriptsOf(kind) as readonly AnyScript[]).map(({ sha }) => sha);
    const args = ['--disallow-code-generation-from-strings', compiled];
    const result = await project.run(process.execPath, args, { ALL_SHAS: shas.join(' ') });
    expect(result).to.deep.equal({ code: 0, output: '\nheld\n' });
  });

  it('brings p-defer, and no package of the command line, a subpath, or for YAML', () => {
    const { dependencies, peerDependencies } = readPackage(packed.folder);
    expect(Object.keys(dependencies)).to.have.members(['p-defer']);
    expect(Object.keys(peerDependencies)).to.have.members(['ioredis', ...optionalPeers()]);
  });

  it('has the licences of the packages that are in its command', () => {
    const licences = fs.readFileSync(path.join(packed.folder, 'dist', 'operators', 'cli', 'LICENSES.txt'), 'utf8');
    for (const name of ['commander', 'string-width']) {
      expect(licences).to.match(new RegExp(`^${name} `, 'm'));
    }
  });

  it('needs no connection to be loaded, and lets the process end', async () => {
    const result = await project.run(process.execPath, ['-e', "require('ioredisson'); console.log('loaded')"]);
    expect(result).to.deep.equal({ code: 0, output: 'loaded\n' });
  });

  it('a client of ioredisson/testing that holds a lock, and that nobody closes, lets the process end', async () => {
    const program =
      "require('ioredisson/testing').createTestRedisson().getLock('a').lock().then(() => console.log('held'))";
    expect(await project.run(process.execPath, ['-e', program])).to.deep.equal({ code: 0, output: 'held\n' });
  });

  it('is loaded in a few files on top of ioredis, and yaml is loaded when it is asked for', async () => {
    const program = project.write(
      'loaded.cjs',
      `const loaded = () => Object.keys(require.cache).length;
       require('ioredis');
       const before = loaded();
       const { Config } = require('ioredisson');
       const after = loaded();
       const hasYaml = () => Object.keys(require.cache).some((file) => /[\\\\/]yaml[\\\\/]/.test(file));
       const early = hasYaml();
       Config.fromYAML('singleServerConfig: { address: "redis://127.0.0.1:6379" }');
       console.log(JSON.stringify({ files: after - before, early, late: hasYaml() }))`,
    );
    const { output } = await project.run(process.execPath, [program]);
    const { files, ...yaml } = JSON.parse(output) as { files: number; early: boolean; late: boolean };
    expect(yaml).to.deep.equal({ early: false, late: true });
    // With a file for each module there were a hundred, which took as long to load as ioredis.
    expect(files).to.be.at.most(13);
  });

  it('serves the page of its dashboard', async () => {
    const program = `const { createServer } = require('node:http');
      const { Redisson } = require('ioredisson');
      const { createDashboard } = require('ioredisson/dashboard');
      const redisson = Redisson.create({ url: 'redis://127.0.0.1:1' });
      const dashboard = createDashboard({ redisson });
      const server = createServer(dashboard).listen(0, '127.0.0.1', async () => {
        const answer = await fetch('http://127.0.0.1:' + server.address().port + '/');
        console.log(answer.status, /<title>[^<]+<.title>[^]*<script>[^]{10000}/.test(await answer.text()));
        server.close();
        await dashboard.close();
        await redisson.shutdown();
      });`;
    const file = project.write('dashboard.cjs', program);
    expect(await project.run(process.execPath, [file])).to.deep.equal({ code: 0, output: '200 true\n' });
  });

  it('brings its command', async () => {
    const bare = packed.installedWith(ordinaryPackages());
    try {
      const { bin, version } = readPackage(packed.folder);
      const command = path.join(bare.folder, 'node_modules', 'ioredisson', bin['ioredisson'] ?? '');
      expect(await bare.run(process.execPath, [command, '--version'])).to.deep.equal({
        code: 0,
        output: `${version}\n`,
      });
      expect(fs.statSync(command).mode & 0o111).to.equal(0o111);
      expect((await bare.run(command, ['list', '--help'])).output).to.include('ioredisson list');
      // An error of the library is one for the command: they have the same classes.
      bare.write('wrong.yaml', 'singleServerConfig: { adress: "redis://127.0.0.1:1" }');
      const wrong = await bare.run(command, ['list', '--config', 'wrong.yaml']);
      expect(wrong.output).to.match(/^ioredisson: Unknown setting/);
      expect(wrong.code).to.equal(64);
    } finally {
      bare.remove();
    }
  });

  const resolutions: Record<string, ts.CompilerOptions> = {
    node16: { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 },
    nodenext: { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
    bundler: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
  };
  for (const [name, options] of Object.entries(resolutions)) {
    it(`type-checks under ${name} resolution, every subpath and its declarations`, () => {
      const extensions = name === 'bundler' ? ['ts'] : ['cts', 'mts'];
      const files = extensions.flatMap((extension) => [
        project.write(`consumer.${extension}`, CONSUMER),
        project.write(`every.${extension}`, importsOfEvery(entryPoints().map(({ specifier }) => specifier))),
      ]);
      expect(typeErrors(files, { ...options, typeRoots: [typeRoot()] })).to.deep.equal([]);
    });

    it(`type-checks in a project whose lib is es2020, under ${name} (B13)`, () => {
      const extension = name === 'bundler' ? 'ts' : 'mts';
      const older = { ...options, typeRoots: [typeRoot()], lib: ['lib.es2020.d.ts'], types: ['node'] };
      const root = project.write(`older.${extension}`, CONSUMER);
      // Without the root, whose declarations might bring what those of a subpath lack.
      const subpaths = entryPoints().flatMap(({ folder, specifier }) => (folder === '' ? [] : [specifier]));
      const others = project.write(`others.${extension}`, importsOfEvery(subpaths));
      expect(typeErrors([root], older)).to.deep.equal([]);
      expect(typeErrors([others], older)).to.deep.equal([]);
    });
  }

  function importsOfEvery(specifiers: readonly string[]): string {
    const lines = specifiers.map((specifier, index) => `export * as entry${index} from '${specifier}';`);
    return [...lines, 'export {};', ''].join('\n');
  }

  function typeRoot(): string {
    return path.join(project.folder, 'node_modules', '@types');
  }

  it('is that of this checkout', () => {
    expect(readPackage(installed).version).to.equal(readPackage(projectRoot).version);
  });
});
