import type { ClientAnswer, ClientWait, HeldAround } from '../introspection/wire';
import type { Survey } from './Asker';
import type { CircleLink, HolderReport, Verdict, WaitingProcess } from './reports';
import { seconds, type Unjudged } from './verdict';

/** A wait and a hold are stuck if both are at least so old, in ms. */
const STUCK_MS = 30_000;
/** A wait is part of a dead-lock only if it has lasted so long, in ms: clients answer one after the other. */
const SETTLED_MS = 1_000;

/** Somebody holds `held` and waits for `wait.key`. */
interface Blocked {
  readonly client: ClientAnswer;
  readonly held: HeldAround;
  readonly wait: ClientWait;
}

/**
 * What the answers of the clients tell of all objects: who waits, and who waits for whom.
 */
export class WhoWaits {
  readonly #survey: Survey;
  /** When it was made, in ms since 1970. */
  readonly #at = Date.now();
  /** By the key of what is held meanwhile. */
  readonly #blocked = new Map<string, Blocked[]>();

  constructor(survey: Survey) {
    this.#survey = survey;
    for (const client of survey.answers) {
      for (const wait of client.waits) {
        if (wait.waitedMs < SETTLED_MS) continue;
        for (const held of wait.holding) {
          const others = this.#blocked.get(held.key);
          if (others === undefined) this.#blocked.set(held.key, [{ client, held, wait }]);
          else others.push({ client, held, wait });
        }
      }
    }
  }

  /** The processes that wait for an object, those that wait longest first. */
  waitingFor(key: string): readonly WaitingProcess[] {
    const found = this.#survey.answers.flatMap(({ clientId, host, pid, waits }) =>
      waits
        .filter((wait) => wait.key === key)
        .map(({ callers, waitedMs, callSite }) => ({
          clientId,
          host,
          pid,
          callers,
          since: this.#at - waitedMs,
          ...(callSite !== undefined && { callSite }),
        })),
    );
    return found.sort((a, b) => a.since - b.since);
  }

  /** A holder with what its client says of it. */
  withAnswer(key: string, holder: HolderReport): HolderReport {
    const { clientId, owner } = holder;
    if (this.#survey.silent.has(clientId)) return { ...holder, silent: true };
    const client = this.#survey.answers.find((one) => one.clientId === clientId);
    const hold = client?.holds.find((one) => one.key === key && one.owner === owner);
    if (hold === undefined) return holder;
    const { heldMs, leaseMs, renewals, callSite } = hold;
    const { delayMs, utilization } = client!.eventLoop;
    return {
      ...holder,
      hold: {
        since: this.#at - heldMs,
        leaseMs,
        renewals,
        delayMs,
        utilization,
        ...(callSite !== undefined && { callSite }),
      },
    };
  }

  /** The dead-lock that an object is part of, or that its holder waits for. */
  circleAt(key: string): readonly CircleLink[] | undefined {
    const path: Blocked[] = [];
    const seen = new Set<string>();
    const search = (at: string): readonly Blocked[] | undefined => {
      const begin = path.findIndex(({ held }) => held.key === at);
      if (begin >= 0) return path.slice(begin);
      if (seen.has(at)) return undefined;
      seen.add(at);
      for (const one of this.#blocked.get(at) ?? []) {
        path.push(one);
        const circle = search(one.wait.key);
        if (circle !== undefined) return circle;
        path.pop();
      }
      return undefined;
    };
    return search(key)?.map(({ client, held, wait }) => ({
      name: held.name,
      owner: held.owner,
      clientId: client.clientId,
      host: client.host,
      pid: client.pid,
      waitsFor: wait.name,
      since: this.#at - wait.waitedMs,
      ...(wait.callSite !== undefined && { callSite: wait.callSite }),
    }));
  }

  /** What the answers come to, where that is more than Redis tells. */
  verdictOf(report: Unjudged, verdict: Verdict): Verdict {
    const { holders, waiting = [] } = report;
    if (holders.length === 0) return verdict;
    const circle = this.circleAt(report.key);
    if (circle !== undefined) {
      const isIn = circle.some(({ name }) => name === report.name);
      const sentence = isIn
        ? 'A dead-lock: its holder waits for what another holder has, and that one, in the end, for this.'
        : 'Its holder waits for a lock that is in a dead-lock.';
      return {
        kind: 'dead-lock',
        sentence: `${sentence} It ends when one of them gives up waiting, or its process ends.`,
        circle,
      };
    }
    if (verdict.kind !== 'held' && verdict.kind !== 'no-expiry') return verdict;
    if (holders.some(({ silent }) => silent === true)) {
      const sentence = `${verdict.sentence} Its holder listens, but has not answered within a second: it is frozen, or its event loop is busy.`;
      return { ...verdict, sentence };
    }
    const [longest] = waiting;
    const latest = this.#at - STUCK_MS;
    const isHeld = holders.every(({ hold }) => hold !== undefined && hold.leaseMs === -1 && hold.since <= latest);
    if (!isHeld || longest === undefined || longest.since > latest) return verdict;
    return { kind: 'stuck', sentence: stuckSentence(holders[0]!, this.#at - longest.since, this.#at) };
  }
}

function stuckSentence({ hold, process }: HolderReport, waitedMs: number, now: number): string {
  const { since, renewals, callSite } = hold!;
  const where = process.host === undefined ? 'its holder' : `process ${process.pid} on ${process.host}`;
  const at = callSite === undefined ? '' : `, at ${callSite}`;
  return (
    `Held for ${seconds(now - since)} by a live process that has renewed it ${renewals} times, while somebody has waited for ` +
    `${seconds(waitedMs)}. It will not end by itself: look at ${where}${at}.`
  );
}
