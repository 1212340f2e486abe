export type { BackOff, BackOffPolicy } from './BackOff';
export type {
  AcquireMessage,
  AcquireOutcome,
  AcquireSubject,
  ConnectionChange,
  ConnectionListener,
  ConnectionState,
  HoldMessage,
  HoldOutcome,
  LockLostEvent,
  LockLostListener,
  ObjectKind,
  RenewalMessage,
} from './events';
export type { LockHold } from './LockHold';
export type {
  AcquireOptions,
  AttachOptions,
  DetachOptions,
  LockOptions,
  PermitHoldOptions,
  PermitRunOptions,
  RunOptions,
  ShutdownOptions,
  ThreadOptions,
  TryResult,
} from './options';
export type { PermitHold } from './PermitHold';
export type { RCountDownLatch } from './RCountDownLatch';
export type { RedissonClient } from './RedissonClient';
export type { RFencedLock, RLock, RReadWriteLock } from './RLock';
export type { ObjectListener, RObject } from './RObject';
export type { RPermitExpirableSemaphore } from './RPermitExpirableSemaphore';
export type { RSemaphore } from './RSemaphore';
