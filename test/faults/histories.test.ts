import * as fs from 'node:fs';
import { expect } from 'chai';
import { describeVerdict } from '../histories/report';
import { runHistory } from '../histories/runHistory';

/* A short history, with one seed: `npm run test:histories` makes long ones, with fresh seeds. */
const SEED = 1;
const RUN_MS = 5_000;

describe('a history of several processes under faults', () => {
  it('has nothing wrong in it', async function () {
    this.timeout(120_000);
    const { verdict, folder } = await runHistory({
      seed: SEED,
      ops: Infinity,
      timeMs: RUN_MS,
      calmMs: 600,
      processes: 2,
      clients: 2,
      actors: 8,
    });
    const { findings, kinds, operations } = verdict;
    // The history stays where something is wrong.
    expect(findings, `${folder}\n${describeVerdict(verdict).join('\n')}`).to.deep.equal([]);
    fs.rmSync(folder, { recursive: true });
    expect(operations).to.be.greaterThan(0);
    expect(kinds.size).to.be.greaterThan(0);
  });
});
