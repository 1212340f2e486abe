import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { Executor } from '../../../lib/connection/Executor';
import type { Resend } from '../../../lib/scripts/Script';
import { fakeClock } from '../../support';
import { Outcome } from '../../support/fakeClient';
import { FakeLink, script } from './fakeLink';

describe('Executor: replies nobody waits for', () => {
  let clock: SinonFakeTimers;
  let link: FakeLink;
  let executor: Executor;
  let late: unknown[];

  beforeEach(() => {
    clock = fakeClock();
    link = new FakeLink();
    late = [];
    const settings = { timeout: 1_000, retryAttempts: 3, slavesSyncTimeout: 100, checkLockSyncedSlaves: true };
    executor = new Executor(link, settings);
  });

  function run(resend: Resend, synced?: (value: unknown) => boolean): Outcome<unknown> {
    const one = script(resend, synced === undefined ? {} : { synced });
    const options = { late: (value: unknown) => void late.push(value) };
    return new Outcome(executor.run(one, { name: 'a' }, { arg: 1 }, options));
  }

  it('are told when they come after the command time-out', async () => {
    const outcome = run('never');
    await clock.tickAsync(1_000);
    expect(outcome.error).to.include({ code: 'COMMAND_TIMEOUT' });
    link.last.resolve('taken');
    await clock.tickAsync(0);
    expect(late).to.deep.equal(['taken']);
  });

  it('are told when no replica confirmed them', async () => {
    const outcome = run('never', (value) => value === 'taken');
    link.last.replicaAck!.acked = 0;
    link.last.resolve('taken');
    await clock.tickAsync(0);
    expect(outcome.error).to.include({ code: 'NO_SYNCED_REPLICAS' });
    expect(late).to.deep.equal(['taken']);
  });

  it('are not told to whom they were given in time, however often they come', async () => {
    const outcome = run('always');
    await clock.tickAsync(1_000);
    const [first, second] = link.sent;
    second!.resolve('done');
    await clock.tickAsync(0);
    first!.resolve('done');
    await clock.tickAsync(0);
    expect(outcome.value).to.equal('done');
    expect(late).to.deep.equal([]);
  });
});
