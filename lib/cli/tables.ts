import Table from 'cli-table3';
import stringWidth from 'string-width';
import type { HolderReport, ObjectReport, OwnerReport, WaiterReport } from '../inspection';
import { oneLine } from './output';
import { readableTime } from './timeArgument';

/** No frame: lines that can be cut and searched. */
const NO_FRAME = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) =>
    ['', '-mid', '-left', '-right', '-top', '-bottom'].map((place) => [side + place, '']),
  ),
);

/** The space between two columns. */
const GAP = 2;
/** The library's time grows with the square of the rows, and a row takes it a quarter of a millisecond. */
const MAX_LIBRARY_ROWS = 100;

/** Lines of a table without a frame. @param head - the titles of the columns */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(oneLine));
  if (rows.length > MAX_LIBRARY_ROWS) return longTable([head, ...cells]);
  const style = { head: [], border: [], 'padding-left': 0, 'padding-right': GAP };
  const lines = new Table({ head: [...head], chars: { ...NO_FRAME, middle: '' }, style });
  lines.push(...cells);
  return lines
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** The same lines for any number of rows, in linear time. */
function longTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  const cells = rows.map((row) => row.map((text) => ({ text, width: widthOf(text) })));
  for (const row of cells) for (const [i, { width }] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width);
  const pad = ({ text, width }: { text: string; width: number }, i: number): string =>
    text + ' '.repeat(widths[i]! - width + GAP);
  return cells.map((row) => row.map(pad).join('').trimEnd()).join('\n');
}

function widthOf(text: string): number {
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text);
}

/** A longer name is cut in the middle: one such name must not push all that matters off the screen. `--json` has all. */
const MAX_NAME = 26;
const MAX_PROCESS = 24;
/** What is on the screen without a terminal to ask: what a file or a pipe takes. */
const ANY_WIDTH = Infinity;

/**
 * The table of `list` and `top`: the head, and a line for each object. What a person asks first stands first: the name,
 * what is wrong, who has it, who waits. Ids come last, and are what a narrow terminal cuts off.
 *
 * @param oldestWait - how long somebody has been seen waiting, in ms
 */
export function objectTable(
  reports: readonly ObjectReport[],
  width = ANY_WIDTH,
  oldestWait: (report: ObjectReport) => number | undefined = () => undefined,
): string {
  const rows = reports.map((report) => [
    cut(report.name, MAX_NAME),
    report.verdict.kind,
    cut(processesText(report), MAX_PROCESS),
    waitersText(report, oldestWait(report)),
    ttlText(report.ttlMs),
    kindText(report),
    holdsText(report),
    ownersText(report),
  ]);
  const lines = table(['NAME', 'VERDICT', 'PROCESS', 'WAITERS', 'TTL', 'KIND', 'HOLDS', 'OWNER'], rows);
  if (width === ANY_WIDTH) return lines;
  return lines
    .split('\n')
    .map((line) => line.slice(0, width).trimEnd())
    .join('\n');
}

/** A text without its middle: the end of a name tells it from its neighbours. */
function cut(text: string, max: number): string {
  const shown = oneLine(text);
  if (shown.length <= max) return shown;
  const tail = Math.floor(max / 3);
  return `${shown.slice(0, max - tail - 1)}…${shown.slice(-tail)}`;
}

function waitersText({ waiters }: ObjectReport, oldestMs: number | undefined): string {
  return waiters === 0 || oldestMs === undefined ? String(waiters) : `${waiters} for ${readableTime(oldestMs)}`;
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
    case 'group':
    case 'semaphore':
    case 'number':
    case 'other':
    case 'none':
      return kind;
  }
}

/** Which client it is, as far as that can be known. */
export function clientText({ client }: OwnerReport): string {
  return client === 'node' ? 'Node' : 'Java, or an explicit thread id';
}

/** Whose process it is: host and process id, as far as that can be known. */
export function processText({ process: { host, pid, connected, java } }: OwnerReport): string {
  const where = host === undefined ? '' : `${host}/${pid}`;
  if (connected === false) return where === '' ? 'gone' : `${where}, gone`;
  return where === '' ? (java ? 'Java?' : '?') : where;
}

/** For how long the process has been connected, and from where. */
export function connectionText({ process: { address, connected, connectedForMs } }: OwnerReport): string {
  if (connected === 'unknown') return 'unknown';
  if (!connected) return 'no';
  return `for ${readableTime(connectedForMs ?? 0)}, from ${address}`;
}

function processesText({ holders }: ObjectReport): string {
  const [first] = holders;
  if (first === undefined) return '-';
  return holders.length === 1 ? processText(first) : `${processText(first)} and ${holders.length - 1} more`;
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
