import { type ObjectReport, type OwnerReport, waitersOf } from '../inspection';
import { chop, cutMiddle, fit, stdoutWidth, widthOf } from './fit';
import { oneLine } from './output';
import { levelOf, LEVELS, readableTime } from '../doctor';

/** Spaces between two columns. */
const GAP = 2;
/** Minimum width, in characters, to which a column is narrowed so that a table fits the terminal. */
const LEAST_COLUMN = 24;

/** A column of a table: its title, and the text of a thing's cell in it. */
export type Column<T> = readonly [title: string, cell: (thing: T, index: number) => string];

/**
 * A table without a frame, one row for each thing. If it is too wide, the text in its widest column wraps. If that
 * column would become too narrow, each row becomes a block with a line for each cell. No text is lost.
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

/** A block for each row: one line with title and text for each cell. */
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

/** Splits a row into lines: as many as its tallest cell has. */
function linesOf(row: readonly string[]): readonly (readonly string[])[] {
  const cells = row.map((text) => text.split('\n'));
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) => cells.map((cell) => cell[line] ?? ''));
}

/**
 * Names longer than this, in columns, are cut in the middle: one name must not push the other columns off the screen.
 * `--json` prints full names.
 */
const MAX_NAME = 26;
const MAX_PROCESS = 24;

/** A wait seen for less than this, in ms, may have begun long ago: it has no time yet. */
const SEEN_MS = 1_000;

/** When the longest wait for an object began, in ms since 1970: as its process reports it, else as it was seen. */
function waitedSinceOf({ waiting, waitedSince }: ObjectReport): number | undefined {
  if (waiting?.[0] !== undefined || waitedSince === undefined) return waitedSince;
  return Date.now() - waitedSince >= SEEN_MS ? waitedSince : undefined;
}

/** Sorts by trouble, then by longest wait, then by most waiters, then by name. */
export function troubleFirst(reports: readonly ObjectReport[]): readonly ObjectReport[] {
  const level = ({ verdict }: ObjectReport): number => LEVELS.indexOf(levelOf(verdict));
  const since = (report: ObjectReport): number => waitedSinceOf(report) ?? Number.MAX_VALUE;
  return [...reports].sort(
    (a, b) => level(a) - level(b) || since(a) - since(b) || b.waiters - a.waiters || (a.name < b.name ? -1 : 1),
  );
}

/**
 * The table of `list` and `top`: a header, and a row for each object. The columns that people ask for first come
 * first: name, verdict, holder, waiters. Ids come last, where a narrow terminal cuts them off.
 */
export function objectTable(reports: readonly ObjectReport[], width = stdoutWidth()): string {
  const columns: readonly Column<ObjectReport>[] = [
    ['NAME', ({ name }) => cutMiddle(oneLine(name), MAX_NAME)],
    ['VERDICT', ({ verdict }) => (verdict.amber === true ? `${verdict.kind}, long wait` : verdict.kind)],
    ['PROCESS', ({ holders }) => cutMiddle(oneLine(firstAndMore(holders.map(processText))), MAX_PROCESS)],
    ['WAITERS', waitersText],
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

/** The number of waiters, and how long the longest wait has lasted. */
export function waitersText(report: ObjectReport): string {
  const waiters = waitersOf(report);
  const since = waitedSinceOf(report);
  return waiters === 0 || since === undefined ? String(waiters) : `${waiters} for ${sinceText(since)}`;
}

/** The time that has passed since a moment, for people. @param since - in ms since 1970 */
export function sinceText(since: number): string {
  return readableTime(Math.max(0, Date.now() - since));
}

/** Readable names for the kinds whose own names suit only programs. */
const SPOKEN: Partial<Record<ObjectReport['kind'], string>> = {
  permitExpirableSemaphore: 'permits',
  countDownLatch: 'latch',
};

/** The kind, for people. */
export function kindText({ kind, mode }: ObjectReport): string {
  return kind === 'readWrite' ? `${mode} lock` : (SPOKEN[kind] ?? kind);
}

/** The process of an owner: host and process id, as far as they are known. */
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

/** The remaining time of a lease or of a place in a queue, for people. */
export function remainingText(ms: number | null): string {
  return ms === null ? 'no limit' : ms < 0 ? 'over' : readableTime(ms);
}

function holdsText({ kind, holders, value, acquired }: ObjectReport): string {
  if (kind === 'permitExpirableSemaphore') return `${acquired} out, ${value} left`;
  if (kind === 'semaphore') return `${value} left`;
  if (kind === 'countDownLatch') return `${value} to go`;
  return String(holders.reduce((sum, { holdCount }) => sum + holdCount, 0));
}
