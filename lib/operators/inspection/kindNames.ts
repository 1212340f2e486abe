import type { ReportedKind } from '../../kinds/Kind';

/** The kinds of objects, for people. A kind without a name does not compile. */
export const KIND_NAMES: Readonly<Record<ReportedKind, string>> = {
  lock: 'lock',
  fair: 'fair lock',
  fenced: 'fenced lock',
  readWrite: 'read/write lock',
  group: 'group of values',
  semaphore: 'semaphore',
  permitExpirableSemaphore: 'semaphore, leases',
  countDownLatch: 'latch',
};
