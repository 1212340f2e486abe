import { examine, type Finding, groupBy } from '../doctor';
import { readClientOptions } from './clientOptions';
import { ExitCode } from './exit';
import { stdoutWidth, wrap } from './fit';
import type { ReportOptions } from './inspect';
import { oneLine, print, printJson } from './output';

/** `ioredisson doctor`. @returns the exit code: 0 fine, 1 warnings or checks that could not run, 2 errors */
export async function doctor(name: string | undefined, options: ReportOptions): Promise<number> {
  const findings = await examine(await readClientOptions(options), name);
  if (options.json === true) await printJson(findings);
  else await print(`${screen(findings)}\n`);
  if (findings.some(({ status }) => status === 'error')) return ExitCode.errors;
  return findings.every(({ status }) => status === 'ok') ? ExitCode.ok : ExitCode.no;
}

/**
 * The report, on one screen: equal findings of several servers share a line, and so do skipped checks. No advice is
 * repeated.
 */
function screen(findings: readonly Finding[], width = stdoutWidth()): string {
  const said = new Set<string>();
  const lines: string[] = [];
  const say = (text: string, indent: number): unknown => lines.push(wrap(text, width, indent));
  for (const group of grouped(findings)) {
    const [{ check, status, found, why, advice }] = group;
    const places = group.map(({ server }) => server).filter((server) => server !== '-');
    const where = places.length === 0 ? '' : `${places.join(', ')}: `;
    const label = status === 'ok' ? status : status.toUpperCase();
    say(`${label.padEnd(8)}${check.padEnd(12)}${oneLine(where + found)}`, 20);
    if (status === 'ok' || advice === '') continue;
    say(`          why: ${why}`, 15);
    // Several checks may find the same cause: print its advice once.
    say(`          do:  ${said.has(advice) ? 'as above' : oneLine(advice)}`, 15);
    said.add(advice);
  }
  const skipped = findings.filter(isSkipped);
  if (skipped.length > 0) {
    const checks = [...new Set(skipped.map(({ check }) => check))].join(', ');
    const places = [...new Set(skipped.map(({ server }) => server))].filter((server) => server !== '-').join(', ');
    say(`UNKNOWN ${places === '' ? '' : `${places}: `}${checks}: ${skipped[0]!.found}`, 8);
  }
  return lines.join('\n');
}

/** Whether the check was skipped because the server does not answer. Such a finding has no advice of its own. */
function isSkipped({ status, advice, found }: Finding): boolean {
  return status === 'unknown' && advice === '' && found.startsWith('not checked');
}

function grouped(findings: readonly Finding[]): readonly (readonly [Finding, ...Finding[]])[] {
  const keyOf = ({ check, status, found, advice }: Finding): string => {
    // Round-trip times always differ a little: ignore them.
    const what = status === 'ok' ? found.replace(/[\d.]+ ms/, 'ms') : found;
    return JSON.stringify([check, status, what, advice]);
  };
  const told = findings.filter((finding) => !isSkipped(finding));
  return [...groupBy(told, keyOf).values()] as [Finding, ...Finding[]][];
}
