import { expect } from 'chai';
import { ConnectionError, IllegalMonitorStateError } from '../../../lib';
import { settleQuorum } from '../../../lib/locks/multi/quorum';
import { fakeClock } from '../../support';

describe('settleQuorum', () => {
  const notOwner = (): Promise<never> => Promise.reject(IllegalMonitorStateError.notOwner('client', 1, 'x'));
  const broken = (): Promise<never> => Promise.reject(new ConnectionError('the connection broke', true));

  async function code(operations: Promise<unknown>[], needed: number): Promise<string> {
    const error: unknown = await settleQuorum(operations, needed).catch((reason: unknown) => reason);
    return (error as { code: string }).code;
  }

  /** After how many ms it resolves, by the fake clock. */
  async function settledAfter(operations: Promise<unknown>[], needed: number): Promise<number> {
    const clock = fakeClock();
    const startedAt = performance.now();
    let ms = NaN;
    void settleQuorum(operations, needed).then(() => (ms = performance.now() - startedAt));
    await clock.tickAsync(10_000);
    clock.restore();
    return ms;
  }

  it('waits 1.5 s for the rest once the outcome is certain, and for all where all are needed', async () => {
    const never = new Promise<never>(() => undefined);
    const done = Promise.resolve();
    expect(await settledAfter([done, done, never], 2)).to.equal(1_500);
    expect(await settledAfter([never], 0)).to.equal(1_500);
    expect(await settledAfter([done, done], 2)).to.equal(0);
    expect(await settledAfter([done, never], 2)).to.be.NaN;
  });

  it('tells of the outage, and of no missing hold, where a member was not needed to hold the lock', async () => {
    // A red lock that two of three members hold: the first one has nothing to give back.
    expect(await code([notOwner(), Promise.resolve(), broken()], 2)).to.equal('CONNECTION');
    expect(await code([notOwner(), broken(), broken()], 2)).to.equal('CONNECTION');
  });

  it('tells that the lock is not held where too many members have nothing, whatever the others say', async () => {
    expect(await code([notOwner(), notOwner(), broken()], 2)).to.equal('ILLEGAL_MONITOR_STATE');
    expect(await code([broken(), notOwner(), notOwner()], 2)).to.equal('ILLEGAL_MONITOR_STATE');
    expect(await code([broken(), notOwner()], 2)).to.equal('ILLEGAL_MONITOR_STATE');
  });
});
