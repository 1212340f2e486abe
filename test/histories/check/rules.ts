import { familyOf, isRelated, isTake, type CallRecord, type Subject, type Take } from './calls';

/** Redis counts in ms of its own clock. */
const SLACK_US = 5_000;

/** Something that must not be. */
export interface Violation {
  /** Which promise is broken. */
  readonly rule: string;
  readonly text: string;
  /** The calls concerned. */
  readonly calls: readonly (CallRecord | Take)[];
}

/** Says what is wrong with the calls of one name. */
export type Rule = (subject: Subject) => Violation[];

/**
 * Mutexes, re-entrant locks and both halves of read/write locks: of two that do not share and are not the same
 * re-entrant thread's, never both inside. And what a release gives back is the releaser's.
 */
export const exclusion: Rule = ({ takes, others }) => {
  const locks = takes.filter(({ invoke }) => invoke.permits === undefined);
  // Without permits: a release of those that is sent again finds none, whoever gave them back.
  const byOp = byOpOf(locks);
  const releases = others.filter((one) => one.invoke.call === 'release' && one.completion?.type === 'ok');
  const found: Violation[] = [];
  const exclusive = new Set<Take>();
  const shared = new Set<Take>();
  // Those that share are compared with one that does not, which finds none of them unless something is wrong.
  const rivals = (take: Take): Take[] =>
    [...exclusive, ...(take.invoke.shared === true ? [] : shared)].filter((other) => excludes(take, other));
  for (const { take, leaves, asks } of inOrder(locks, releases)) {
    if (leaves !== undefined) {
      exclusive.delete(leaves);
      shared.delete(leaves);
    } else if (take !== undefined) {
      for (const other of rivals(take)) {
        const rule = take.invoke.shared || other.invoke.shared ? 'a writer beside readers' : 'two inside';
        found.push({ rule, text: `${shown(other)} and ${shown(take)}`, calls: [other, take] });
      }
      const outer = outerOf(take);
      if (take.invoke.shared !== true && outer.length > 0 && outer.every(({ invoke }) => invoke.shared === true)) {
        found.push({ rule: 'a reader that writes', text: shown(take), calls: [...outer, take] });
      }
      (take.invoke.shared === true ? shared : exclusive).add(take);
    } else if (asks !== undefined) {
      const of = byOp.get(`${asks.invoke.p}.${String(asks.invoke.of)}`);
      // Who gave nothing back is found by `ownership`; who still had it was compared before.
      if (of === undefined || hadUntilThen(of, asks.invoke.at)) continue;
      const holders = rivals(of).filter(({ end }) => end > asks.completion!.at);
      for (const other of holders) {
        const text = `${shown(asks)} succeeded while ${shown(other)} was inside`;
        found.push({ rule: 'released what another one holds', text, calls: [of, other] });
      }
      if (holders.length > 0 || mayHaveHad(of, asks.invoke.at)) continue;
      const text = `${shown(asks)} succeeded, and its owner had nothing any more`;
      found.push({ rule: 'released by a non-owner', text, calls: [of] });
    }
  }
  return found;
};

/** Fencing tokens: each once, and each greater than those of all holds that were there before. */
export const tokens: Rule = ({ takes }) => {
  const fenced = takes
    .filter(({ completion }) => completion?.type === 'ok' && completion.token !== undefined)
    .sort((a, b) => a.completion!.at - b.completion!.at);
  const found: Violation[] = [];
  const seen = new Map<string, Take>();
  // The one with the greatest token among those that were certainly inside, and among those that had ended by then.
  let greatest: Take | undefined;
  let earlier: Take | undefined;
  let next = 0;
  for (const take of [...fenced].sort((a, b) => a.invoke.at - b.invoke.at)) {
    while (next < fenced.length && fenced[next]!.completion!.at < take.invoke.at) {
      earlier = greaterOf(earlier, fenced[next++]!);
    }
    if (earlier !== undefined && tokenOf(take) < tokenOf(earlier)) found.push(wentBack(earlier, take));
  }
  for (const take of fenced) {
    const twin = seen.get(take.completion!.token!);
    if (twin !== undefined) {
      const text = `${shown(twin)} and ${shown(take)} have token ${take.completion!.token}`;
      found.push({ rule: 'a token repeats', text, calls: [twin, take] });
    }
    seen.set(take.completion!.token!, take);
    if (take.start === Infinity) continue;
    // One that waited long may have begun before: what counts is that it was inside later.
    if (greatest !== undefined && tokenOf(take) < tokenOf(greatest) && !found.some(({ calls }) => calls[1] === take)) {
      found.push(wentBack(greatest, take));
    }
    greatest = greaterOf(greatest, take);
  }
  return found;
};

/**
 * Nobody believes in a hold past its lease, in more than a lease, or again in one that was lost; nor is one lost early.
 */
export const leases: Rule = ({ takes }) => {
  const found: Violation[] = [];
  for (const take of takes) {
    const { invoke, completion } = take;
    if (completion?.type !== 'ok' || invoke.lease === undefined || invoke.permits !== undefined) continue;
    const family = familyOf(take);
    const alone = family.length === 1;
    // All holds of a thread keep the lock: it is over when the last lease is.
    const over = Math.max(...family.map(leaseEnd));
    const seen = [{ type: 'held', at: completion.at, until: completion.until }, ...take.looks];
    let lost = false;
    for (const { type, at, until } of seen) {
      if (type === 'lost') {
        lost = true;
        continue;
      }
      const most = Math.min(over, invoke.renewed === true && alone ? at + invoke.lease * 1_000 : Infinity);
      if (lost) found.push({ rule: 'held again', text: `${shown(take)} was lost before`, calls: [take] });
      else if (at > over) {
        const text = `${shown(take)} is held ${ms(at - over)} past its lease of ${invoke.lease} ms`;
        found.push({ rule: 'held past its lease', text, calls: [take] });
      } else if (until !== undefined && until > most) {
        const text = `${shown(take)} is believed in ${ms(until - most)} longer than its lease of ${invoke.lease} ms`;
        found.push({ rule: 'held past its lease', text, calls: [take] });
      }
    }
    const lostAt = take.looks.find(({ type }) => type === 'lost')?.at ?? Infinity;
    if (lostAt < take.until && lostAt <= (take.releases[0]?.invoke.at ?? Infinity)) {
      const text = `${shown(take)} was reported lost ${ms(take.until - lostAt)} before its deadline`;
      found.push({ rule: 'lost without a cause', text, calls: [take] });
    }
  }
  return found;
};

/** Who has nothing gives nothing back, and who has something is not told that it has not. */
export const ownership: Rule = ({ takes, others }) => {
  const found: Violation[] = [];
  for (const release of others) {
    const { invoke, completion } = release;
    if (invoke.call !== 'release' || completion?.type !== 'ok' || invoke.of !== undefined) continue;
    // As in `exclusion`. Too many would show in `permits`.
    if (invoke.permits !== undefined) continue;
    const holder = takes.find(({ start, end }) => start <= completion.at && end >= invoke.at);
    const text = `${shown(release)} succeeded, and its owner had nothing`;
    found.push({ rule: 'released by a non-owner', text, calls: holder ? [holder, release] : [release] });
  }
  for (const take of takes) {
    for (const { invoke, completion } of take.releases.slice(0, 1)) {
      if (completion?.type !== 'fail' || take.until <= completion.at || take.start > invoke.at) continue;
      if (take.looks.some(({ type }) => type === 'lost')) continue;
      const text = `${shown(take)} could not be released (${completion.why}), ${ms(take.until - completion.at)} before its end`;
      found.push({ rule: 'the owner was refused', text, calls: [take] });
    }
    // One that may have been done says nothing; one that was done, or refused, was the last that could be done.
    const known = take.releases.filter(({ completion }) => completion?.type === 'ok' || completion?.type === 'fail');
    for (const [i, { invoke, completion }] of known.entries()) {
      const before = known.slice(0, i).find((one) => one.completion!.type === 'ok' || one.completion!.at < invoke.at);
      if (completion!.type !== 'ok' || before === undefined) continue;
      const text = `${shown(take)} was released ${before.completion!.type === 'ok' ? 'twice' : 'after it was refused'}`;
      found.push({ rule: 'released by a non-owner', text, calls: [take] });
    }
  }
  return found;
};

/** A thread has as many holds as it has taken and not given back. */
export const counts: Rule = ({ takes, others }) => {
  const asked = others.filter(({ invoke, completion }) => invoke.call === 'count' && completion?.type === 'ok');
  if (asked.length === 0) return [];
  const byOp = byOpOf(takes);
  const found: Violation[] = [];
  for (const one of asked) {
    const { invoke, completion } = one;
    const take = byOp.get(`${invoke.p}.${String(invoke.within)}`);
    if (take === undefined) continue;
    const family = familyOf(take);
    const { value = 0, some = false } = completion!;
    const least = sureFamilyOf(take).filter(({ start, end }) => start <= invoke.at && end >= completion!.at).length;
    const over = take.completion?.type === 'ok' && invoke.at > lastLeaseEnd(take) + SLACK_US;
    const most = over ? 0 : family.filter((each) => mayBeThere(each, invoke.at, completion!.at)).length;
    const [low, high] = some ? [Math.min(least, 1), Math.min(most, 1)] : [least, most];
    if (value >= low && value <= high) continue;
    const text = `${shown(one)} found ${value}, where there are ${low === high ? low : `${low} to ${high}`}`;
    found.push({ rule: 'wrong hold count', text, calls: [...family, one] });
  }
  return found;
};

/** One thing after the other: who comes in, who leaves, and who asks. */
export function inOrder(takes: readonly Take[], asking: readonly CallRecord[]): readonly Step[] {
  const certain = takes.filter(({ start, end }) => start < end);
  return [
    // Sorted as they stand where they are at the same time: who leaves makes room.
    ...certain.map((take) => ({ at: take.end, leaves: take })),
    ...certain.map((take) => ({ at: take.start, take })),
    ...asking.map((asks) => ({ at: asks.invoke.at, asks })),
  ].sort((a, b) => a.at - b.at);
}

interface Step {
  readonly at: number;
  readonly take?: Take;
  readonly leaves?: Take;
  readonly asks?: CallRecord;
}

/** Whether it was neither lost nor over when it was given back. */
function hadUntilThen({ start, until, looks }: Take, at: number): boolean {
  return start <= at && until > at && !looks.some((one) => one.type === 'lost' && one.at <= at);
}

/** Whether Redis could still have it: it was got, is not known to be lost, and its lease may go on. */
function mayHaveHad(take: Take, at: number): boolean {
  if (take.completion?.type === 'fail' || take.looks.some((one) => one.type === 'lost' && one.at <= at)) return false;
  return at <= lastLeaseEnd(take) + SLACK_US;
}

/**
 * When Redis has a hold no more: it keeps what is left of a thread that gave back one of several holds for a new lease,
 * and a reader for as long as any other one reads.
 */
function lastLeaseEnd(take: Take): number {
  return take.invoke.shared === true || familyOf(take).length > 1 ? Infinity : leaseEnd(take);
}

/** The holds of its thread that were there all the time while it came in. */
function outerOf(take: Take): Take[] {
  const { within, invoke, completion } = take;
  if (within === undefined || take.invoke.shared === true) return [];
  return familyOf(take).filter((one) => one !== take && one.start <= invoke.at && one.end >= completion!.at);
}

function excludes(one: Take, other: Take): boolean {
  return one !== other && !(one.invoke.shared && other.invoke.shared) && !isRelated(one, other);
}

/** When a lease is over that nobody renews, at the latest; one that was not got may have been got all the same. */
function leaseEnd({ invoke, completion }: Take): number {
  if (invoke.renewed === true || completion === undefined || completion.type === 'info') return Infinity;
  return completion.type === 'ok' ? completion.at + (invoke.lease ?? 0) * 1_000 : -Infinity;
}

function byOpOf(takes: readonly Take[]): ReadonlyMap<string, Take> {
  return new Map(takes.map((take) => [`${take.invoke.p}.${take.invoke.op}`, take]));
}

/**
 * The holds that are certainly of the same thread: who asks to re-enter what is over by the time it gets in may be a
 * thread of its own.
 */
function sureFamilyOf(take: Take): Take[] {
  const family = [take];
  const add = (other: Take | undefined, inner: Take): void => {
    const { within, invoke, completion } = inner;
    if (other === undefined || within === undefined || family.includes(other)) return;
    if (within.start <= invoke.at && within.end >= (completion?.at ?? Infinity)) family.push(other);
  };
  for (const one of family) {
    add(one.within, one);
    for (const inner of one.nested) add(inner, inner);
  }
  return family;
}

/** A failed attempt may have left something that is still taken back. */
function mayBeThere({ invoke, releases }: Take, from: number, to: number): boolean {
  const released = releases.some(({ completion }) => completion?.type === 'ok' && completion.at < from);
  return invoke.at <= to && !released;
}

function tokenOf(take: Take): bigint {
  return BigInt(take.completion!.token!);
}

function greaterOf(one: Take | undefined, other: Take): Take {
  return one === undefined || tokenOf(other) > tokenOf(one) ? other : one;
}

function wentBack(earlier: Take, later: Take): Violation {
  const text = `${shown(later)} has token ${tokenOf(later)}, ${shown(earlier)} had ${tokenOf(earlier)} before`;
  return { rule: 'a token goes back', text, calls: [earlier, later] };
}

/** A call, as a failure names it. */
export function shown(call: CallRecord | Take): string {
  const { p, op, kind, call: what } = call.invoke;
  return `${isTake(call) ? '' : `${what} `}${p}.${op} (${kind})`;
}

function ms(us: number): string {
  return `${(us / 1_000).toFixed(1)} ms`;
}
