import { Redisson, type RLock } from '../index';
import type { ObjectReport } from '../inspection';
import { lockToRelease } from '../doctor';
import { readClientOptions } from './clientOptions';
import { ExitCode, Failure } from './exit';
import { inspecting, printJson, type ReportOptions } from './inspecting';
import { CLEANUP_MS, oneLine, print, within } from './output';
import { kindText } from './tables';

/** The options of `unlock`. */
export interface UnlockOptions extends ReportOptions {
  readonly force?: true;
}

/** `ioredisson unlock`. @returns the exit code */
export async function unlock(name: string, options: UnlockOptions): Promise<number> {
  const report = await inspecting(options, (inspector) => inspector.inspect(name));
  const client = Redisson.create(await readClientOptions(options));
  let released: boolean;
  try {
    released = await lockOf(client, report).forceUnlock();
  } finally {
    await within(client.shutdown(), CLEANUP_MS);
  }
  const holders = released ? report.holders : [];
  if (options.json === true) await printJson({ name, kind: report.kind, released, holders });
  else await print(`${oneLine(outcome(report, released))}\n`);
  return released ? ExitCode.ok : ExitCode.no;
}

function lockOf(client: Redisson, report: ObjectReport): RLock {
  const lock = lockToRelease(client, report);
  if (lock !== undefined) return lock;
  const { name, kind } = report;
  const what = kind === 'other' ? 'holds data of another type' : `a ${kind}: there is no owner to take it from`;
  throw new Failure(`'${name}' is no lock, but ${what}`, ExitCode.data);
}

function outcome(report: ObjectReport, released: boolean): string {
  if (!released) return `'${report.name}' is not locked`;
  const owners = report.holders.map(({ owner }) => owner).join(', ');
  return `'${report.name}' (${kindText(report)}) is released; it was held by ${owners || 'somebody who came just now'}`;
}
