import { expect } from 'chai';
import { type ContentionLog, judgeContention } from '../../../bench/harness/contention';

interface Visit {
  readonly waiter: number;
  readonly from: number;
  readonly to: number;
  readonly waited?: number;
}

function log(waiters: number, visits: readonly Visit[], rest: Partial<ContentionLog> = {}): ContentionLog {
  return {
    enteredAt: Float64Array.from(visits, ({ from }) => from),
    leftAt: Float64Array.from(visits, ({ to }) => to),
    waiter: Uint16Array.from(visits, ({ waiter }) => waiter),
    waited: Float64Array.from(visits, ({ waited }) => waited ?? 0),
    waitingSince: new Float64Array(waiters).fill(Infinity),
    commands: 0,
    cpuUs: 0,
    endAt: 100,
    ...rest,
  };
}

describe('bench: judging a hot key', () => {
  it('counts acquisitions, hand-offs and commands over all workers', () => {
    const first = log(
      1,
      [
        { waiter: 0, from: 0, to: 1 },
        { waiter: 0, from: 2, to: 3 },
        { waiter: 0, from: 6, to: 7 },
      ],
      { commands: 7 },
    );
    const second = log(1, [{ waiter: 0, from: 4, to: 5 }], { commands: 3 });
    const result = judgeContention([first, second]);
    expect(result).to.include({ acquisitions: 4, handoffs: 2, commands: 10, violations: 0 });
    expect(result.fairness).to.be.closeTo(1 / 3, 1e-9);
  });

  it('sees two inside at once, also when they are not neighbours in time', () => {
    const first = log(1, [{ waiter: 0, from: 0, to: 10 }]);
    const second = log(2, [
      { waiter: 0, from: 2, to: 3 },
      { waiter: 1, from: 4, to: 5 },
    ]);
    expect(judgeContention([first, second]).violations).to.equal(2);
  });

  it('does not take somebody who is still inside at the end for a violation', () => {
    const visits = [
      { waiter: 0, from: 0, to: 1 },
      { waiter: 1, from: 99, to: Infinity },
    ];
    expect(judgeContention([log(2, visits)]).violations).to.equal(0);
  });

  it('counts waiters that never got in, and waits the end cut off', () => {
    const waitingSince = Float64Array.from([Infinity, 5]);
    const result = judgeContention([log(2, [{ waiter: 0, from: 20, to: 21, waited: 20 }], { waitingSince })]);
    expect(result).to.include({ starved: 1, fairness: 0, longestWaitMs: 95 });
  });

  it('makes sense of a window in which nobody got in', () => {
    const result = judgeContention([log(3, [])]);
    expect(result).to.include({ acquisitions: 0, starved: 3, fairness: 0, longestWaitMs: 0 });
  });
});
