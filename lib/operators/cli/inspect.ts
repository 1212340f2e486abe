import { adviceOf, RUNBOOK } from '../doctor';
import type { ObjectReport } from '../inspection';
import { ExitCode, Failure } from './exit';
import { stdoutWidth, wrap } from './fit';
import { inspecting, printJson, type ReportOptions } from './inspecting';
import { oneLine, print } from './output';
import {
  clientText,
  connectionText,
  kindText,
  leasesText,
  listeningText,
  processText,
  remainingText,
  sinceText,
  table,
  toldSince,
  ttlText,
  waitersText,
} from './tables';

/** `ioredisson inspect`. @returns the exit code */
export async function inspect(name: string, options: ReportOptions): Promise<number> {
  const report = await inspecting(options, (inspector) => inspector.inspect(name));
  const isOther = report.kind === 'other';
  if (options.json === true) await printJson(report);
  else if (!isOther) await print(`${paragraphs(report).join('\n\n')}\n`);
  if (isOther) throw new Failure(`the key '${report.key}' holds data that are no lock or synchronizer`, ExitCode.data);
  return report.kind === 'none' ? ExitCode.no : ExitCode.ok;
}

/** The object as text. */
function paragraphs(report: ObjectReport): string[] {
  const parts = [facts(report)];
  const { holders, queue = [], permits = [], channels, waiting = [], verdict } = report;
  if (holders.length > 0) {
    const rows = holders.map((one) => [
      processText(one),
      one.hold === undefined ? '?' : sinceText(one.hold.since),
      keptText(one),
      String(one.holdCount),
      leasesText(one),
      connectionText(one),
      clientText(one),
      one.owner,
    ]);
    const head = ['PROCESS', 'HELD FOR', 'KEPT BY', 'HOLDS', 'LEASES', 'CONNECTED', 'CLIENT', 'OWNER'];
    parts.push(titled('Held by', head, rows));
  }
  if (waiting.length > 0) {
    const rows = waiting.map(({ host, pid, callers, since, callSite = '' }) => [
      `${host}/${pid}`,
      String(callers),
      sinceText(since),
      callSite,
    ]);
    parts.push(titled('Waiting', ['PROCESS', 'CALLERS', 'FOR', 'AT'], rows));
  }
  if (verdict.circle !== undefined) {
    // Who has a part of a group, and waits for another part, names the same group twice.
    const same = verdict.circle.length === 1 ? 'itself' : 'other values of it';
    const rows = verdict.circle.map(({ name, host, pid, waitsFor, since, callSite = '' }) => [
      name,
      `${host}/${pid}`,
      waitsFor === name ? same : waitsFor,
      sinceText(since),
      callSite,
    ]);
    parts.push(titled('Dead-lock', ['LOCK', 'HELD BY', 'WAITS FOR', 'FOR', 'AT'], rows));
  }
  if (queue.length > 0) {
    const rows = queue.map((one, i) => [
      String(i + 1),
      processText(one),
      remainingText(one.remainingMs),
      listeningText(one),
      clientText(one),
      one.owner,
    ]);
    parts.push(titled('Queue', ['NO', 'PROCESS', 'PLACE KEPT FOR', 'LISTENS', 'CLIENT', 'OWNER'], rows));
  }
  if (permits.length > 0) {
    const rows = permits.map(({ id, remainingMs }) => [id, remainingText(remainingMs)]);
    parts.push(titled('Permits', ['ID', 'LEASE'], rows));
  }
  if (channels.length > 0) {
    const rows = channels.map(({ name, subscribers }) => [name, String(subscribers)]);
    parts.push(titled('Channels', ['CHANNEL', 'SUBSCRIBERS'], rows));
  }
  return parts;
}

function facts(report: ObjectReport): string {
  const lines: (readonly [string, string | undefined])[] = [
    ['Name', report.name],
    ['Key', report.key === report.name ? undefined : report.key],
    ['Kind', report.kind === 'number' ? 'a number (semaphore, latch or counter)' : kindText(report)],
    ['State', stateOf(report)],
    ['Verdict', `${report.verdict.kind}. ${report.verdict.sentence}`],
    ['What to do', whatToDo(report)],
    ['Held for', report.heldSince === undefined ? undefined : sinceText(report.heldSince)],
    ['Taken at', listed(report.holders.map(({ hold }) => hold?.callSite))],
    [
      'Waits for',
      listed(report.holders.map(({ waitsFor }) => waitsFor && `${waitsFor.name}, for ${sinceText(waitsFor.since)}`)),
    ],
    ['TTL', report.kind === 'none' ? undefined : ttlText(report.ttlMs)],
    ['Token', report.token],
    ['Value', report.value?.toString()],
    ['Permits out', report.acquired?.toString()],
    ['Waiters', report.kind === 'none' ? undefined : waitersText(report, toldSince(report))],
  ];
  return lines
    .filter((line): line is readonly [string, string] => line[1] !== undefined)
    .map(([what, value]) => wrap(`${what}:`.padEnd(INDENT) + oneLine(value), stdoutWidth(), INDENT))
    .join('\n');
}

/** Where the values of facts begin. */
const INDENT = 13;

/** Each of them once. */
function listed(texts: readonly (string | undefined)[]): string | undefined {
  const found = [...new Set(texts)].filter((text) => text !== undefined);
  return found.length === 0 ? undefined : found.join(', ');
}

/** What keeps it, as its process says. */
function keptText({ hold, silent }: ObjectReport['holders'][number]): string {
  if (hold === undefined) return silent === true ? 'does not answer' : '?';
  const { leaseMs, renewals } = hold;
  if (leaseMs === null) return 'no lease';
  return leaseMs === -1
    ? `watchdog, ${renewals} ${renewals === 1 ? 'time' : 'times'}`
    : `a lease of ${remainingText(leaseMs)}`;
}

function whatToDo({ verdict, waiters }: ObjectReport): string | undefined {
  const advice = adviceOf(verdict.kind, waiters > 0, verdict.circle);
  return advice === '' ? undefined : `${advice} ${RUNBOOK}#${verdict.kind}`;
}

function stateOf({ kind, holders }: ObjectReport): string | undefined {
  switch (kind) {
    case 'lock':
    case 'fair':
    case 'fenced':
    case 'readWrite':
    case 'group':
      return holders.length > 0 ? 'held' : 'free';
    case 'none':
      return 'nothing is held by that name';
    case 'semaphore':
    case 'permitExpirableSemaphore':
    case 'countDownLatch':
    case 'number':
    case 'other':
      return undefined;
  }
}

function titled(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = table(head, rows, stdoutWidth() - 2).split('\n');
  return [title, ...lines.map((line) => `  ${line}`.trimEnd())].join('\n');
}
