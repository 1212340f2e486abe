import type { Completion, Event, Invocation, Look, Note } from '../history';

/** A call with all that is known about it. */
export interface CallRecord {
  readonly invoke: Invocation;
  completion: Completion | undefined;
  /** Whether the process was killed before it ended. */
  dead: boolean;
}

/** A hold of a lock, or permits. */
export interface Take extends CallRecord {
  /** The hold that this one re-enters. */
  readonly within: Take | undefined;
  readonly looks: Look[];
  readonly releases: CallRecord[];
  /** Those that re-enter it. */
  readonly nested: Take[];
  /** From when it is certain that the client had it, in µs; `end`: when that was over. `Infinity` at the latest. */
  start: number;
  end: number;
  /** Until when the client could rely on it, if it did not give it back. */
  until: number;
}

/** All calls that concern one name. */
export interface Subject {
  readonly name: string;
  readonly takes: Take[];
  readonly others: CallRecord[];
}

/** A history in the shape that the rules need. */
export interface Calls {
  readonly subjects: Map<string, Subject>;
  readonly calls: CallRecord[];
  readonly notes: Note[];
}

/** Redis and the clients count in ms, and a client leaves a margin of 2 ms and a thousandth. */
const MARGIN_MS = 4;

/** Kinds with several members. */
const SEVERAL = /^(multi|red|group)-lock/;

/**
 * Puts the events of a history together.
 *
 * It is certain that a client has something from the moment when it knew that it had got it (`ok`) until it began to
 * give it back, or knew that it was lost, and until the last deadline that it saw: somebody whom nobody told may rely
 * on it until then. A client that was killed is such a somebody, and so is one that was stopped.
 */
export function callsOf(events: readonly Event[]): Calls {
  const sorted = [...events].sort((a, b) => a.at - b.at);
  const byId = new Map<string, CallRecord | Take>();
  const subjects = new Map<string, Subject>();
  const calls: CallRecord[] = [];
  const notes: Note[] = [];
  for (const event of sorted) {
    switch (event.type) {
      case 'invoke': {
        const call = begin(event, byId);
        calls.push(call);
        byId.set(`${event.p}.${event.op}`, call);
        let subject = subjects.get(event.name);
        if (subject === undefined) subjects.set(event.name, (subject = { name: event.name, takes: [], others: [] }));
        if (isTake(call)) subject.takes.push(call);
        else subject.others.push(call);
        break;
      }
      case 'ok':
      case 'fail':
      case 'info':
        complete(byId.get(`${event.p}.${event.op}`), event);
        break;
      case 'held':
      case 'lost':
        look(byId.get(`${event.p}.${event.op}`), event);
        break;
      case 'killed':
      case 'ended':
      case 'fault':
      case 'wrong':
        notes.push(event);
    }
  }
  const killed = new Set(notes.filter(({ type }) => type === 'killed').map(({ p }) => p));
  for (const call of calls) {
    call.dead = call.completion === undefined && killed.has(call.invoke.p);
    if (isTake(call)) relyOnRelease(call);
  }
  return { subjects, calls, notes };
}

/** Whether a call is one that takes. */
export function isTake(call: CallRecord | Take | undefined): call is Take {
  return call?.invoke.call === 'take';
}

/** Whether one of the two re-enters the other. */
export function isRelated(one: Take, other: Take): boolean {
  return isWithin(one, other) || isWithin(other, one);
}

/** All events of calls, in their order. */
export function eventsOf(...calls: readonly (CallRecord | Take | undefined)[]): Event[] {
  const events = new Set<Event>();
  for (const call of calls) {
    if (call === undefined) continue;
    events.add(call.invoke);
    if (call.completion !== undefined) events.add(call.completion);
    if (!isTake(call)) continue;
    for (const one of call.looks) events.add(one);
    for (const release of call.releases) for (const event of eventsOf(release)) events.add(event);
  }
  return [...events].sort((a, b) => a.at - b.at);
}

/** All holds of the thread that a hold belongs to. */
export function familyOf(take: Take): Take[] {
  let root = take;
  while (root.within !== undefined) root = root.within;
  const family = [root];
  for (const one of family) family.push(...one.nested);
  return family;
}

function isWithin(inner: Take, outer: Take): boolean {
  for (let one = inner.within; one !== undefined; one = one.within) if (one === outer) return true;
  return false;
}

function begin(invoke: Invocation, byId: ReadonlyMap<string, CallRecord>): CallRecord | Take {
  const call = { invoke, completion: undefined, dead: false };
  if (invoke.call === 'take') {
    const outer = invoke.within === undefined ? undefined : byId.get(`${invoke.p}.${invoke.within}`);
    const within = isTake(outer) ? outer : undefined;
    const take: Take = {
      ...call,
      within,
      looks: [],
      releases: [],
      nested: [],
      start: Infinity,
      end: Infinity,
      until: -Infinity,
    };
    within?.nested.push(take);
    return take;
  }
  if (invoke.call === 'release' && invoke.of !== undefined) {
    const take = byId.get(`${invoke.p}.${invoke.of}`);
    if (isTake(take)) {
      take.releases.push(call);
      take.end = Math.min(take.end, invoke.at);
      for (const other of familyOf(take)) if (other !== take) relyOnOwnLease(other, invoke.at);
    }
  }
  return call;
}

function complete(call: CallRecord | Take | undefined, completion: Completion): void {
  if (call === undefined) return;
  call.completion = completion;
  if (!isTake(call) || completion.type !== 'ok') return;
  // Permits of a plain semaphore are nobody's: they never come back by themselves.
  const forever = call.invoke.permits !== undefined && call.invoke.lease === undefined;
  relyUntil(call, forever ? Infinity : completion.until);
  if (call.until > completion.at) call.start = completion.at;
}

function look(take: CallRecord | Take | undefined, seen: Look): void {
  if (!isTake(take)) return;
  const lost = take.looks.some(({ type }) => type === 'lost');
  take.looks.push(seen);
  if (seen.type === 'lost') take.end = Math.min(take.end, seen.at);
  else if (!lost) relyUntil(take, seen.until);
}

/** Its thread has given back another hold, whose lease may have kept this one as well: a new look says for how long. */
function relyOnOwnLease(take: Take, at: number): void {
  const own = take.invoke.at + ((take.invoke.lease ?? 0) * 0.999 - MARGIN_MS) * 1_000;
  take.until = Math.min(take.until, Math.max(at, own));
  take.end = Math.min(take.end, take.until);
}

/**
 * What could be given back was there all the time, although its client did not look: what is lost does not come back. A
 * thread with more than one hold may have got in again, and locks of several members have more than one life.
 */
function relyOnRelease(take: Take): void {
  const { invoke, completion, releases, looks } = take;
  const [release] = releases;
  if (completion?.type !== 'ok' || release?.completion?.type !== 'ok' || looks.some(({ type }) => type === 'lost'))
    return;
  if (invoke.permits !== undefined || familyOf(take).length > 1 || SEVERAL.test(invoke.kind)) return;
  const over = invoke.renewed === true ? Infinity : completion.at + (invoke.lease ?? 0) * 1_000;
  if (release.invoke.at > over) return;
  take.start = completion.at;
  take.until = Math.max(take.until, release.invoke.at);
  take.end = release.invoke.at;
}

function relyUntil(take: Take, until: number | undefined): void {
  if (until === undefined) return;
  const released = take.releases[0]?.invoke.at ?? Infinity;
  const lost = take.looks.find(({ type }) => type === 'lost')?.at ?? Infinity;
  take.until = Math.max(take.until, until);
  take.end = Math.min(take.until, released, lost);
}
