import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { edgesOf, layersOf, placeOf, tableOf } from './architecture';
import { EDGES } from './edges';
import { type Import, importsOf, sourceFiles, syntaxOffences } from './sourceGraph';

const lib = path.resolve(__dirname, '..', '..', 'lib');
/** Of code: comments and empty lines do not count. */
const MAX_LINES = 400;

/** Where ioredis may be named at all, and where only its types. */
const IOREDIS = ['connection', 'connection/link', 'connection/cluster', 'connection/pubsub'];
const IOREDIS_TYPES = ['config', 'api', 'Redisson.ts'];

/** `tools/buildCommandLine.ts` puts them into the command; no user installs them. */
const BUNDLED: Readonly<Record<string, readonly string[]>> = {
  'operators/cli': ['commander', 'string-width'],
  'config/parse': ['yaml'],
};

function name(file: string): string {
  return path.relative(path.dirname(lib), file).split(path.sep).join('/');
}

describe('the imports of lib/', () => {
  const files = sourceFiles(lib);
  const imports = files.flatMap((file) => importsOf(file));
  const inside = imports.filter((one): one is Import & { target: string } => one.target !== undefined);

  it('are there', () => {
    expect(files).not.to.have.lengthOf(0);
    expect(inside).not.to.have.lengthOf(0);
  });

  it('are exactly the edges of the table', () => {
    expect(edgesOf(lib)).to.deep.equal(EDGES);
  });

  it('are in the table as `npm run docs:architecture` writes it', async () => {
    const file = path.join(__dirname, 'edges.ts');
    expect(fs.readFileSync(file, 'utf8')).to.equal(await tableOf(EDGES, file));
  });

  it('lead down, in no circle of places', () => {
    expect(layersOf(EDGES)).to.have.members(Object.keys(EDGES));
  });

  it('leave nothing in lib/ to packages that are not dependencies, but what is bundled', () => {
    const { dependencies, peerDependencies } = JSON.parse(
      fs.readFileSync(path.join(lib, '..', 'package.json'), 'utf8'),
    ) as Record<'dependencies' | 'peerDependencies', Record<string, string>>;
    const outside = imports.filter(({ target, specifier }) => target === undefined && !specifier.startsWith('node:'));
    const wrong = outside.filter(({ file, specifier }) => {
      const known = [...Object.keys(dependencies), ...Object.keys(peerDependencies)];
      known.push(...(BUNDLED[placeOf(lib, file)] ?? []));
      return !known.some((one) => isOfPackage(specifier, one));
    });
    expect(wrong).to.deep.equal([]);
  });

  it('reach ioredis in connection/ alone', () => {
    const wrong = imports.filter(({ file, specifier, typeOnly }) => {
      const places = typeOnly ? [...IOREDIS, ...IOREDIS_TYPES] : IOREDIS;
      return isOfPackage(specifier, 'ioredis') && !places.includes(placeOf(lib, file));
    });
    expect(wrong.map(({ file }) => name(file))).to.deep.equal([]);
  });

  it('have no cycle', () => {
    // api/ is erased by the compiler and may name the classes it describes.
    const edges = inside.filter(({ file, target }) => placeOf(lib, file) !== 'api' && placeOf(lib, target) !== 'api');
    expect(cycleIn(edges).map(name)).to.deep.equal([]);
  });
});

describe('the files of lib/', () => {
  const files = sourceFiles(lib);

  it(`have at most ${MAX_LINES} lines of code`, () => {
    const isCode = (line: string): boolean => !/^\s*($|\/\/|\/\*|\*)/.test(line);
    const long = files.filter((file) => fs.readFileSync(file, 'utf8').split('\n').filter(isCode).length > MAX_LINES);
    expect(long.map(name)).to.deep.equal([]);
  });

  it('have no default export, no enterWith, and extend nothing but errors', () => {
    const offences = files.flatMap((file) => syntaxOffences(file).map((offence) => `${name(file)}: ${offence}`));
    expect(offences).to.deep.equal([]);
  });
});

function isOfPackage(specifier: string, packageName: string): boolean {
  return specifier === packageName || specifier.startsWith(`${packageName}/`);
}

/** The files of one cycle, first one repeated at the end; empty when there is none. */
function cycleIn(edges: readonly { file: string; target: string }[]): string[] {
  const targets = new Map<string, string[]>();
  for (const { file, target } of edges) targets.set(file, [...(targets.get(file) ?? []), target]);
  const finished = new Set<string>();
  const visit = (file: string, trail: string[]): string[] => {
    const seenAt = trail.indexOf(file);
    if (seenAt !== -1) return [...trail.slice(seenAt), file];
    if (finished.has(file)) return [];
    for (const target of targets.get(file) ?? []) {
      const cycle = visit(target, [...trail, file]);
      if (cycle.length > 0) return cycle;
    }
    finished.add(file);
    return [];
  };
  for (const file of targets.keys()) {
    const cycle = visit(file, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
}
