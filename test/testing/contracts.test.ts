import { latchSuite } from '../contracts/latchContract';
import { lockContract } from '../contracts/lockContract';
import { permitHoldSuite } from '../contracts/permitHoldContract';
import { semaphoreSuite } from '../contracts/semaphoreContract';
import { inMemory } from '../contracts/world';
import { EVERY_LOCK, underTest } from '../support/kinds';
import { leasedSemaphore, plainSemaphore } from '../redis/synchronizers/underTest';

// The suites that every kind keeps on a server, with the clients of createTestRedisson.
inMemory(() => {
  for (const { noun, name } of EVERY_LOCK) lockContract(`a ${noun}`, underTest(name));
  describe('a semaphore', () => semaphoreSuite(plainSemaphore));
  describe('permits that are held', () => permitHoldSuite());
  describe('a latch', () => latchSuite());
  describe('a semaphore of leased permits', () => semaphoreSuite(leasedSemaphore));
});
