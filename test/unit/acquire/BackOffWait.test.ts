import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { acquireWithin, type Acquirable } from '../../../lib/acquire/acquireWithin';
import { BackOffWait } from '../../../lib/acquire/BackOffWaits';
import { WaitLimit } from '../../../lib/acquire/WaitLimit';
import { fakeClock } from '../../support';

describe('waiting by back-off', () => {
  let clock: SinonFakeTimers;
  let attempts: number[];
  let waits: Set<BackOffWait>;

  beforeEach(() => {
    clock = fakeClock();
    attempts = [];
    waits = new Set();
  });

  /** Succeeds with the n-th attempt. */
  function acquirable(succeedsAt: number, periods: number[]): Acquirable<string> {
    return {
      mustQueue: false,
      attempt: () => {
        attempts.push(clock.now);
        return Promise.resolve(
          attempts.length >= succeedsAt ? { ok: true, value: 'taken' } : { ok: false, retryInMs: 60_000 },
        );
      },
      join() {
        const policy = { getNextSleepPeriod: () => periods.shift() ?? 1_000 };
        const wait: BackOffWait = new BackOffWait(policy, () => waits.delete(wait));
        waits.add(wait);
        return wait;
      },
      giveUp: () => undefined,
    };
  }

  afterEach(() => {
    // However it ended: the client, which lives longer, keeps none of its waits.
    expect([waits.size, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  it('attempts once, then after each pause of the policy, whatever the ttl', async () => {
    const taking = acquireWithin(acquirable(4, [10, 20, 40]), new WaitLimit(Infinity, undefined));
    await clock.tickAsync(200);
    expect(await taking).to.equal('taken');
    expect(attempts).to.deep.equal([0, 10, 30, 70]);
  });

  it('ends at the deadline', async () => {
    const taking = acquireWithin(acquirable(Infinity, [10, 500]), new WaitLimit(100, undefined));
    await clock.tickAsync(100);
    expect(await taking).to.equal(undefined);
    expect(attempts).to.deep.equal([0, 10]);
  });

  it('ends with the signal', async () => {
    const stop = new AbortController();
    const taking = acquireWithin(acquirable(Infinity, []), new WaitLimit(Infinity, stop.signal)).catch((e: Error) => e);
    await clock.tickAsync(500);
    stop.abort(new Error('stop'));
    expect(await taking).to.have.property('message', 'stop');
  });

  it('rejects when the policy gives no number', async () => {
    const taking = acquireWithin(acquirable(Infinity, [NaN]), new WaitLimit(Infinity, undefined)).catch(
      (e: Error) => e,
    );
    expect(await taking).to.be.instanceOf(RangeError);
  });
});
