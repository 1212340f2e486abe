import { expect } from 'chai';
import { LockLostError, type Redisson } from '../../lib';
import { createTestRedisson } from '../../lib/testing';
import { latchSuite } from '../contracts/latchContract';
import { lockContract } from '../contracts/lockContract';
import { permitHoldSuite } from '../contracts/permitHoldContract';
import { semaphoreSuite } from '../contracts/semaphoreContract';
import { inMemory } from '../contracts/world';
import { sleepUntil, trackClient } from '../support';
import { collect } from '../support/collect';
import { EVERY_LOCK, makeLock, underTest } from '../support/kinds';
import { leasedSemaphore, plainSemaphore } from '../redis/synchronizers/underTest';

describe('holds of the test client whose signals alone are kept, by real time', () => {
  // Garbage is not collected by fake timers, so these are not in the contract in memory. All kinds at once.
  it('end as a loss: of every kind, and of permits', async function () {
    this.timeout(45_000);
    const client = trackClient(createTestRedisson({ lockWatchdogTimeout: 1_500 }) as unknown as Redisson);
    const drop = async (): Promise<AbortSignal[]> => {
      const holds = await Promise.all(EVERY_LOCK.map((kind) => makeLock(kind, client, `lock:${kind.name}`).acquire()));
      const semaphore = client.getPermitExpirableSemaphore('permits');
      await semaphore.trySetPermits(2);
      return [...holds, await semaphore.acquireHold({ permits: 2 })].map(({ signal }) => signal);
    };
    const signals = await drop();
    // A collection takes its time where many tests have run, the more on a busy machine: when it comes is V8's
    // business.
    await sleepUntil(
      () => {
        collect();
        return signals.every(({ aborted }) => aborted);
      },
      { timeout: 40_000, interval: 100, message: 'the signals abort' },
    );
    for (const { reason } of signals) {
      expect(reason).to.be.instanceOf(LockLostError);
      expect((reason as Error).message).to.match(/its object was dropped without a release/);
    }
  });
});

// The suites that every kind keeps on a server, with the clients of createTestRedisson.
inMemory(() => {
  for (const { noun, name } of EVERY_LOCK) lockContract(`a ${noun}`, underTest(name));
  describe('a semaphore', () => semaphoreSuite(plainSemaphore));
  describe('permits that are held', () => permitHoldSuite());
  describe('a latch', () => latchSuite());
  describe('a semaphore of leased permits', () => semaphoreSuite(leasedSemaphore));
});
