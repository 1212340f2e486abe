import { expect } from 'chai';
import type { Unjudged } from '../../../lib/operators/inspection/reports';
import { verdictOf } from '../../../lib/operators/inspection/verdict';
import { readableTime } from '../../../lib/util/readableTime';

/** A lock whose holder is gone, with so much of its lease left. */
function left(ttlMs: number): string {
  const process = { connected: false, java: false } as const;
  const holder = { owner: 'a:1', clientId: 'a', threadId: '1', client: 'node', holdCount: 1, process } as const;
  const report: Unjudged = {
    ...{ name: 'n', key: 'n', kind: 'lock', ttlMs },
    ...{ holders: [holder], waiters: 0, channels: [] },
  };
  return / ends in (.+?), at /.exec(verdictOf(report, { now: 0, watched: undefined }).sentence)![1]!;
}

describe('times', () => {
  it('have one form, in the terminal and in verdicts', () => {
    const forms = {
      940: '0.9 s',
      9_960: '10 s',
      29_000: '29 s',
      90_000: '1 m 30 s',
      7_500_000: '2 h 5 m',
      273_600_000: '3 d 4 h',
    };
    for (const [ms, text] of Object.entries(forms)) {
      expect(readableTime(Number(ms))).to.equal(text);
      expect(left(Number(ms))).to.equal(text);
    }
  });
});
