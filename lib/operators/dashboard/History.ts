import { given, keepNewest } from '../../util/collections';
import { type Fresh, holdersOf, type Tracked } from './rows';
import type { LockEvent } from './wire';

/** How many events are kept per lock. */
const MAX_EVENTS = 50;
/** How many locks keep their events: those with the newest events. */
const MAX_LOCKS = 2_000;

/** The latest events of each lock, as far as this process has seen them. */
export class History {
  readonly #byName = new Map<string, readonly LockEvent[]>();

  /** @param news - the oldest first */
  add(name: string, ...news: readonly LockEvent[]): void {
    if (news.length === 0) return;
    const events = [...[...news].reverse(), ...this.of(name)].slice(0, MAX_EVENTS);
    keepNewest(this.#byName, name, events, MAX_LOCKS);
  }

  /** The events of a lock, the newest first. */
  of(name: string): readonly LockEvent[] {
    return this.#byName.get(name) ?? [];
  }

  clear(): void {
    this.#byName.clear();
  }
}

/** Whether this process reports the holds of an owner itself, and in more detail. */
type IsTold = (owner: string) => boolean;

/** The events that the difference between two scans shows. */
export function eventsBetween(before: Tracked | undefined, { report, at }: Fresh, isTold: IsTold): LockEvent[] {
  const events: LockEvent[] = [];
  const add = (level: LockEvent['level'], text: string, owner?: string): void => {
    events.push(given({ at, source: 'seen' as const, level, text, owner }));
  };
  const was = before?.report;
  if (was === undefined || holdersOf(was) !== holdersOf(report)) {
    const earlier = new Set(was?.holders.map(({ owner }) => owner));
    const now = new Set(report.holders.map(({ owner }) => owner));
    const gone = (was?.holders ?? []).filter(({ owner }) => !now.has(owner) && !isTold(owner));
    const came = report.holders.filter(({ owner }) => !earlier.has(owner) && !isTold(owner));
    for (const { owner } of gone.slice(0, MAX_EVENTS)) add('info', 'no longer held', owner);
    for (const { owner } of came.slice(0, MAX_EVENTS)) add('info', was === undefined ? 'seen held' : 'held', owner);
  }
  if (was?.waiters !== report.waiters && (was !== undefined || report.waiters > 0)) {
    const { waiters } = report;
    add('info', waiters === 0 ? 'nobody waits any more' : waiters === 1 ? '1 waiter' : `${waiters} waiters`);
  }
  if (was?.value !== report.value && was !== undefined)
    add('info', `value ${was.value ?? 'none'} to ${report.value ?? 'none'}`);
  const { kind, sentence } = report.verdict;
  if (was?.verdict.kind !== kind && kind !== 'free' && kind !== 'held') {
    // The time of the end stays true; the remaining time does not.
    add(
      kind === 'not-renewed' ? 'warning' : 'error',
      sentence.replace(/ in [\d.]+ [smhd](?: \d+ [smh])?, at (?=\S+Z)/, ' at '),
    );
  }
  return events;
}

/** The events of a key that is gone. They include that its holders no longer hold the lock. */
export function eventsOfRemoval(before: Tracked, at: number, isTold: IsTold): LockEvent[] {
  const gone = before.report.holders.filter(({ owner }) => !isTold(owner));
  const owners = gone.length === 0 ? [undefined] : gone.slice(0, MAX_EVENTS).map(({ owner }) => owner);
  if (gone.length === 0 && before.report.holders.length > 0) return [];
  const text = 'gone: the key is no longer there';
  return owners.map((owner) => given({ at, source: 'seen' as const, level: 'info' as const, text, owner }));
}
