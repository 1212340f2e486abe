import { adviceOf, RUNBOOK } from '../doctor';
import type { ObjectReport } from '../inspection';
import { ExitCode, Failure } from './exit';
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
  table,
  ttlText,
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
      one.owner,
      clientText(one),
      processText(one),
      connectionText(one),
      String(one.holdCount),
      leasesText(one),
    ]);
    parts.push(titled('Held by', ['OWNER', 'CLIENT', 'PROCESS', 'CONNECTED', 'HOLDS', 'LEASES'], rows));
  }
  if (waiting.length > 0) {
    const rows = waiting.map(({ host, pid, callers, since, callSite = '' }) => [
      `${host} ${pid}`,
      String(callers),
      remainingText(Date.now() - since),
      callSite,
    ]);
    parts.push(titled('Waiting', ['PROCESS', 'CALLERS', 'FOR', 'AT'], rows));
  }
  if (verdict.circle !== undefined) {
    const rows = verdict.circle.map(({ name, host, pid, waitsFor, since, callSite = '' }) => [
      name,
      `${host} ${pid}`,
      waitsFor,
      remainingText(Date.now() - since),
      callSite,
    ]);
    parts.push(titled('Dead-lock', ['LOCK', 'HELD BY', 'WAITS FOR', 'SINCE', 'AT'], rows));
  }
  if (queue.length > 0) {
    const rows = queue.map((one, i) => [
      String(i + 1),
      one.owner,
      clientText(one),
      processText(one),
      remainingText(one.remainingMs),
      listeningText(one),
    ]);
    parts.push(titled('Queue', ['', 'OWNER', 'CLIENT', 'PROCESS', 'PLACE KEPT FOR', 'LISTENS'], rows));
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
    ['Held for', report.heldSince === undefined ? undefined : remainingText(Date.now() - report.heldSince)],
    ['TTL', report.kind === 'none' ? undefined : ttlText(report.ttlMs)],
    ['Token', report.token],
    ['Value', report.value?.toString()],
    ['Permits out', report.acquired?.toString()],
    ['Waiters', report.kind === 'none' ? undefined : String(report.waiters)],
  ];
  return lines
    .filter((line): line is readonly [string, string] => line[1] !== undefined)
    .map(([what, value]) => `${`${what}:`.padEnd(13)}${oneLine(value)}`)
    .join('\n');
}

function whatToDo({ verdict, waiters }: ObjectReport): string | undefined {
  const advice = adviceOf(verdict.kind, waiters > 0);
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
  const lines = table(head, rows).split('\n');
  return [title, ...lines.map((line) => `  ${line}`)].join('\n');
}
