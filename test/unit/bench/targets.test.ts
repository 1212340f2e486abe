import { expect } from 'chai';
import { contestants } from '../../../bench/harness/contestants';
import { type ScenarioReport } from '../../../bench/harness/runScenario';
import { scenarios } from '../../../bench/scenarios/all';
import { judgeTargets, targets } from '../../../bench/targets';

function report(metric: string, value: number): ScenarioReport {
  const summary = { median: value, min: value, max: value, rounds: 1 };
  return {
    id: 'sequential',
    title: '',
    about: '',
    metrics: [],
    rows: [{ contestant: 'ioredisson', kind: 'library', metrics: { [metric]: summary }, rounds: [] }],
  };
}

describe('bench: targets', () => {
  it('name scenarios and metrics that exist', () => {
    for (const target of targets) {
      const scenario = scenarios.find(({ id }) => id === target.scenario);
      expect(
        scenario?.metrics.map(({ id }) => id),
        target.text,
      ).to.include(target.metric);
    }
  });

  it('every scenario compares with a contestant that exists', () => {
    const known = contestants.map(({ id }) => id);
    for (const { id, reference } of scenarios) if (reference) expect(known, id).to.include(reference.contestant);
  });

  it('pass and fail on the measured value, and judge only what ran', () => {
    const [passed] = judgeTargets([report('throughput', 0.92)]);
    const [failed] = judgeTargets([report('throughput', 0.91)]);
    expect(passed).to.include({ passed: true, value: 0.92 });
    expect(failed).to.include({ passed: false });
    expect(judgeTargets([])).to.deep.equal([]);
  });

  it('fail where the scenario ran without a result', () => {
    expect(judgeTargets([report('other', 1)])[0]).to.include({ passed: false, value: undefined });
  });
});
