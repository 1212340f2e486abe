import Table from 'cli-table3';
import type { HolderReport, ObjectReport, OwnerReport, WaiterReport } from '../inspection';
import { oneLine } from './output';
import { readableTime } from './timeArgument';

/** No frame: lines that can be cut and searched. */
const NO_FRAME = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) =>
    ['', '-mid', '-left', '-right', '-top', '-bottom'].map((place) => [side + place, '']),
  ),
);

/** Lines of a table without a frame. @param head - the titles of the columns */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const style = { head: [], border: [], 'padding-left': 0, 'padding-right': 2 };
  const lines = new Table({ head: [...head], chars: { ...NO_FRAME, middle: '' }, style });
  for (const row of rows) lines.push(row.map(oneLine));
  return lines
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** The table of `list` and `top`: a line for each object. */
export function objectTable(reports: readonly ObjectReport[]): string {
  const rows = reports.map((report) => [
    report.name,
    kindText(report),
    ownersText(report),
    holdsText(report),
    ttlText(report.ttlMs),
    String(report.waiters),
  ]);
  return table(['NAME', 'KIND', 'OWNER', 'HOLDS', 'TTL', 'WAITERS'], rows);
}

/** The kind, for people. */
export function kindText({ kind, mode }: ObjectReport): string {
  switch (kind) {
    case 'readWrite':
      return `${mode} lock`;
    case 'permitExpirableSemaphore':
      return 'permits';
    case 'countDownLatch':
      return 'latch';
    case 'lock':
    case 'fair':
    case 'fenced':
    case 'semaphore':
    case 'number':
    case 'none':
      return kind;
  }
}

/** Which client it is, as far as that can be known. */
export function clientText({ client }: OwnerReport): string {
  return client === 'node' ? 'Node' : 'Java, or an explicit thread id';
}

/** The time until a key expires. */
export function ttlText(ttlMs: number): string {
  return ttlMs === -1 ? 'none' : ttlMs < 0 ? '-' : readableTime(ttlMs);
}

/** What is left of a lease or a place, for people. */
export function remainingText(ms: number | null): string {
  return ms === null ? 'no limit' : ms < 0 ? 'over' : readableTime(ms);
}

/** The leases of a holder's holds. */
export function leasesText({ leasesMs }: HolderReport): string {
  return leasesMs?.map((ms) => (ms === -1 ? 'none' : ms < 0 ? 'over' : readableTime(ms))).join(', ') ?? '';
}

/** Whether a waiter listens. */
export function listeningText({ listening }: WaiterReport): string {
  return listening ? 'yes' : 'no';
}

function ownersText({ holders }: ObjectReport): string {
  const [first] = holders;
  if (first === undefined) return '-';
  return holders.length === 1 ? first.owner : `${first.owner} and ${holders.length - 1} more`;
}

function holdsText({ kind, holders, value, acquired }: ObjectReport): string {
  if (kind === 'permitExpirableSemaphore') return `${acquired} out, ${value} left`;
  if (kind === 'semaphore') return `${value} left`;
  if (kind === 'countDownLatch') return `${value} to go`;
  return String(holders.reduce((sum, { holdCount }) => sum + holdCount, 0));
}
