import { examine, type Finding, type FindingStatus } from '../doctor';
import { readClientOptions } from './clientOptions';
import { ExitCode } from './exit';
import { printJson, type ReportOptions } from './inspecting';
import { oneLine, print } from './output';

const LABELS: Readonly<Record<FindingStatus, string>> = {
  ok: 'ok      ',
  warning: 'WARNING ',
  error: 'ERROR   ',
  unknown: 'UNKNOWN ',
};

/** `ioredisson doctor`. @returns the exit code: 0 fine, 1 warnings or what could not be checked, 2 errors */
export async function doctor(name: string | undefined, options: ReportOptions): Promise<number> {
  const findings = await examine(await readClientOptions(options), name);
  if (options.json === true) await printJson(findings);
  else await print(`${findings.map(lines).join('\n')}\n`);
  if (findings.some(({ status }) => status === 'error')) return ExitCode.errors;
  return findings.every(({ status }) => status === 'ok') ? ExitCode.ok : ExitCode.no;
}

function lines({ check, status, server, found, why, advice }: Finding): string {
  const where = server === '-' ? '' : `${server}: `;
  const head = `${LABELS[status]}${check.padEnd(12)}${oneLine(where + found)}`;
  // What was not looked at, since Redis does not answer, has an advice of its own: the first line.
  if (status === 'ok' || advice === '') return head;
  return [head, `          why: ${why}`, `          do:  ${oneLine(advice)}`].join('\n');
}
