import { PermitNotFoundError, Redisson, UnsupportedOperationError } from '../../index';
import {
  adviceOf,
  ALL_KINDS,
  applyRemedy,
  given,
  inTime,
  readableTime,
  type Remedy,
  RUNBOOK,
  runbookOf,
} from '../doctor';
import { type HealthReport, type HolderReport, Inspector, type ObjectReport, type OwnerReport } from '../inspection';
import { type ClientOptions, readClientOptions } from './clientOptions';
import { ExitCode, Failure } from './exit';
import { stdoutWidth, wrap } from './fit';
import { CLEANUP_MS, oneLine, print, printJson, say } from './output';
import {
  type Column,
  kindText,
  objectTable,
  processText,
  remainingText,
  sinceText,
  table,
  troubleFirst,
  ttlText,
  waitersText,
} from './tables';

/** Options of the commands that print a report. */
export interface ReportOptions extends ClientOptions {
  readonly json?: true;
  readonly expectWaits?: readonly string[];
}

/** The options of `permits`. */
export interface PermitsOptions extends ReportOptions {
  readonly add?: number;
  readonly release?: string;
  readonly force?: true;
}

/** The options of `latch`. */
export interface LatchOptions extends ReportOptions {
  readonly open?: true;
  readonly force?: true;
}

/** The options of `unlock`. */
export interface UnlockOptions extends ReportOptions {
  readonly force?: true;
}

/** `ioredisson list`. @returns the exit code */
export async function list(pattern: string | undefined, options: ReportOptions): Promise<number> {
  const reports = await inspecting(options, (inspector) => inspector.list(pattern));
  if (options.json === true) await printJson(reports);
  else if (reports.length > 0) await print(`${objectTable(troubleFirst(reports))}\n`);
  // On stderr: programs that parse the table find only its rows on stdout.
  else say(pattern === undefined ? 'no locks' : `no locks match '${pattern}'`);
  return ExitCode.ok;
}

/** `ioredisson inspect`. @returns the exit code */
export async function inspect(name: string, options: ReportOptions): Promise<number> {
  return show(await inspecting(options, (inspector) => inspector.inspect(name)), options);
}

async function show(report: ObjectReport, options: ReportOptions): Promise<number> {
  if (options.json === true) await printJson(report);
  else await print(`${paragraphs(report).join('\n\n')}\n`);
  if (report.kind === 'other') {
    throw new Failure(`the key '${report.key}' holds data that are no lock or synchronizer`, ExitCode.data);
  }
  return report.kind === 'none' ? ExitCode.no : ExitCode.ok;
}

/** `ioredisson permits`. @returns the exit code */
export function permits(name: string, options: PermitsOptions): Promise<number> {
  const { add, release } = options;
  if (release !== undefined) return remedied(name, options, { action: 'releasePermit', id: release });
  return remedied(name, options, add === undefined ? undefined : { action: 'addPermits', permits: add });
}

/** `ioredisson latch`. @returns the exit code */
export function latch(name: string, options: LatchOptions): Promise<number> {
  return remedied(name, options, options.open === true ? { action: 'openLatch' } : undefined);
}

/** @param remedy - `undefined`: only show the object */
async function remedied(name: string, options: ReportOptions, remedy: Remedy | undefined): Promise<number> {
  const before = await inspecting(options, (inspector) => inspector.inspect(name));
  if (remedy === undefined) return show(before, options);
  const client = Redisson.create(await readClientOptions(options));
  let changed: boolean;
  try {
    changed = await applyRemedy(client, before, remedy);
  } catch (error) {
    if (error instanceof PermitNotFoundError) throw new Failure(error.message, ExitCode.no);
    if (!(error instanceof UnsupportedOperationError)) throw error;
    const other = holdsOwners(before) ? `: ioredisson unlock --force takes it from its holder` : '';
    throw new Failure(
      `'${name}' is a ${kindText(before)}, which has no ${REMEDIES[remedy.action]}${other}`,
      ExitCode.data,
    );
  } finally {
    await inTime(client.shutdown(), CLEANUP_MS);
  }
  const after = await inspecting(options, (inspector) => inspector.inspect(name));
  const { kind, value } = after;
  if (options.json === true) await printJson(given({ name, ...remedy, changed, kind, value }));
  else if (!changed) await print(`${oneLine(`'${name}' was open`)}\n`);
  else await print(`${oneLine(`${outcomeOf(name, remedy)}; ${after.verdict.sentence}`)}\n`);
  return changed ? ExitCode.ok : ExitCode.no;
}

/** What an object of another kind does not have. */
const REMEDIES = { addPermits: 'permits', releasePermit: 'permits with an id', openLatch: 'count' } as const;

function outcomeOf(name: string, remedy: Remedy): string {
  switch (remedy.action) {
    case 'addPermits':
      return `'${name}' has got ${remedy.permits} more ${remedy.permits === 1 ? 'permit' : 'permits'}`;
    case 'releasePermit':
      return `'${name}' has got its permit ${remedy.id} back`;
    case 'openLatch':
      return `'${name}' is open`;
  }
}

function holdsOwners({ kind }: ObjectReport): boolean {
  return ALL_KINDS.some(({ report, data }) => report === kind && data !== 'number');
}

/** `ioredisson unlock`. @returns the exit code */
export async function unlock(name: string, options: UnlockOptions): Promise<number> {
  const [report, { released, takenFrom }] = await inspecting(options, async (inspector) => {
    const seen = await inspector.inspect(name);
    return [seen, await inspector.releaseFrom(name).catch((error: unknown) => fail(seen, error))] as const;
  });
  if (options.json === true) {
    // Holders that came after the inspection are missing here.
    const holders = report.holders.filter(({ owner }) => takenFrom.includes(owner));
    await printJson({ name, kind: report.kind, released, holders, takenFrom });
  } else {
    const outcome = released
      ? `'${name}' (${kindText(report)}) is released; it was taken from ${takenFromText(report, takenFrom)}`
      : `'${name}' is not locked`;
    await print(`${oneLine(outcome)}\n`);
  }
  return released ? ExitCode.ok : ExitCode.no;
}

/** The processes that it was taken from, each with its owner on the wire. */
function takenFromText({ holders }: ObjectReport, takenFrom: readonly string[]): string {
  const texts = takenFrom.map((owner) => {
    const holder = holders.find((one) => one.owner === owner);
    return holder?.process.host === undefined ? owner : `${processText(holder)} (${owner})`;
  });
  return texts.join(', ');
}

function fail({ name, kind }: ObjectReport, error: unknown): never {
  if (!(error instanceof UnsupportedOperationError)) throw error;
  const what = kind === 'other' ? 'holds data of another type' : `is a ${kind}, and has no owner to take it from`;
  throw new Failure(`'${name}' is not a lock: it ${what}`, ExitCode.data);
}

/**
 * Connects, calls `act`, and disconnects even if `act` fails. On stderr it says what is wrong with Redis, also if `act`
 * fails.
 */
async function inspecting<T>(options: ReportOptions, act: (inspector: Inspector) => Promise<T>): Promise<T> {
  const { expectWaits = [] } = options;
  const inspector = Inspector.open(await readClientOptions(options), { expectedWaits: expectWaits });
  const asked = inspector.health().catch(() => undefined);
  try {
    const result = await act(inspector);
    // What is hidden is known now.
    await sayHealth(inspector.health().catch(() => undefined));
    return result;
  } catch (error) {
    await sayHealth(asked);
    throw error;
  } finally {
    await inTime(inspector.close(), CLEANUP_MS);
  }
}

/** How long a command that is done waits for what a server says of itself, in ms. */
const HEALTH_MS = 5_000;

async function sayHealth(asked: Promise<HealthReport | undefined>): Promise<void> {
  const { refuses, denied } = (await inTime(asked, HEALTH_MS))?.value ?? {};
  if (refuses !== undefined) say(refuses);
  if (denied !== undefined) say(denied);
}

/** The report as paragraphs of text. */
function paragraphs(report: ObjectReport): string[] {
  const { circle } = report.verdict;
  // A holder of one part of a group that waits for another part names the same group twice.
  const same = circle?.length === 1 ? 'itself' : 'other values of it';
  return [
    facts(report),
    section('Held by', report.holders, [
      ['PROCESS', processText],
      ['HELD FOR', ({ hold }) => (hold === undefined ? '?' : sinceText(hold.since))],
      ['KEPT BY', keptText],
      ['HOLDS', ({ holdCount }) => String(holdCount)],
      ['LEASES', leasesText],
      ['CONNECTED', connectionText],
      ['CLIENT', clientText],
      ['OWNER', ({ owner }) => owner],
    ]),
    section('Waiting', report.waiting, [
      ['PROCESS', ({ host, pid }) => `${host}/${pid}`],
      ['CALLERS', ({ callers }) => String(callers)],
      ['FOR', ({ since }) => sinceText(since)],
      ['AT', ({ callSite = '' }) => callSite],
    ]),
    section('Dead-lock', circle, [
      ['LOCK', ({ name }) => name],
      ['HELD BY', ({ host, pid }) => `${host}/${pid}`],
      ['WAITS FOR', ({ name, waitsFor }) => (waitsFor === name ? same : waitsFor)],
      ['FOR', ({ since }) => sinceText(since)],
      ['AT', ({ callSite = '' }) => callSite],
    ]),
    section('Queue', report.queue, [
      ['NO', (_waiter, i) => String(i + 1)],
      ['PROCESS', processText],
      ['PLACE KEPT FOR', ({ remainingMs }) => remainingText(remainingMs)],
      ['LISTENS', ({ listening }) => (listening ? 'yes' : 'no')],
      ['CLIENT', clientText],
      ['OWNER', ({ owner }) => owner],
    ]),
    section('Permits', report.permits, [
      ['ID', ({ id }) => id],
      ['LEASE', ({ remainingMs }) => remainingText(remainingMs)],
    ]),
    section('Channels', report.channels, [
      ['CHANNEL', ({ name }) => name],
      ['SUBSCRIBERS', ({ subscribers }) => String(subscribers)],
    ]),
  ].filter((paragraph) => paragraph !== '');
}

function facts(report: ObjectReport): string {
  const { name, key, kind, verdict, heldSince, holders, ttlMs, token, value, acquired } = report;
  const waits = holders.map(({ waitsFor }) => waitsFor && `${waitsFor.name}, for ${sinceText(waitsFor.since)}`);
  const lines = given({
    Verdict: `${verdict.kind}. ${verdict.sentence}`,
    'What to do': whatToDo(report),
    Name: name,
    Key: key === name ? undefined : key,
    Kind: kind === 'number' ? 'a number (semaphore, latch or counter)' : kindText(report),
    State: stateOf(report),
    'Held for': heldSince === undefined ? undefined : sinceText(heldSince),
    'Taken at': listed(holders.map(({ hold }) => hold?.callSite)),
    'Waits for': listed(waits),
    TTL: kind === 'none' ? undefined : ttlText(ttlMs),
    Token: token,
    Value: value?.toString(),
    'Permits out': acquired?.toString(),
    Waiters: kind === 'none' ? undefined : waitersText(report),
  });
  return Object.entries<string>(lines)
    .map(([what, text]) => wrap(`${what}:`.padEnd(INDENT) + oneLine(text), stdoutWidth(), INDENT))
    .join('\n');
}

/** Column in which the values of the facts begin. */
const INDENT = 13;

/** Each text once, separated by commas; `undefined` if there is no text. */
function listed(texts: readonly (string | undefined)[]): string | undefined {
  const found = [...new Set(texts)].filter((text) => text !== undefined);
  return found.length === 0 ? undefined : found.join(', ');
}

/** How the hold is kept, as its process reports it. */
function keptText({ hold, silent }: HolderReport): string {
  if (hold === undefined) return silent === true ? 'does not answer' : '?';
  const { leaseMs, renewals } = hold;
  if (leaseMs === null) return 'no lease';
  return leaseMs === -1
    ? `watchdog, ${renewals} ${renewals === 1 ? 'time' : 'times'}`
    : `a lease of ${remainingText(leaseMs)}`;
}

/** The kind of client, as far as it is known. */
function clientText({ client, process }: OwnerReport): string {
  if (process.unknownBecause === 'detached') return 'none: detached';
  return client === 'node' ? 'Node' : 'Java, or an explicit thread id';
}

/** For how long the process has been connected, and from where. */
function connectionText({ process: { address, connected, connectedForMs } }: OwnerReport): string {
  if (connected === 'unknown') return 'unknown';
  if (!connected) return 'no';
  // The holder of a permit has answered, so it is connected. Which connections it has is not read.
  return address === undefined ? 'yes' : `for ${readableTime(connectedForMs ?? 0)}, from ${address}`;
}

/** The leases of a holder's holds. */
function leasesText({ leasesMs }: HolderReport): string {
  return leasesMs?.map((ms) => (ms === -1 ? 'none' : ms < 0 ? 'over' : readableTime(ms))).join(', ') ?? '';
}

function whatToDo(report: ObjectReport): string {
  const { verdict } = report;
  const advice = adviceOf(report, verdict.kind, verdict.circle);
  return advice === '' ? 'Nothing.' : `${advice} ${RUNBOOK}${runbookOf(report, verdict.kind)}`;
}

function stateOf(report: ObjectReport): string | undefined {
  const { kind, holders } = report;
  if (kind === 'none') return 'nothing is held by that name';
  if (!holdsOwners(report)) return undefined;
  return holders.length > 0 ? 'held' : 'free';
}

/** A title, and a table with a line for each thing; empty without things. */
function section<T>(title: string, things: readonly T[] = [], columns: readonly Column<T>[]): string {
  if (things.length === 0) return '';
  const lines = table(columns, things, stdoutWidth() - 2).split('\n');
  return [title, ...lines.map((line) => `  ${line}`.trimEnd())].join('\n');
}
