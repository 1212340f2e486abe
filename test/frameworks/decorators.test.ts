import { expect } from 'chai';
import * as path from 'node:path';
import * as ts from 'typescript';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { installFolder } from '../../tools/installFolder';
import { redisUrl, uniqueName } from '../support';
import { ConsumerProject } from '../support/ConsumerProject';
import { typeErrors } from '../support/typeErrors';
import { type Compiler, compiled, type Flavour } from './compile';

const NEST_PACKAGES = ['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'];
/** Where the packages of each version of NestJS are. */
const NESTS = {
  10: path.join(__dirname, 'versions', 'nest10'),
  11: projectRoot,
  12: path.join(__dirname, 'versions', 'nest12'),
};

describe('decorators, as users compile them', function () {
  this.timeout(120_000);
  let project: ConsumerProject;

  before(() => {
    ensureBuilt();
    expect(installFolder(path.join(__dirname, 'versions', 'swc'), 'swc', console.log)).to.equal(true);
    project = new ConsumerProject(['ioredis', '@types/node', 'undici-types', ...NEST_PACKAGES]);
    project.link('ioredisson', projectRoot);
  });

  after(() => project?.remove());

  const FLAVOURS: readonly Flavour[] = ['standard', 'legacy', 'legacy with metadata'];
  const COMPILERS: readonly Compiler[] = ['tsc', 'swc'];
  for (const compiler of COMPILERS) {
    for (const flavour of FLAVOURS) {
      it(`@DisLock: ${compiler}, ${flavour}`, async () => {
        project.write('decorated.cjs', compiled('decorated.ts', compiler, flavour));
        const env = { REDIS_URL: redisUrl(), LOCK_NAME: uniqueName() };
        const { code, output } = await project.run(process.execPath, ['decorated.cjs'], env);
        expect(code, output).to.equal(0);
        expect(JSON.parse(output)).to.deep.equal({
          most: 1,
          last: 15,
          name: 'add',
          lockOf: true,
          nested: 16,
          byOther: true,
          impossible: 'CONFIG',
          held: true,
          fails: 'its own',
          free: true,
        });
      });
    }
  }

  const LEGACY = { experimentalDecorators: true, emitDecoratorMetadata: true };
  const types: readonly (readonly [string, ts.CompilerOptions])[] = [
    ['standard', {}],
    ['legacy', { experimentalDecorators: true }],
    ['legacy with metadata', LEGACY],
  ];
  for (const [flavour, options] of types) {
    it(`@DisLock type-checks: ${flavour}`, () => {
      const file = project.write(
        'typed.ts',
        TYPED + ts.sys.readFile(path.join(__dirname, 'programs', 'decorated.ts'))!,
      );
      expect(typeErrors([file], { ...nodenext(), ...options })).to.deep.equal([]);
    });
  }

  it('the program for NestJS type-checks', () => {
    const file = project.write('nest.ts', ts.sys.readFile(path.join(__dirname, 'programs', 'nest.ts'))!);
    expect(typeErrors([file], { ...nodenext(), ...LEGACY })).to.deep.equal([]);
  });

  function nodenext(): ts.CompilerOptions {
    return {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      typeRoots: [path.join(project.folder, 'node_modules', '@types')],
    };
  }
});

/** What the compiler has to refuse, in either flavour. */
const TYPED = `
import { DisLock as Typed } from 'ioredisson';
export class Wrong {
  // @ts-expect-error a key of a number for a method of a text
  @Typed({ key: (id: number) => \`order:\${id}\` })
  async wrong(id: string): Promise<string> { return id; }

  // @ts-expect-error not async
  @Typed({ key: 'orders' })
  sync(id: string): string { return id; }
}
`;

describe('ioredisson/nestjs', function () {
  this.timeout(120_000);

  before(() => {
    ensureBuilt();
    expect(installFolder(path.join(__dirname, 'versions', 'swc'), 'swc', console.log)).to.equal(true);
  });

  for (const [version, folder] of Object.entries(NESTS)) {
    describe(`NestJS ${version}`, () => {
      let project: ConsumerProject;

      before(() => {
        if (folder !== projectRoot) {
          expect(installFolder(folder, `NestJS ${version}`, console.log)).to.equal(true);
        }
        project = new ConsumerProject(['ioredis']);
        for (const name of NEST_PACKAGES) project.link(name, path.join(folder, 'node_modules', name));
        project.installBuilt();
      });

      after(() => project?.remove());

      for (const compiler of ['tsc', 'swc'] as const) {
        it(`locks, injects, refuses and drains (${compiler})`, async () => {
          project.write('nest.cjs', compiled('nest.ts', compiler, 'legacy with metadata'));
          const env = { REDIS_URL: redisUrl(), LOCK_NAME: uniqueName() };
          const { code, output } = await project.run(process.execPath, ['nest.cjs'], env);
          expect(code, output).to.equal(0);
          expect(JSON.parse(output)).to.deep.equal({
            sameClient: true,
            health: ['ms', 'state', 'status'],
            metadata: 'stays',
            params: 1,
            most: 1,
            sold: 10,
            cron: ['monday', 'skipped', 'skipped'],
            ok: [201, 201],
            conflict: 409,
            service: 'LOCK_TIMEOUT',
            ownTimeout: 500,
            unmade: 'CONFIG',
            waiter: 'SHUTDOWN',
            closedEarly: false,
            left: false,
            state: 'closed',
          });
        });
      }
    });
  }
});
