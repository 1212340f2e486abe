import { expect } from 'chai';
import { adviceOf } from '../../../lib/operators/inspection/advice';
import type { CircleLink } from '../../../lib/operators/inspection/reports';

function link(name: string, pid: number, waitsFor: string): CircleLink {
  return { name, waitsFor, pid, owner: `c${pid}:1`, clientId: `c${pid}`, host: 'h', since: 1 };
}

describe('adviceOf a dead-lock', () => {
  for (const [what, circle, advice] of [
    ['over two processes: one of them', [link('a', 1, 'b'), link('b', 2, 'a')], /^Restart one of these processes/],
    ['within one process: that one', [link('a', 1, 'b'), link('b', 1, 'a')], /^Restart that process.*one order/],
    ['of who waits for itself: that one, and its code', [link('a', 1, 'a')], /^Restart that process.*mend the code/],
  ] as const) {
    it(what, () => {
      expect(adviceOf('dead-lock', true, circle)).to.match(advice);
    });
  }
});
