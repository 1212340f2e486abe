import { expect } from 'chai';
import type { SinonFakeTimers } from 'sinon';
import { warnHandleReentry, warnSelfWait } from '../../../lib/util/warnings';
import { runAsNewThread } from '../../../lib/thread/threadScope';
import { fakeClock } from '../../support';
import { FakeClient, NAME } from '../../support/fakeClient';

/**
 * A10, docs/threads.md, "Warnings": each comes once per client. That they are told at all: scopes.test.ts,
 * threads.test.ts.
 */
describe('the warning of a self-made wait', () => {
  let clock: SinonFakeTimers;

  beforeEach(() => {
    clock = fakeClock();
  });

  /** Waits so long for what the own scope has. */
  async function waitForSelf(client: FakeClient, name: string, ms: number): Promise<void> {
    const control = new AbortController();
    const done = runAsNewThread(async () => {
      await using hold = await client.lock(name).acquire();
      await client.lock(name).withLock(() => hold, { signal: control.signal });
    }).catch(() => undefined);
    await clock.tickAsync(ms);
    control.abort(new Error('over'));
    await clock.tickAsync(10);
    await done;
  }

  it('A10: comes once per client, whatever lock it is, and for each client', async () => {
    const clients = [new FakeClient(), new FakeClient()];
    for (const client of clients) {
      for (const name of [NAME, 'b']) await waitForSelf(client, name, 12_000);
    }
    expect(clients.map(({ selfWaits }) => selfWaits)).to.deep.equal([[NAME], [NAME]]);
    expect(clock.countTimers()).to.equal(0);
  });

  it('A10: does not come for waits of less than 5 s, however many there are', async () => {
    const client = new FakeClient();
    for (let i = 0; i < 4; i++) await waitForSelf(client, NAME, 4_900);
    expect(client.selfWaits).to.deep.equal([]);
  });

  it('A10: comes for lock() as well, which waits for a section of the scope that its thread was started in', async () => {
    const client = new FakeClient();
    const control = new AbortController();
    const done = client
      .lock()
      .withLock(() => runAsNewThread(() => client.lock().lock(-1, undefined, { signal: control.signal })))
      .catch(() => undefined);
    await clock.tickAsync(5_200);
    expect(client.selfWaits).to.deep.equal([NAME]);
    control.abort(new Error('over'));
    await clock.tickAsync(10);
    await done;
  });

  it('A10: comes for a turn beside a section that never ends', async () => {
    const client = new FakeClient();
    const control = new AbortController();
    const done = client
      .lock()
      .withLock(() => {
        const waiting = client
          .lock()
          .withLock(() => client.lock('b').withLock(() => second), { signal: control.signal });
        const second = client.lock().withLock(() => undefined, { signal: control.signal });
        return Promise.allSettled([waiting, second]);
      })
      .catch(() => undefined);
    await clock.tickAsync(5_200);
    expect(client.selfWaits).to.deep.equal([NAME]);
    control.abort(new Error('over'));
    await clock.tickAsync(10);
    await done;
  });

  it('A10: has a code, and so has that of a re-entry through a handle; both name the lock', async () => {
    const told: NodeJS.ErrnoException[] = [];
    const listen = (warning: Error): void => void told.push(warning);
    process.on('warning', listen);
    try {
      warnSelfWait('orders');
      warnHandleReentry('orders');
      await new Promise<void>((resolve) => process.nextTick(resolve));
      await new Promise<void>((resolve) => process.nextTick(resolve));
    } finally {
      process.off('warning', listen);
    }
    expect(told.map(({ code }) => code)).to.deep.equal(['IOREDISSON_SELF_WAIT', 'IOREDISSON_HANDLE_REENTRY']);
    for (const { message } of told) expect(message).to.contain("'orders'");
  });
});
