import { addTo, given } from '../../util/collections';
import type { ClientAnswer, ClientHold, ClientWait, HeldAround, HeldByWaiter } from '../../introspection/wire';
import type { Survey } from './Answers';
import { ALL_KINDS } from '../../kinds/allKinds';
import { hasPermits } from './describe';
import type { CircleLink, HolderReport, ObjectReport, Unjudged, Verdict, WaitingProcess } from './reports';
import type { History } from './seen';

/** A wait and a hold are stuck if both have lasted this long, in ms. */
export const LONG_MS = 30_000;
/** A client that has held something for this long, in ms, listens for questions unless its event loop is blocked. */
const LISTENS_MS = 15_000;
/** A wait can be part of a dead-lock after this time, in ms: clients answer at different moments. */
const SETTLED_MS = 1_000;
/** Clients other than the known holders can release these, so a circle through one need not be a dead-lock. */
const SHARED: ReadonlySet<ClientWait['kind']> = new Set(
  ALL_KINDS.filter(({ data }) => data === 'number').map(({ name }) => name),
);

/** A caller that holds `held` and waits for `wait.key`. */
interface Blocked {
  readonly client: ClientAnswer;
  readonly held: HeldByWaiter;
  readonly wait: ClientWait;
}

/** A hold or a wait, with its client. */
type Of<T> = readonly [client: ClientAnswer, thing: T];

/** How many wait: callers if their processes reported them, else connections, or the queue of a fair lock. */
export function waitersOf({ waiters, waiting = [] }: Pick<ObjectReport, 'waiters' | 'waiting'>): number {
  const callers = waiting.reduce((sum, one) => sum + one.callers, 0);
  return waiters === 0 ? 0 : Math.max(waiters, callers);
}

/**
 * Evaluates the answers of the clients for all objects: who waits, and who waits for whom.
 */
export class WhoWaits {
  readonly #survey: Survey;
  /** When the survey was made, in ms since 1970. */
  readonly #at = Date.now();
  /** By the object's key. */
  readonly #holds = new Map<string, Of<ClientHold>[]>();
  readonly #waits = new Map<string, Of<ClientWait>[]>();
  /** By the key of the lock that the caller holds. */
  readonly #blocked = new Map<string, Blocked[]>();

  constructor(survey: Survey) {
    this.#survey = survey;
    for (const client of survey.answers) {
      for (const hold of client.holds) addTo(this.#holds, hold.key, [client, hold]);
      for (const wait of client.waits) {
        addTo(this.#waits, wait.key, [client, wait]);
        if (wait.waitedMs < SETTLED_MS) continue;
        for (const held of wait.holding) addTo(this.#blocked, held.key, { client, held, wait });
      }
    }
  }

  /** The clients' reports about an object: its holders with their answers, and the processes that wait. */
  about({ key, kind, holders }: Unjudged): Pick<ObjectReport, 'holders' | 'waiting'> {
    const known = hasPermits(kind) ? (this.#holds.get(key) ?? []).map(permitHolder) : holders;
    const waits = this.#waits.get(key);
    return {
      holders: known.map((one) => this.#withAnswer(key, one)),
      ...(waits && { waiting: waits.map((one) => this.#waiting(one)).sort((a, b) => a.since - b.since) }),
    };
  }

  #waiting([{ clientId, host, pid }, { callers, waitedMs, callSite }]: Of<ClientWait>): WaitingProcess {
    const since = this.#at - waitedMs;
    return given({ clientId, host, pid, callers, since, callSite });
  }

  #withAnswer(key: string, holder: HolderReport): HolderReport {
    const { clientId, owner } = holder;
    const silentSince = this.#survey.silent.get(clientId);
    const silence = silentSince === undefined ? undefined : ({ silent: true, silentSince } as const);
    const isIts = (client: ClientAnswer, one: HeldAround): boolean =>
      client.clientId === clientId && one.owner === owner;
    const [client, hold] = this.#holds.get(key)?.find(([one, its]) => isIts(one, its)) ?? [];
    if (client === undefined || hold === undefined) return { ...holder, ...silence };
    const blocked = this.#blocked.get(key)?.find((one) => isIts(one.client, one.held));
    const { heldMs, leaseMs, renewals, callSite } = hold;
    const { delayMs, utilization } = client.eventLoop;
    return {
      ...holder,
      ...silence,
      hold: given({ since: this.#at - heldMs, leaseMs, renewals, delayMs, utilization, callSite }),
      ...(blocked && { waitsFor: { name: blocked.wait.name, since: this.#at - blocked.wait.waitedMs } }),
    };
  }

  /** The dead-lock that an object is part of, or that one of its `holders` waits for. Other holders do not count. */
  #circleAt(key: string, holders: readonly HolderReport[]): readonly Blocked[] | undefined {
    const path: Blocked[] = [];
    const seen = new Set<Blocked>();
    const has = new Set(holders.map(({ owner }) => owner));
    const search = (at: string, before?: Blocked): readonly Blocked[] | undefined => {
      for (const one of this.#blocked.get(at) ?? []) {
        if (at === key && !has.has(one.held.owner)) continue;
        if (before !== undefined && !isWaitedFor(before, one.held)) continue;
        const begin = path.indexOf(one);
        if (begin >= 0) return path.slice(begin);
        if (seen.has(one)) continue;
        seen.add(one);
        path.push(one);
        const circle = search(one.wait.key, one);
        if (circle !== undefined) return circle;
        path.pop();
      }
      return undefined;
    };
    return search(key);
  }

  #link({ client: { clientId, host, pid }, held, wait }: Blocked): CircleLink {
    const { name, owner } = held;
    const { name: waitsFor, waitedMs, callSite } = wait;
    return given({ name, owner, clientId, host, pid, waitsFor, since: this.#at - waitedMs, callSite });
  }

  /**
   * The verdict by the answers, if they show more than the data in Redis; else `verdict`.
   * @param watched - the results of earlier scans, if there were any
   */
  verdictOf(report: Unjudged, verdict: Verdict, watched: History | undefined): Verdict {
    const { key, name, holders } = report;
    if (holders.length === 0) return verdict;
    const circle = this.#circleAt(key, holders);
    // A client outside the circle may still release a permit.
    const isShared = circle?.some(({ wait }) => SHARED.has(wait.kind)) === true;
    if (circle !== undefined && (!isShared || circle.every(({ wait }) => wait.waitedMs >= LONG_MS))) {
      const one = circle.length === 1 ? 'it' : 'one of them';
      const other = isShared ? ', or somebody else gives a permit back' : '';
      return {
        kind: 'dead-lock',
        sentence: `${circleText(circle, name)} It ends when ${one} gives up waiting, or its process ends${other}.`,
        circle: circle.map((one) => this.#link(one)),
      };
    }
    const isHeld = verdict.kind === 'held' || verdict.kind === 'no-expiry';
    if (!isHeld || !this.#mayBeBlocked(holders, watched)) return verdict;
    const sentence =
      `${verdict.sentence} It has not been renewed since it was first seen, and its client does not listen for questions: its ` +
      'event loop has been blocked since it took the lock, or the client cannot be asked (introspection: false, or older).';
    return { ...verdict, sentence };
  }

  /** Whether a connected holder has been seen for a while, without a renewal, and should listen by now but does not. */
  #mayBeBlocked([holder]: readonly HolderReport[], watched: History | undefined): boolean {
    if (holder?.client !== 'node' || holder.process.connected !== true || this.#survey.listening.has(holder.clientId))
      return false;
    if (watched?.heldSince === undefined || watched.renewedTo !== undefined) return false;
    return watched.heldSince <= this.#at - LISTENS_MS;
  }
}

/**
 * Whether a caller waits for what this holder has. A holder of a group has only some of its values: if a client did not
 * report them, we assume no circle.
 */
function isWaitedFor({ wait, held: { wants } }: Blocked, { values }: HeldAround): boolean {
  return wait.kind !== 'group' || (wants !== undefined && values?.some((one) => wants.includes(one)) === true);
}

/** A holder of permits, as reported by its client: Redis does not store holders of permits. */
function permitHolder([{ clientId, host, pid }, { owner, threadId, count }]: Of<ClientHold>): HolderReport {
  const process = { connected: true, java: false, host, pid } as const;
  return { owner, clientId, threadId: String(threadId), client: 'node', holdCount: count, process };
}

function circleText(circle: readonly Blocked[], name: string): string {
  if (!circle.some(({ held }) => held.name === name)) return 'Its holder waits for a lock that is in a dead-lock.';
  if (circle.length === 1) {
    const [{ held, wait }] = circle as [Blocked];
    const half = wait.kind === 'write' && !held.owner.endsWith(':write') ? ' (it reads, and waits to write)' : '';
    return `A dead-lock of one: its holder waits for this lock, which it has itself${half}.`;
  }
  return 'A dead-lock: its holder waits for what another holder has, and that one, in the end, for this.';
}
