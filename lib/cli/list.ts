import { ExitCode } from './exit';
import { inspecting, printJson, type ReportOptions } from './inspecting';
import { print } from './output';
import { objectTable } from './tables';

/** `ioredisson list`. @returns the exit code */
export async function list(pattern: string | undefined, options: ReportOptions): Promise<number> {
  const reports = await inspecting(options, (inspector) => inspector.list(pattern));
  if (options.json === true) await printJson(reports);
  else if (reports.length > 0) await print(`${objectTable(reports, process.stdout.columns)}\n`);
  return ExitCode.ok;
}
