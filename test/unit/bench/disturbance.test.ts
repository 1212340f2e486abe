import { expect } from 'chai';
import { disturbanceOf, parseMachineTime, type RoundSurroundings } from '../../../bench/harness/disturbance';
import { disturbances } from '../../../bench/report/format';

function round(rest: Partial<RoundSurroundings>): RoundSurroundings {
  return { timeBefore: undefined, timeAfter: undefined, before: {}, after: {}, steady: undefined, ...rest };
}

describe('bench: disturbed rounds', () => {
  it('reads the stolen time of the machine', () => {
    const stat = 'cpu  10 2 30 400 5 6 7 40 99 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n';
    expect(parseMachineTime(stat)).to.deep.equal({ all: 500, stolen: 40 });
    expect(parseMachineTime('cpu  10 2 30')).to.equal(undefined);
  });

  it('more than 5 % of the machine stolen is told, less is not', () => {
    const timeBefore = { all: 1000, stolen: 10 };
    expect(disturbanceOf(round({ timeBefore, timeAfter: { all: 2000, stolen: 110 } }))).to.match(/^10 % .* stolen/);
    expect(disturbanceOf(round({ timeBefore, timeAfter: { all: 2000, stolen: 50 } }))).to.equal(undefined);
  });

  it('a reference that is faster or slower after the round is told', () => {
    const steady = 'perSecond';
    expect(disturbanceOf(round({ steady, before: { perSecond: 100 }, after: { perSecond: 60 } }))).to.match(/1\.67/);
    expect(disturbanceOf(round({ steady, before: { perSecond: 60 }, after: { perSecond: 100 } }))).to.match(/1\.67/);
    expect(disturbanceOf(round({ steady, before: { perSecond: 90 }, after: { perSecond: 100 } }))).to.equal(undefined);
    expect(disturbanceOf(round({ before: { perSecond: 60 }, after: { perSecond: 100 } }))).to.equal(undefined);
  });

  it('the report says which rounds are left out, and which count all the same', () => {
    const quiet = { sample: {}, reference: {} };
    const disturbed = { ...quiet, disturbed: 'stolen' };
    const lines = disturbances([
      { contestant: 'a', rounds: [quiet, disturbed] },
      { contestant: 'b', rounds: [disturbed] },
      { contestant: 'c', rounds: [quiet] },
    ]);
    expect(lines).to.deep.equal([
      'a: 1 of 2 rounds disturbed, left out (stolen).',
      'b: 1 of 1 rounds disturbed, they count, since there is no other (stolen).',
    ]);
  });
});
