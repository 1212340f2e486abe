import { Redisson } from '../index';
import type { ObjectReport } from '../inspection';
import { readClientOptions } from './clientOptions';
import { ExitCode, Failure } from './exit';
import { inspecting, printJson, type ReportOptions } from './inspecting';
import { type LockKind, lockOfKind } from './lockKinds';
import { CLEANUP_MS, oneLine, print, within } from './output';
import { kindText } from './tables';

/** The options of `unlock`. */
export interface UnlockOptions extends ReportOptions {
  readonly force?: true;
}

/** `ioredisson unlock`. @returns the exit code */
export async function unlock(name: string, options: UnlockOptions): Promise<number> {
  const report = await inspecting(options, (inspector) => inspector.inspect(name));
  const kind = lockKindOf(report);
  const client = Redisson.create(readClientOptions(options));
  let released: boolean;
  try {
    released = await lockOfKind(client, kind, name).forceUnlock();
  } finally {
    await within(client.shutdown(), CLEANUP_MS);
  }
  const holders = released ? report.holders : [];
  if (options.json === true) await printJson({ name, kind: report.kind, released, holders });
  else await print(`${oneLine(outcome(report, released))}\n`);
  return released ? ExitCode.ok : ExitCode.no;
}

/** The lock that releases an object of that kind, and wakes those who wait for it. */
function lockKindOf({ name, kind, mode }: ObjectReport): LockKind {
  switch (kind) {
    case 'lock':
    case 'fair':
    case 'fenced':
      return kind;
    case 'none':
    // Deletes the key and calls the same channel, which frees all values.
    case 'group':
      return 'lock';
    case 'readWrite':
      return mode ?? 'write';
    case 'other':
      throw new Failure(`'${name}' is no lock, but holds data of another type`, ExitCode.data);
    case 'semaphore':
    case 'permitExpirableSemaphore':
    case 'countDownLatch':
    case 'number':
      throw new Failure(`'${name}' is no lock, but a ${kind}: there is no owner to take it from`, ExitCode.data);
  }
}

function outcome(report: ObjectReport, released: boolean): string {
  if (!released) return `'${report.name}' is not locked`;
  const owners = report.holders.map(({ owner }) => owner).join(', ');
  return `'${report.name}' (${kindText(report)}) is released; it was held by ${owners || 'somebody who came just now'}`;
}
