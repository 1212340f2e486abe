/**
 * An API that reports who holds which lock, and who waits.
 * @module ioredisson/inspection
 */

export type { ForcedUnlock } from './forceUnlock';
export { waitersOf } from './whoWaits';
export { type AskOptions, type AskResult, type InspectionPage, Inspector, type InspectorOptions } from './Inspector';
export type { ClientAnswer, ClientHold, ClientWait, HeldAround, HeldByWaiter } from '../../introspection/wire';
export type {
  ChangesEvent,
  CircleLink,
  HealthEvent,
  HealthReport,
  HoldReport,
  HolderReport,
  LossReport,
  ObjectKind,
  ObjectReport,
  OutageEvent,
  OwnerReport,
  PermitReport,
  ProcessReport,
  RecoveredEvent,
  UnknownReason,
  Verdict,
  VerdictKind,
  WaiterReport,
  WaitingProcess,
  WatchEvent,
  WatchListener,
  WatchOptions,
} from './reports';
