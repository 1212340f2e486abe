import { expect } from 'chai';
import { ConnectionError, IllegalMonitorStateError } from '../../../lib';
import { settleQuorum } from '../../../lib/locks/multi/quorum';

describe('settleQuorum', () => {
  const notOwner = (): Promise<never> => Promise.reject(IllegalMonitorStateError.notOwner('client', 1, 'x'));
  const broken = (): Promise<never> => Promise.reject(new ConnectionError('the connection broke', true));

  async function code(operations: Promise<unknown>[], needed: number): Promise<string> {
    const error: unknown = await settleQuorum(operations, needed).catch((reason: unknown) => reason);
    return (error as { code: string }).code;
  }

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
