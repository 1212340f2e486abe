import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { type Import, importsOf, sourceFiles, syntaxOffences } from './sourceGraph';

const lib = path.resolve(__dirname, '..', '..', 'lib');
/** Of code: comments and empty lines do not count. */
const MAX_LINES = 250;

/**
 * The picture of docs/architecture.md as a table: who may import whom. `Redisson.ts` and `index.ts` are places of their
 * own. A place after `types:` may be imported for its types only. Nobody is listed for `api`: types only, anyone.
 */
const BASE = ['errors', 'util'];
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  cli: ['index.ts', 'inspection'],
  inspection: ['scripts', 'connection', 'config', ...BASE],
  'index.ts': ['Redisson.ts', 'decorators', 'config', ...BASE],
  decorators: ['Redisson.ts', 'config', ...BASE],
  'Redisson.ts': [
    ...['locks', 'locks/drivers', 'synchronizers', 'thread', 'wait', 'pubsub', 'renewal', 'scripts', 'connection'],
    ...['config', ...BASE],
  ],
  locks: ['locks/drivers', 'thread', 'wait', 'pubsub', 'renewal', 'scripts', 'connection', 'config', ...BASE],
  synchronizers: ['thread', 'wait', 'pubsub', 'renewal', 'scripts', 'connection', 'config', ...BASE],
  'locks/drivers': ['scripts', 'pubsub', 'types:wait', 'types:renewal', 'types:connection', 'config', ...BASE],
  wait: BASE,
  pubsub: ['connection', 'types:wait', 'config', ...BASE],
  renewal: ['scripts', 'connection', 'thread', 'config', ...BASE],
  connection: ['scripts', 'config', ...BASE],
  scripts: ['config', ...BASE],
  thread: BASE,
  config: BASE,
  util: ['errors'],
  errors: [],
  api: ['types:config', 'types:errors', 'types:util'],
};

/** Where ioredis may be named at all, and where only its types. */
const IOREDIS = ['connection'];
const IOREDIS_TYPES = ['config', 'api', 'Redisson.ts'];

/** The folder of a file under lib/, or the file itself where it lies directly in it. */
function placeOf(file: string): string {
  const folder = path.relative(lib, path.dirname(file)).split(path.sep).join('/');
  return folder === '' ? path.basename(file) : folder;
}

function name(file: string): string {
  return path.relative(path.dirname(lib), file).split(path.sep).join('/');
}

function isAllowed(from: string, to: string, typeOnly: boolean): boolean {
  if (from === to || (to === 'api' && typeOnly)) return true;
  const allowed = ALLOWED[from] ?? [];
  return allowed.includes(to) || (typeOnly && allowed.includes(`types:${to}`));
}

describe('the imports of lib/', () => {
  const files = sourceFiles(lib);
  const imports = files.flatMap((file) => importsOf(file));
  const inside = imports.filter((one): one is Import & { target: string } => one.target !== undefined);

  it('are there', () => {
    expect(files).not.to.have.lengthOf(0);
    expect(inside).not.to.have.lengthOf(0);
  });

  it('know every folder', () => {
    const places = [...new Set(files.map(placeOf))];
    expect(places.filter((place) => !Object.hasOwn(ALLOWED, place))).to.deep.equal([]);
  });

  it('follow the picture of the architecture', () => {
    const wrong = inside.filter((one) => !isAllowed(placeOf(one.file), placeOf(one.target), one.typeOnly));
    const shown = wrong.map((one) => `${name(one.file)} -> ${name(one.target)}${one.typeOnly ? ' (types)' : ''}`);
    expect(shown).to.deep.equal([]);
  });

  it('leave nothing in lib/ to packages that are not dependencies', () => {
    const { dependencies, peerDependencies } = JSON.parse(
      fs.readFileSync(path.join(lib, '..', 'package.json'), 'utf8'),
    ) as Record<'dependencies' | 'peerDependencies', Record<string, string>>;
    const known = [...Object.keys(dependencies), ...Object.keys(peerDependencies)];
    const outside = imports.filter(({ target, specifier }) => target === undefined && !specifier.startsWith('node:'));
    expect(outside.filter(({ specifier }) => !known.some((one) => isOfPackage(specifier, one)))).to.deep.equal([]);
  });

  it('reach ioredis in connection/ alone', () => {
    const wrong = imports.filter(({ file, specifier, typeOnly }) => {
      const places = typeOnly ? [...IOREDIS, ...IOREDIS_TYPES] : IOREDIS;
      return isOfPackage(specifier, 'ioredis') && !places.includes(placeOf(file));
    });
    expect(wrong.map(({ file }) => name(file))).to.deep.equal([]);
  });

  it('have no cycle', () => {
    // api/ is erased by the compiler and may name the classes it describes.
    const edges = inside.filter(({ file, target }) => placeOf(file) !== 'api' && placeOf(target) !== 'api');
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
