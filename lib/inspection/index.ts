export { Inspector, type InspectionPage } from './Inspector';
export type { HolderReport, ObjectKind, ObjectReport, OwnerReport, PermitReport, WaiterReport } from './reports';
