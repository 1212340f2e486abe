import type { Finding, Verdict } from './check/check';
import type { Event } from './history';

const MOST_SHOWN = 10;
const MOST_LINES = 60;

/** A verdict as a person reads it. */
export function describeVerdict(verdict: Verdict): string[] {
  const { kinds, faults, findings } = verdict;
  const lines = ['kind                             ok      fail   unknown      dead'];
  for (const [kind, { ok, fail, info, dead }] of [...kinds].sort(([a], [b]) => a.localeCompare(b))) {
    lines.push(`${kind.padEnd(25)}${[ok, fail, info, dead].map((count) => String(count).padStart(10)).join('')}`);
  }
  lines.push(
    `faults: ${[...faults]
      .sort()
      .map(([what, count]) => `${what} ${count}`)
      .join(', ')}`,
  );
  lines.push(`${verdict.operations} calls of ${verdict.names} names, ${verdict.losses} losses that were known`);
  for (const finding of findings.slice(0, MOST_SHOWN)) lines.push('', ...describeFinding(finding));
  if (findings.length > MOST_SHOWN) lines.push('', `and ${findings.length - MOST_SHOWN} more`);
  return lines;
}

function describeFinding({ rule, text, name, piece }: Finding): string[] {
  const first = piece[0]?.at ?? 0;
  const lines = piece.map((event) => `  ${ms(event.at - first).padStart(12)}  ${describeEvent(event, first)}`);
  const cut =
    lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES), `  ... ${lines.length - MOST_LINES} more`] : lines;
  return [`WRONG ${rule}: ${name}: ${text}`, ...cut];
}

function describeEvent(event: Event, first: number): string {
  const { at: _at, p, type, ...rest } = event;
  const { op, ...details } = { op: undefined, ...rest };
  const shown = Object.entries(details)
    .filter(([key]) => key !== 'name' && key !== 'kind')
    .map(([key, value]) => `${key} ${key === 'until' ? ms(Number(value) - first) : JSON.stringify(value)}`);
  return [`process ${p}`, op === undefined ? '' : `call ${String(op)}`, type, ...shown].filter(Boolean).join(' ');
}

function ms(us: number): string {
  return `${(us / 1_000).toFixed(3)} ms`;
}
