import { expect } from 'chai';
import { build } from 'esbuild';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { conditionsOf, entryPoints } from '../../tools/entryPoints';
import { RedisServer } from '../../tools/redisServer';
import type { ConsumerProject } from '../support/ConsumerProject';
import { optionalPeers, ordinaryPackages, PackedPackage, peersOf } from './support/installed';

/** Prints the names that an entry point exports, and the packages it has loaded. */
const REPORT = `
  const own = (name) => !['default', 'module.exports', '__esModule'].includes(name);
  const isClass = (one) => typeof one === 'function' && /^class\\b/.test(Function.prototype.toString.call(one));
  const packages = Object.values(require.cache).flatMap(({ filename, children }) =>
    filename.includes('/node_modules/ioredisson/') ? children : [])
    .map(({ filename }) => filename.replace(/^.*?\\/node_modules\\//, '').split('/'))
    .map(([first, second]) => (first.startsWith('@') ? first + '/' + second : first))
    .filter((name) => name !== 'ioredisson');
  const report = (all) => console.log(JSON.stringify({
    names: Object.keys(all).filter(own).sort(),
    misnamed: Object.keys(all).filter((name) => isClass(all[name]) && all[name].name !== name),
    misnamedErrors: Object.keys(all).filter((name) => isClass(all[name]) && all[name].prototype instanceof Error &&
      !['Error', name].includes(all[name].prototype.name)),
    undefinedNames: Object.keys(all).filter((name) => own(name) && all[name] === undefined),
    packages: [...new Set(packages)].sort(),
  }));
`;

interface EntryReport {
  readonly misnamed: readonly string[];
  readonly misnamedErrors: readonly string[];
  readonly names: readonly string[];
  readonly undefinedNames: readonly string[];
  readonly packages: readonly string[];
}

describe('the entry points of the packed package', function () {
  this.timeout(120_000);
  let packed: PackedPackage;

  before(() => {
    packed = new PackedPackage();
  });

  after(() => packed?.remove());

  for (const { specifier, folder, conditions } of entryPoints()) {
    describe(specifier, () => {
      let project: ConsumerProject;

      before(() => {
        project = packed.installedWith([...ordinaryPackages(), ...peersOf(folder)]);
      });

      after(() => project?.remove());

      it('has the conditions that every entry point has, in this order', () => {
        const expected = conditionsOf(folder);
        expect(conditions).to.deep.equal(expected);
        expect(Object.keys(conditions)).to.deep.equal(Object.keys(expected));
        for (const file of Object.values(expected))
          expect(fs.existsSync(path.join(packed.folder, file)), file).to.equal(true);
      });

      it('loads by require and by import, with the same names, where other peers are missing', async () => {
        const required = await report(
          project,
          'required.cjs',
          `const all = require('${specifier}'); ${REPORT} report(all);`,
        );
        const imported = await report(
          project,
          'imported.mjs',
          `import * as all from '${specifier}'; import { createRequire } from 'node:module';
           const require = createRequire(import.meta.url);
           const again = require('${specifier}');
           ${REPORT}
           for (const name of Object.keys(again)) if (all[name] !== again[name]) throw new Error('two copies of ' + name);
           report(all);`,
        );
        expect(required.names).not.to.have.lengthOf(0);
        expect(required.undefinedNames).to.deep.equal([]);
        // What `console.log` shows of an error, and of an object.
        expect(required.misnamed).to.deep.equal([]);
        expect(required.misnamedErrors).to.deep.equal([]);
        expect(imported).to.deep.equal(required);
        const allowed = [...ordinaryPackages(), ...peersOf(folder)];
        expect(allowed).to.include.members([...required.packages]);
      });

      it('is bundled as an ES module that runs, and has one copy of what is imported and required', async () => {
        const entry = project.write(
          'bundled.mjs',
          `import * as all from '${specifier}'; import { required } from './requiring.cjs';
           for (const name of Object.keys(required)) if (all[name] !== required[name]) throw new Error('two copies of ' + name);
           for (const name of Object.keys(all)) if (all[name]?.prototype instanceof Error && all[name].name !== name) {
             throw new Error(name + ' is called ' + all[name].name);
           }
           console.log(Object.keys(all).filter((name) => name !== 'default').length > 0)`,
        );
        project.write('requiring.cjs', `exports.required = require('${specifier}');`);
        const code = await bundle(project, entry, ['ioredis', ...optionalPeers()]);
        const run = await project.run(process.execPath, [project.write('bundle.mjs', code)]);
        expect(run).to.deep.equal({ code: 0, output: 'true\n' });
      });
    });
  }

  describe('in one process', () => {
    let project: ConsumerProject;

    before(() => {
      project = packed.installedWith([...ordinaryPackages(), ...optionalPeers()]);
    });

    after(() => project?.remove());

    const TOGETHER = `
      const refused = (make) => { try { make(); } catch (error) { return error; } throw new Error('not refused'); };
      const nowhere = { url: 'redis://127.0.0.1:1' };
      const one = imported.Redisson.create(nowhere), other = required.Redisson.create(nowhere);
      try {
        await one.runInThread(async () => {
          const id = one.currentThreadId();
          if (id === undefined || other.currentThreadId() !== id) throw new Error('two threads');
          await other.runInThread(() => {
            if (one.currentThreadId() === id || one.currentThreadId() !== other.currentThreadId()) throw new Error('ids');
          });
        });
      } finally {
        await Promise.all([one.shutdown(), other.shutdown()]);
      }`;
    const SAME_CLASSES = `
      const error = refused(() => required.Redisson.create({ nonsense: 1 }));
      if (!(error instanceof imported.ConfigError && error instanceof imported.RedissonError)) throw new Error('classes');`;

    it('hazards of two builds: what is required and what is imported are one, classes and thread scopes', async () => {
      const program = project.write(
        'both.mjs',
        `import * as imported from 'ioredisson'; import { createRequire } from 'node:module';
         const required = createRequire(import.meta.url)('ioredisson'); ${TOGETHER} ${SAME_CLASSES}`,
      );
      expect(await project.run(process.execPath, [program])).to.deep.equal({ code: 0, output: '' });
    });

    it('a bundled copy and an installed one share thread scopes', async () => {
      const entry = project.write(
        'mixed.mjs',
        `import * as imported from 'ioredisson'; import { createRequire } from 'node:module';
         const required = createRequire(import.meta.url)(['iored', 'isson'].join(''));
         if (required.Redisson === imported.Redisson) throw new Error('not bundled'); ${TOGETHER}`,
      );
      const code = await bundle(project, entry, ['ioredis']);
      const run = await project.run(process.execPath, [project.write('mixedBundle.mjs', code)]);
      expect(run).to.deep.equal({ code: 0, output: '' });
    });

    for (const format of ['esm', 'cjs'] as const) {
      it(`a bundle (${format}) refuses a watchdog thread, by setting and by option, and says what to do`, async () => {
        const entry = project.write(
          'threaded.mjs',
          `import { Redisson } from 'ioredisson';
           const say = ({ code, message }) => console.log(code, message);
           const url = 'redis://127.0.0.1:1';
           try { Redisson.create({ url, watchdogThread: true }); } catch (error) { say(error); }
           const redisson = Redisson.create({ url, watchdogThread: false });
           redisson.getLock('a').acquire({ watchdogThread: { maxStall: 9 } }).catch(say).finally(() => redisson.shutdown());`,
        );
        const code = await bundle(project, entry, ['ioredis'], format);
        const file = project.write(`threaded.bundle.${format === 'esm' ? 'mjs' : 'cjs'}`, code);
        const { output } = await project.run(process.execPath, [file]);
        expect(output).to.match(/^(CONFIG watchdogThread does not work in a bundle.* leave ioredisson out.*\n){2}$/);
      });
    }

    it('a program whose bundle leaves ioredisson out has the watchdog thread of the package', async () => {
      const server = await RedisServer.start();
      try {
        const entry = project.write(
          'threaded.mjs',
          `import { isMainThread } from 'node:worker_threads'; import { Redisson } from 'ioredisson';
           console.log('runs', isMainThread);
           const redisson = Redisson.create({ url: ${JSON.stringify(server.url)}, watchdogThread: true, lockWatchdogTimeout: 4000 });
           redisson.getLock('a').withLock(() => {
             // Longer than two leases, in which also a busy machine has started the thread: only that can renew.
             const end = Date.now() + 9000;
             while (Date.now() < end);
           }).then(() => console.log('kept'), (error) => console.log(error.message))
             .finally(() => redisson.shutdown());`,
        );
        const file = project.write('left.mjs', await bundle(project, entry, ['ioredis', 'ioredisson']));
        const run = await project.run(process.execPath, [file]);
        expect(run).to.deep.equal({ code: 0, output: 'runs true\nkept\n' });
      } finally {
        await server.stop();
      }
    });

    it('a bundle leaves out what nobody uses', async () => {
      const little = project.write(
        'little.mjs',
        "import { TimeUnit } from 'ioredisson'; console.log(TimeUnit.SECONDS)",
      );
      const small = await bundle(project, little, []);
      expect(small).not.to.match(/['"]ioredis['"]|redis\.call/);
      const most = project.write('most.mjs', "import { Redisson } from 'ioredisson'; console.log(typeof Redisson)");
      expect(small.length).to.be.below((await bundle(project, most, ['ioredis'])).length / 10);
    });
  });
});

async function report(project: ConsumerProject, file: string, text: string): Promise<EntryReport> {
  const { code, output } = await project.run(process.execPath, [project.write(file, text)]);
  expect(code, output).to.equal(0);
  return JSON.parse(output) as EntryReport;
}

/** As a bundler's user has it: with the conditions that esbuild knows by itself. */
async function bundle(
  project: ConsumerProject,
  entry: string,
  external: string[],
  format: 'esm' | 'cjs' = 'esm',
): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    absWorkingDir: project.folder,
    bundle: true,
    write: false,
    platform: 'node',
    format,
    external,
    logLevel: 'silent',
    // What was CommonJS in it requires Node's own modules.
    ...(format === 'esm' && {
      banner: { js: "import { createRequire as r } from 'node:module'; const require = r(import.meta.url);" },
    }),
  });
  return outputFiles[0]!.text;
}
