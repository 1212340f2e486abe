import { expect } from 'chai';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { apiEntry, apiHashes, apiPage, apiProblems, apiReport, type EntryReport } from '../../../tools/apiReport';
import { withStateEntry } from '../../../tools/changelog';
import { entryPoints } from '../../../tools/entryPoints';

const DECLARATIONS: Readonly<Record<string, string>> = {
  'index.d.ts':
    "/** The package. */\nexport { Lock, type Options as LockOptions } from './Lock';\nexport * from './codes';\n",
  'Lock.d.ts': `import type { Inner } from './inner';
    /** Where it is. */ export interface Options { /** ms */ readonly wait?: Inner; }
    export declare class Lock { #private; private readonly secret; lock(options?: Options): Promise<void>; }`,
  'inner.d.ts': 'export type Inner = Deep[]; export interface Deep { readonly ms: number }\nexport type Unused = 1;',
  'codes.d.ts': "export declare const CODE: 'X';",
};

describe('the report of the public declarations', () => {
  let dist: string;

  beforeEach(() => {
    dist = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-api-'));
    write(DECLARATIONS);
    for (const { folder } of entryPoints()) {
      if (folder !== '')
        write({ [`${folder}/index.d.ts`]: `export declare function ${path.basename(folder)}(): void;` });
    }
  });

  afterEach(() => fs.rmSync(dist, { recursive: true }));

  function write(files: Readonly<Record<string, string>>): void {
    for (const [file, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(path.join(dist, file)), { recursive: true });
      fs.writeFileSync(path.join(dist, file), text);
    }
  }

  /** What the judge says after some files have changed, and the changelog has that entry or none. */
  function judged(files: Readonly<Record<string, string>>, entered: (entries: EntryReport[]) => string): string[] {
    const before = apiHashes(apiReport(dist));
    write(files);
    const entries = apiReport(dist);
    const page = apiPage(entries);
    return apiProblems(before, entries, { page, expected: page, changelog: entered(entries) });
  }

  it('has what an entry point exports, and what that names, without comments and private members', () => {
    const [root] = apiReport(dist);
    expect(root!.specifier).to.equal('ioredisson');
    expect(Object.keys(root!.declarations)).to.deep.equal(['CODE', 'Lock', 'LockOptions']);
    expect(Object.keys(root!.reachable)).to.deep.equal(['Deep', 'Inner']);
    expect(root!.declarations['Lock'])
      .to.include('lock(options?: Options)')
      .and.not.to.match(/private|secret/);
    expect(root!.declarations['LockOptions']).not.to.match(/ms|Where/);
    expect(root!.declarations['CODE']).to.include("'X'");
    expect(apiPage([root!]))
      .to.include('## ioredisson\n')
      .and.to.include('interface Deep');
  });

  const NO_ENTRY = (): string => '# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n';

  it('needs no entry in the changelog as long as only comments change', () => {
    const files = { 'codes.d.ts': `/** A code. */ ${DECLARATIONS['codes.d.ts']}` };
    expect(judged(files, NO_ENTRY)).to.deep.equal([]);
  });

  const changes: [what: string, files: Readonly<Record<string, string>>, named: RegExp][] = [
    ['a new export', { 'codes.d.ts': 'export declare const CODE: "X"; export declare const B: 1;' }, /added `B`/],
    ['an export that is gone', { 'codes.d.ts': 'export {};' }, /removed `CODE`/],
    [
      'another signature',
      { 'Lock.d.ts': 'export interface Options {}\nexport declare class Lock { }' },
      /changed `Lock`/,
    ],
    ['a type that an export names', { 'inner.d.ts': 'export type Inner = number;' }, /changed `Inner`.*removed `Deep`/],
    [
      'an export of a subpath',
      { 'integrations/otel/index.d.ts': 'export declare function otel(): 1;' },
      /changed `otel`/,
    ],
  ];
  for (const [what, files, named] of changes) {
    it(`${what} without an entry in the changelog is refused`, () => {
      const [problem, ...more] = judged(files, NO_ENTRY);
      expect(more).to.deep.equal([]);
      expect(problem).to.match(named).and.to.include('npm run docs:api-report');
    });

    it(`${what} with the entry that the command writes is not refused`, () => {
      const before = apiHashes(apiReport(dist));
      expect(judged(files, (entries) => withStateEntry(NO_ENTRY(), apiEntry(before, entries)!))).to.deep.equal([]);
    });
  }

  it('a page of other declarations is refused', () => {
    const entries = apiReport(dist);
    const texts = { page: 'old', expected: apiPage(entries), changelog: NO_ENTRY() };
    expect(apiProblems(apiHashes(entries), entries, texts)).to.match(/docs\/api-report\.md is not that of the build/);
  });
});
