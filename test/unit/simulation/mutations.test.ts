import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect } from 'chai';
import { transformSync } from 'esbuild';
import { applyEdits } from '../../simulation/bundle';
import { MUTATIONS } from '../../simulation/mutations/list';

const root = path.resolve(__dirname, '..', '..', '..');
const lib = path.join(root, 'lib');

describe('the mutations of the simulation', () => {
  it('are at least 24, each with a name of its own and a bound', () => {
    expect(MUTATIONS.length).to.be.at.least(24);
    expect(new Set(MUTATIONS.map(({ name }) => name)).size).to.equal(MUTATIONS.length);
    for (const one of MUTATIONS)
      if (one.by === undefined && one.exploring === undefined) expect(one.within, one.name).to.be.within(1, 100);
  });

  it('are noticed by tests that exist, where it is no seed', () => {
    for (const { name, by } of MUTATIONS) {
      if (by !== undefined) expect(fs.readFileSync(path.join(root, by.file), 'utf8'), name).to.include(by.grep);
    }
  });

  for (const { name, edits } of MUTATIONS) {
    it(`still applies: ${name}`, () => {
      for (const file of new Set(edits.map((edit) => edit.file))) {
        const before = fs.readFileSync(path.join(lib, file), 'utf8');
        const after = applyEdits(
          before,
          edits.filter((edit) => edit.file === file),
        );
        expect(after).to.not.equal(before);
        transformSync(after, { loader: 'ts' });
      }
    });
  }
});
