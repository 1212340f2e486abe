import { expect } from 'chai';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import * as ts from 'typescript';
import { ensureBuilt, projectRoot } from '../../tools/buildOutput';
import { entryPoints } from '../../tools/entryPoints';
import { installFolder } from '../../tools/installFolder';
import type { ConsumerProject } from '../support/ConsumerProject';
import { typeErrors } from '../support/typeErrors';
import { filesUnder, optionalPeers, ordinaryPackages, PackedPackage } from './support/installed';

/** The oldest version that README.md names. */
const FLOOR = path.join(__dirname, '..', 'frameworks', 'versions', 'typescript52');

const FENCED = `
  import type { FencedLockHold, Redisson } from 'ioredisson';
  export async function write(redisson: Redisson, store: (token: bigint) => void): Promise<bigint> {
    const lock = redisson.getFencedLock('a');
    const hold: FencedLockHold = await lock.acquire();
    const tried = await lock.tryAcquireHold();
    store(tried?.token ?? 0n);
    await lock.tryWithLock(({ token }) => store(token));
    store(await lock.withLock((inner) => inner.token));
    // @ts-expect-error an ordinary hold need not have one
    store((await redisson.getLock('b').acquire()).token);
    return hold.token;
  }`;

describe('the oldest TypeScript', function () {
  this.timeout(300_000);
  let packed: PackedPackage;
  let project: ConsumerProject;
  let compiler: typeof ts;

  before(function () {
    if (!installFolder(FLOOR, 'TypeScript 5.2', console.log)) this.skip();
    compiler = createRequire(path.join(FLOOR, 'package.json'))('typescript') as typeof ts;
    packed = new PackedPackage();
    project = packed.installedWith([...ordinaryPackages(), ...optionalPeers(), '@types/node', 'undici-types']);
  });

  after(() => {
    project?.remove();
    packed?.remove();
  });

  it('is the one that the README names', () => {
    const [major, minor] = compiler.version.split('.');
    expect(fs.readFileSync(path.join(projectRoot, 'README.md'), 'utf8')).to.include(
      `TypeScript ${major}.${minor} or later`,
    );
  });

  for (const resolution of ['NodeNext', 'Bundler'] as const) {
    it(`F12, F9: reads the declarations of every subpath (skipLibCheck: false), under ${resolution}`, () => {
      const all = entryPoints().map(({ specifier }, index) => `export * as entry${index} from '${specifier}';`);
      const extension = resolution === 'Bundler' ? 'ts' : 'mts';
      const files = [project.write(`every.${extension}`, all.join('\n')), project.write(`fenced.${extension}`, FENCED)];
      const options = {
        module: resolution === 'Bundler' ? compiler.ModuleKind.ESNext : compiler.ModuleKind.NodeNext,
        moduleResolution: compiler.ModuleResolutionKind[resolution],
        skipLibCheck: false,
        typeRoots: [path.join(project.folder, 'node_modules', '@types')],
      };
      expect(typeErrors(files, options, compiler)).to.deep.equal([]);
    });
  }
});

describe('what an editor shows of a time', () => {
  it('F12: has its unit, at each member and each setter', () => {
    ensureBuilt();
    const dist = path.join(projectRoot, 'dist');
    const times = /(?<!max[A-Z]\w*)(?:time|timeout|interval|lease|drain|stall|atLeast|expiresIn|expire)$/i;
    const without: string[] = [];
    for (const file of filesUnder(dist).filter((one) => one.endsWith('.d.ts'))) {
      const source = ts.createSourceFile(
        file,
        fs.readFileSync(path.join(dist, file), 'utf8'),
        ts.ScriptTarget.ES2022,
        true,
      );
      const visit = (node: ts.Node): void => {
        ts.forEachChild(node, visit);
        const isNumber = ts.isPropertySignature(node) && /\bnumber\b/.test(node.type?.getText() ?? '');
        const isSetter = ts.isMethodSignature(node) && /^set\w/.test(node.name.getText());
        if (!(isNumber || isSetter) || !times.test(node.name.getText())) return;
        if (!/\bms\b|\bseconds\b/.test(node.getFullText())) without.push(`${file}: ${node.name.getText()}`);
      };
      visit(source);
    }
    expect(without).to.deep.equal([]);
  });
});
