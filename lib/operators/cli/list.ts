import { ExitCode } from './exit';
import { inspecting, printJson, type ReportOptions } from './inspecting';
import { print, say } from './output';
import { objectTable, troubleFirst } from './tables';

/** `ioredisson list`. @returns the exit code */
export async function list(pattern: string | undefined, options: ReportOptions): Promise<number> {
  const reports = await inspecting(options, (inspector) => inspector.list(pattern));
  if (options.json === true) await printJson(reports);
  else if (reports.length > 0) await print(`${objectTable(troubleFirst(reports))}\n`);
  // On stderr: a program that reads the table finds no line in it that is none.
  else say(pattern === undefined ? 'no locks' : `no locks match '${pattern}'`);
  return ExitCode.ok;
}
