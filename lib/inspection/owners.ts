import type { OwnerReport } from './reports';

/** Client id, thread id, and what writers and transactions add. */
const OWNER =
  /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}):(-?\d{1,19})(:write)?(?::[0-9a-f-]{32,36})?$/;
/** Threads of this package that nobody gave an id begin here; those of Java are counted from 1. */
const FIRST_AUTOMATIC = 2n ** 32n;

/** Reads an owner of a lock. @returns `undefined` for anything else */
export function parseOwner(owner: string): (OwnerReport & { readonly writes: boolean }) | undefined {
  const [, clientId, threadId, write] = OWNER.exec(owner) ?? [];
  if (clientId === undefined || threadId === undefined) return undefined;
  const client = BigInt(threadId) >= FIRST_AUTOMATIC ? 'node' : 'unknown';
  return { owner, clientId, threadId, client, writes: write !== undefined };
}

/** As {@link parseOwner}, whatever it is. */
export function ownerReport(owner: string): OwnerReport {
  const parsed = parseOwner(owner);
  if (parsed === undefined) return { owner, clientId: '', threadId: '', client: 'unknown' };
  const { writes: _writes, ...report } = parsed;
  return report;
}

/** Whether the fields of a hash are those of a lock: owners with their counts, and perhaps a mode. */
export function isLockHash(fields: readonly (readonly [field: string, value: string])[]): boolean {
  if (fields.length === 0) return false;
  const owners = fields.filter(([field]) => field !== 'mode');
  return owners.every(([field, value]) => parseOwner(field) !== undefined && /^\d{1,10}$/.test(value));
}
