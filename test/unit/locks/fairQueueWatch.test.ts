import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import type { CommandExecutor } from '../../../lib/connection/pending/CommandExecutor';
import { CommandError, CommandTimeoutError } from '../../../lib/errors';
import { FairQueueWatch } from '../../../lib/kinds/FairQueueWatch';
import type { FairTurn } from '../../../lib/kinds/fair';
import { fakeClock } from '../../support';
import { FakeClient, NAME } from '../../support/fakeClient';

/** How long the server refuses, in ms. */
const REFUSED_MS = 40_000;

describe('after the unlock of a fair lock, its client looks whether the head has come', () => {
  let clock: SinonFakeTimers;
  let watch: FairQueueWatch;
  /** How often it looked. */
  let checks: number;
  /** What the server says to that. */
  let refusal: Error | undefined;
  /** The waiters whose messages it is to listen to. */
  let ahead: readonly string[];
  let client: FakeClient;

  beforeEach(() => {
    clock = fakeClock();
    checks = 0;
    refusal = undefined;
    ahead = [];
    const run = (): Promise<FairTurn> => {
      checks++;
      return refusal === undefined ? Promise.resolve([0, ahead]) : Promise.reject(refusal);
    };
    client = new FakeClient();
    watch = new FairQueueWatch({ run } as unknown as CommandExecutor, client.subscriptions, client.id);
  });

  for (const code of ['MISCONF', 'OOM', 'READONLY', 'LOADING', 'BUSY']) {
    it(`again and again, until the server no longer refuses it (${code}): those behind the head may sleep for long`, async () => {
      refusal = new CommandError('look', new Error(`${code} no`));
      watch.notified(NAME);
      await clock.tickAsync(REFUSED_MS);
      const refused = checks;
      refusal = undefined;
      await clock.tickAsync(5_000);
      expect(checks).to.equal(refused + 1);
      expect(refused).to.be.within(10, 25);
      expect(clock.countTimers()).to.equal(0);
    });
  }

  it('not without end where the server refuses for good, or does not answer, and none of its callers waits', async () => {
    for (const error of [
      new CommandError('look', new Error('NOPERM no')),
      new CommandError('look', new Error('WRONGTYPE no')),
      new CommandTimeoutError('look', 3_000, true),
    ]) {
      refusal = error;
      watch.notified(NAME);
      await clock.tickAsync(REFUSED_MS);
      expect(clock.countTimers(), error.message).to.equal(0);
    }
    expect(checks).to.equal(15);
  });

  it('and what it listens to ends with its last waiter, also if that is woken in the same turn', async () => {
    ahead = ['somebody'];
    const waiter = { wake: () => true };
    watch.joined(NAME, waiter);
    watch.notified(NAME);
    await clock.tickAsync(1_000);
    expect(client.subscriptions.size).to.equal(1);
    // The connection that listens is gone, and a shutdown has each waiter look whether it may go on.
    client.subscriber.events!.interrupted();
    client.subscriptions.wakeEach();
    ahead = [];
    watch.left(NAME, waiter);
    await clock.tickAsync(10_000);
    expect([client.subscriptions.size, clock.countTimers()]).to.deep.equal([0, 0]);
  });

  it('and has its first waiter ask once after a message, behind others: another lease may end earlier', async () => {
    const woken: string[] = [];
    const [first, second] = ['first', 'second'].map((name) => ({ wake: () => woken.push(name) > 0 }));
    watch.joined(NAME, first!);
    watch.joined(NAME, second!);
    watch.notified(NAME);
    await clock.tickAsync(1_000);
    expect(woken, 'it is the head, and hears the messages itself').to.deep.equal([]);
    ahead = ['somebody'];
    watch.unheard(NAME);
    await clock.tickAsync(1_000);
    expect(woken, 'there was no message').to.deep.equal([]);
    watch.notified(NAME);
    watch.notified(NAME);
    await clock.tickAsync(10_000);
    expect(woken).to.deep.equal(['first']);
    watch.left(NAME, first!);
    await clock.tickAsync(1_000);
    watch.notified(NAME);
    await clock.tickAsync(1_000);
    expect(woken).to.deep.equal(['first', 'second']);
    watch.left(NAME, second!);
    await clock.tickAsync(1_000);
    expect([client.subscriptions.size, clock.countTimers()]).to.deep.equal([0, 0]);
  });
});
