import * as fs from 'node:fs';
import * as path from 'node:path';
import { expect } from 'chai';
import { transformSync } from 'esbuild';
import { applyEdits } from '../../simulation/bundle';
import { MUTATIONS } from '../../simulation/mutations/list';

const lib = path.resolve(__dirname, '..', '..', '..', 'lib');

describe('the mutations of the simulation', () => {
  it('are at least 24, each with a name of its own and a bound', () => {
    expect(MUTATIONS.length).to.be.at.least(24);
    expect(new Set(MUTATIONS.map(({ name }) => name)).size).to.equal(MUTATIONS.length);
    for (const { name, within } of MUTATIONS) expect(within, name).to.be.within(1, 100);
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
