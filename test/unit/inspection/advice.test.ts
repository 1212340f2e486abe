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
      expect(adviceOf({ waiters: 1 }, 'dead-lock', circle)).to.match(advice);
    });
  }
});

describe('adviceOf what callers wait for', () => {
  it('permits or a latch: promises no process and no verdict that never come', () => {
    expect(adviceOf({ value: 0, waiters: 1 }, 'held'))
      .to.match(/have no owner.*addPermits\(n\)/)
      .and.not.to.contain('stuck');
    expect(adviceOf({ value: 0, waiters: 0 }, 'held')).to.equal('');
  });

  it('a semaphore with permits left: the caller wants more than these', () => {
    expect(adviceOf({ value: 1, waiters: 1 }, 'free')).to.match(/wants more.*addPermits\(n\)/);
    expect(adviceOf({ waiters: 1 }, 'free')).to.equal('');
  });

  it('a lock: its process, and when it is called stuck', () => {
    expect(adviceOf({ waiters: 1 }, 'held')).to.contain('stuck');
  });
});
