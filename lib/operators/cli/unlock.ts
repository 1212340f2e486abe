import { UnsupportedOperationError } from '../../index';
import type { ForcedUnlock, ObjectReport } from '../inspection';
import { ExitCode, Failure } from './exit';
import { inspecting, printJson, type ReportOptions } from './inspecting';
import { oneLine, print } from './output';
import { kindText } from './tables';

/** The options of `unlock`. */
export interface UnlockOptions extends ReportOptions {
  readonly force?: true;
}

/** `ioredisson unlock`. @returns the exit code */
export async function unlock(name: string, options: UnlockOptions): Promise<number> {
  const [report, { released, takenFrom }] = await inspecting(options, async (inspector) => {
    const seen = await inspector.inspect(name);
    return [seen, await inspector.releaseFrom(name).catch((error: unknown) => fail(seen, error))] as const;
  });
  if (options.json === true) {
    // Who came after the look is not in it.
    const holders = report.holders.filter(({ owner }) => takenFrom.includes(owner));
    await printJson({ name, kind: report.kind, released, holders, takenFrom });
  } else await print(`${oneLine(outcome(report, { released, takenFrom }))}\n`);
  return released ? ExitCode.ok : ExitCode.no;
}

function fail({ name, kind }: ObjectReport, error: unknown): never {
  if (!(error instanceof UnsupportedOperationError)) throw error;
  const what = kind === 'other' ? 'holds data of another type' : `a ${kind}: there is no owner to take it from`;
  throw new Failure(`'${name}' is no lock, but ${what}`, ExitCode.data);
}

function outcome(report: ObjectReport, { released, takenFrom }: Pick<ForcedUnlock, 'released' | 'takenFrom'>): string {
  if (!released) return `'${report.name}' is not locked`;
  return `'${report.name}' (${kindText(report)}) is released; it was taken from ${takenFrom.join(', ')}`;
}
