import { expect } from 'chai';
import { allCells, AXES, VALUES } from '../../matrix/axes';
import { pairsOf, pairwise } from '../../matrix/pairwise';

describe('the pairwise selection of the matrix', () => {
  it('has every pair of values of two axes', () => {
    const covered = new Set(pairwise(VALUES).flatMap(pairsOf));
    const missing: string[] = [];
    for (const [i, one] of AXES.entries()) {
      for (const other of AXES.slice(i + 1)) {
        for (const value of VALUES[one]) {
          for (const beside of VALUES[other]) {
            if (!covered.has(`${value} + ${beside}`)) missing.push(`${value} + ${beside}`);
          }
        }
      }
    }
    expect(missing).to.deep.equal([]);
  });

  it('is small, has no cell twice, and is the same each time', () => {
    const cells = pairwise(VALUES);
    // No fewer than the two longest axes demand, and not many more.
    const [longest = 0, next = 0] = AXES.map((axis) => VALUES[axis].length).sort((a, b) => b - a);
    expect(cells.length).to.be.within(longest * next, longest * next + 4);
    expect(new Set(cells.map((cell) => JSON.stringify(cell)))).to.have.lengthOf(cells.length);
    expect(pairwise(VALUES)).to.deep.equal(cells);
  });

  it('copes with axes of which only one value can be had', () => {
    const few = { ...VALUES, server: ['redis-7'], node: ['node-20.19.0'] };
    const covered = new Set(pairwise(few).flatMap(pairsOf));
    expect(covered).to.deep.equal(new Set(allCells(few).flatMap(pairsOf)));
  });

  it('has no cell when an axis has no value', () => {
    expect(pairwise({ ...VALUES, server: [] })).to.deep.equal([]);
  });
});
