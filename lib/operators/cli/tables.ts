import { type ObjectReport, type OwnerReport, waitersOf } from '../inspection';
import { chop, cutMiddle, fit, stdoutWidth, widthOf } from './fit';
import { oneLine } from './output';
import { readableTime } from '../doctor';

/** The space between two columns. */
const GAP = 2;
/** A column is not made narrower than this to fit a table to a terminal. */
const LEAST_COLUMN = 24;

/** A column of a table: its title, and what a thing has in it. */
export type Column<T> = readonly [title: string, cell: (thing: T, index: number) => string];

/**
 * Lines of a table without a frame, one for each thing. What does not fit into the width breaks in its widest column;
 * where that would be too narrow, each row becomes a block, a line for each of its cells. Nothing is lost.
 */
export function table<T>(columns: readonly Column<T>[], things: readonly T[], width = Infinity): string {
  const head = columns.map(([title]) => title);
  const cells = things.map((thing, i) => columns.map(([, cell]) => oneLine(cell(thing, i))));
  const widths = head.map((title, i) => Math.max(widthOf(title), ...cells.map((row) => widthOf(row[i]!))));
  const tooMuch = widths.reduce((sum, one) => sum + one + GAP, -GAP) - width;
  if (tooMuch <= 0) return plainTable([head, ...cells]);
  const widest = widths.indexOf(Math.max(...widths));
  const left = widths[widest]! - tooMuch;
  if (left < LEAST_COLUMN) return blocks(head, cells, width);
  return plainTable([head, ...cells.map((row) => row.map((text, i) => (i === widest ? chop(text, left) : text)))]);
}

/** A block of lines for each row: the title and the cell. */
function blocks(head: readonly string[], rows: readonly (readonly string[])[], width: number): string {
  const left = Math.max(1, width - Math.max(...head.map(widthOf)) - GAP);
  const block = (row: readonly string[]): readonly (readonly string[])[] =>
    row.flatMap((text, i) => (text === '' ? [] : [[head[i]!, chop(text, left)]]));
  return rows.map((row) => plainTable(block(row))).join('\n\n');
}

/** @param rows - cells, which may have several lines */
function plainTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  const cells = rows.flatMap(linesOf).map((row) => row.map((text) => ({ text, width: widthOf(text) })));
  for (const row of cells) for (const [i, { width }] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width);
  const pad = ({ text, width }: { text: string; width: number }, i: number): string =>
    text + ' '.repeat(widths[i]! - width + GAP);
  return cells.map((row) => row.map(pad).join('').trimEnd()).join('\n');
}

/** The lines of a row: as many as its highest cell has. */
function linesOf(row: readonly string[]): readonly (readonly string[])[] {
  const cells = row.map((text) => text.split('\n'));
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) => cells.map((cell) => cell[line] ?? ''));
}

/** A longer name is cut in the middle: one such name must not push all that matters off the screen. `--json` has all. */
const MAX_NAME = 26;
const MAX_PROCESS = 24;

/** Since when somebody has waited for an object, in ms since 1970; `undefined`: not known. */
export type WaitedSince = (report: ObjectReport) => number | undefined;

/** As the processes that wait have said. */
export const toldSince: WaitedSince = ({ waiting }) => waiting?.[0]?.since;

/** What is in trouble first, then what has been waited for longest, and most, then by name. */
export function troubleFirst(reports: readonly ObjectReport[], waitedSince = toldSince): readonly ObjectReport[] {
  const isTrouble = ({ verdict: { kind } }: ObjectReport): number => Number(kind !== 'free' && kind !== 'held');
  const since = (report: ObjectReport): number => waitedSince(report) ?? Number.MAX_VALUE;
  return [...reports].sort(
    (a, b) => isTrouble(b) - isTrouble(a) || since(a) - since(b) || b.waiters - a.waiters || (a.name < b.name ? -1 : 1),
  );
}

/**
 * The table of `list` and `top`: the head, and a line for each object. What a person asks first stands first: the name,
 * what is wrong, who has it, who waits. Ids come last, and are what a narrow terminal cuts off.
 */
export function objectTable(
  reports: readonly ObjectReport[],
  width = stdoutWidth(),
  waitedSince: WaitedSince = toldSince,
): string {
  const columns: readonly Column<ObjectReport>[] = [
    ['NAME', ({ name }) => cutMiddle(oneLine(name), MAX_NAME)],
    ['VERDICT', ({ verdict }) => verdict.kind],
    ['PROCESS', ({ holders }) => cutMiddle(oneLine(firstAndMore(holders.map(processText))), MAX_PROCESS)],
    ['WAITERS', (report) => waitersText(report, waitedSince(report))],
    ['TTL', ({ ttlMs }) => ttlText(ttlMs)],
    ['KIND', kindText],
    ['HOLDS', holdsText],
    ['OWNER', ({ holders }) => firstAndMore(holders.map(({ owner }) => owner))],
  ];
  return table(columns, reports)
    .split('\n')
    .map((line) => fit(line, width))
    .join('\n');
}

/** How many wait, and the longest of them for how long. */
export function waitersText(report: ObjectReport, since: number | undefined): string {
  const waiters = waitersOf(report);
  return waiters === 0 || since === undefined ? String(waiters) : `${waiters} for ${sinceText(since)}`;
}

/** How long something has been so. @param since - in ms since 1970 */
export function sinceText(since: number): string {
  return readableTime(Math.max(0, Date.now() - since));
}

/** Kinds whose names are for programs. */
const SPOKEN: Partial<Record<ObjectReport['kind'], string>> = {
  permitExpirableSemaphore: 'permits',
  countDownLatch: 'latch',
};

/** The kind, for people. */
export function kindText({ kind, mode }: ObjectReport): string {
  return kind === 'readWrite' ? `${mode} lock` : (SPOKEN[kind] ?? kind);
}

/** Whose process it is: host and process id, as far as that can be known. */
export function processText({ process: { host, pid, connected, java, unknownBecause } }: OwnerReport): string {
  if (unknownBecause === 'detached') return 'none';
  const where = host === undefined ? '' : `${host}/${pid}`;
  if (connected === false) return where === '' ? 'gone' : `${where}, gone`;
  return where === '' ? (java ? 'Java?' : '?') : where;
}

function firstAndMore([first, ...others]: readonly string[]): string {
  if (first === undefined) return '-';
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

/** The time until a key expires. */
export function ttlText(ttlMs: number): string {
  return ttlMs === -1 ? 'none' : ttlMs < 0 ? '-' : readableTime(ttlMs);
}

/** What is left of a lease or a place, for people. */
export function remainingText(ms: number | null): string {
  return ms === null ? 'no limit' : ms < 0 ? 'over' : readableTime(ms);
}

function holdsText({ kind, holders, value, acquired }: ObjectReport): string {
  if (kind === 'permitExpirableSemaphore') return `${acquired} out, ${value} left`;
  if (kind === 'semaphore') return `${value} left`;
  if (kind === 'countDownLatch') return `${value} to go`;
  return String(holders.reduce((sum, { holdCount }) => sum + holdCount, 0));
}
