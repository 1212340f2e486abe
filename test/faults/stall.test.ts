import { expect } from 'chai';
import { redisUrl, sleep, trackClient, uniqueName } from '../support';
import { Child } from './childProcess';
import { client, SOON_MS, within } from './scene';
import type { StallReport } from './stallHolder';

const WATCHDOG_MS = 1_000;
const STALL_MS = 3_000;

describe('a holder whose event loop is blocked past its lease', () => {
  it('learns that it has lost the lock before its next await resolves, and releases nothing of the next owner', async function () {
    this.timeout(60_000);
    const name = uniqueName();
    const child = trackClient(new Child('stallHolder.ts', [redisUrl(), name, String(WATCHDOG_MS), String(STALL_MS)]));
    const redisson = client(redisUrl());
    expect(await child.line(0)).to.equal('held');
    const hold = await within(SOON_MS, 'the lock of a stalled process runs out', redisson.getLock(name).acquire());
    expect(await child.line(1)).to.equal('held inner');
    const inner = await within(
      SOON_MS,
      'the second lock of a stalled process runs out',
      redisson.getLock(`${name}:inner`).acquire(),
    );
    const report = JSON.parse(await child.line(2)) as StallReport;
    expect(report).to.deep.equal({
      heldAfterStall: false,
      abortedAtAwait: true,
      // One of each lock.
      losses: 2,
      unlock: 'LockLostError',
      withLock: 'LockLostError',
    });
    for (const one of [hold, inner]) {
      expect(one.isHeld).to.be.true;
      await one.unlock();
    }
  });
});

describe('a process whose event loop is blocked while its client connects', () => {
  for (const at of ['before anything is sent', 'on the way', 'when it is connected'] as const) {
    it(`gets its lock, and not an error that Redis cannot be reached (blocked ${at})`, async () => {
      const redisson = client(redisUrl(), { timeout: 500, retryAttempts: 0 });
      const acquired = redisson.getLock(uniqueName()).acquire();
      if (at === 'on the way') await new Promise(setImmediate);
      if (at === 'when it is connected') await sleep(2);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
      await (await acquired).unlock();
    });
  }
});
