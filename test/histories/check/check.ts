import type { Event, Note } from '../history';
import { type CallRecord, callsOf, eventsOf } from './calls';
import { latches, permits, setting } from './permitRules';
import { counts, exclusion, leases, ownership, type Rule, shown, tokens, type Violation } from './rules';

/** How the calls of one kind ended. */
export interface Tally {
  ok: number;
  fail: number;
  /** Rejected because of a fault: it may have been done or not. */
  info: number;
  /** Its process was killed meanwhile. */
  dead: number;
}

/** What is wrong, with the piece of the history that shows it. */
export interface Finding {
  readonly rule: string;
  readonly text: string;
  readonly name: string;
  /** What happened to all concerned, and the trouble meanwhile, in order. */
  readonly piece: readonly Event[];
}

/** What the checker says. */
export interface Verdict {
  readonly operations: number;
  readonly kinds: ReadonlyMap<string, Tally>;
  /** How often each fault happened. */
  readonly faults: ReadonlyMap<string, number>;
  readonly names: number;
  /** How many holds were lost, and their clients knew. */
  readonly losses: number;
  readonly findings: readonly Finding[];
}

const RULES: readonly Rule[] = [exclusion, tokens, leases, ownership, counts, permits, setting, latches];
/** More of these say no more than the first ones. */
const MOST_FINDINGS = 1_000;

/**
 * Judges a history, in time n log n: by nothing but what the processes have called and learned. What Redis had stored
 * is neither known nor an excuse.
 */
export function check(events: readonly Event[]): Verdict {
  const { subjects, calls, notes } = callsOf(events);
  const kinds = new Map<string, Tally>();
  let losses = 0;
  for (const call of calls) count(kinds, call);
  const findings: Finding[] = [];
  const add = ({ rule, text, calls: concerned }: Violation, name: string): void => {
    if (findings.length >= MOST_FINDINGS) return;
    findings.push({ rule, text, name, piece: withTrouble(eventsOf(...concerned), notes) });
  };
  for (const subject of subjects.values()) {
    losses += subject.takes.filter(({ looks }) => looks.some(({ type }) => type === 'lost')).length;
    for (const rule of RULES) for (const violation of rule(subject)) add(violation, subject.name);
  }
  for (const call of calls) for (const violation of ending(call)) add(violation, call.invoke.name);
  for (const note of notes) {
    if (note.type === 'wrong') findings.push({ rule: 'wrong', text: note.what ?? '', name: '', piece: [note] });
  }
  return { operations: calls.length, kinds, faults: tally(notes), names: subjects.size, losses, findings };
}

/** Every call ends, unless its process is killed, and no error is without a cause. */
function ending(call: CallRecord): Violation[] {
  const { completion, dead } = call;
  if (completion === undefined && !dead) {
    return [{ rule: 'a call that never ends', text: shown(call), calls: [call] }];
  }
  if (completion?.unexpected !== true) return [];
  return [{ rule: 'an error without a cause', text: `${shown(call)}: ${completion.why}`, calls: [call] }];
}

function count(kinds: Map<string, Tally>, { invoke, completion }: CallRecord): void {
  let one = kinds.get(invoke.kind);
  if (one === undefined) kinds.set(invoke.kind, (one = { ok: 0, fail: 0, info: 0, dead: 0 }));
  one[completion?.type ?? 'dead']++;
}

function tally(notes: readonly Note[]): Map<string, number> {
  const faults = new Map<string, number>();
  for (const { type, what = '' } of notes) if (type === 'fault') faults.set(what, (faults.get(what) ?? 0) + 1);
  return faults;
}

/** With what happened between the first and the last of them. */
function withTrouble(piece: readonly Event[], notes: readonly Note[]): Event[] {
  const first = piece[0]?.at ?? 0;
  const last = piece.at(-1)?.at ?? 0;
  const meanwhile = notes.filter(({ at, type }) => type !== 'ended' && at >= first && at <= last);
  return [...piece, ...meanwhile].sort((a, b) => a.at - b.at);
}
