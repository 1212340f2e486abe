import { expect } from 'chai';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import { conditionsOf, entryPoints } from '../../tools/entryPoints';

describe('the exports of package.json', () => {
  for (const { subpath, folder, conditions } of entryPoints()) {
    it(`${subpath} is lib/${path.posix.join(folder, 'index.ts')}, with the conditions that every entry point has`, () => {
      expect(fs.existsSync(path.join(projectRoot, 'lib', folder, 'index.ts'))).to.equal(true);
      expect(conditions).to.deep.equal(conditionsOf(folder));
      // The first one that fits counts.
      expect(Object.keys(conditions)).to.deep.equal(['types', 'module', 'default']);
    });
  }

  it('are found by `moduleResolution: node` of TypeScript as well, which does not read them', () => {
    const { typesVersions } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
      typesVersions: Record<string, Record<string, string[]>>;
    };
    const subpaths = entryPoints().filter(({ subpath }) => subpath !== '.');
    const wanted = Object.fromEntries(
      subpaths.map(({ subpath, folder }) => [subpath.slice('./'.length), [`dist/${folder}/index.d.ts`]]),
    );
    expect(typesVersions).to.deep.equal({ '*': wanted });
  });
});
