/**
 * A page that shows the locks, live.
 * @module ioredisson/dashboard
 */

export { createDashboard, type Dashboard } from './createDashboard';
export type { AuditEntry, DashboardOptions } from './options';
export type { ForcedAction } from '../inspection/remedies';
