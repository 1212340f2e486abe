/**
 * Who holds which lock and who waits, as an API.
 * @module ioredisson/inspection
 */

export type { ForcedUnlock } from './forceUnlock';
export { type InspectionPage, Inspector } from './Inspector';
export type {
  ChangesEvent,
  HolderReport,
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
  WatchEvent,
  WatchListener,
  WatchOptions,
} from './reports';
