import type { ObjectKind } from '../inspection';
import { levelOf, LEVELS } from '../inspection/advice';
import { ALL_KINDS } from '../../kinds/allKinds';
import { Refusal } from './requests';
import type { Tracked } from './rows';
import type { Counts } from './wire';

/** The sort orders of the list. */
const SORTS = ['trouble', 'held', 'waited', 'ends', 'name'] as const;
/** The filters of the list by state. */
const STATES = ['all', 'held', 'waited', 'trouble', 'free'] as const;
const KINDS: readonly ObjectKind[] = [...new Set(ALL_KINDS.map(({ report }) => report))];

/** The requested part of the list. */
export interface Query {
  readonly search: string;
  readonly state: (typeof STATES)[number];
  readonly kind: ObjectKind | undefined;
  readonly sort: (typeof SORTS)[number];
  readonly offset: number;
  readonly limit: number;
}

/** The most rows of one page. */
const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;
const MAX_SEARCH = 200;

/** Reads the parameters of a request. @throws Refusal */
export function parseQuery(params: URLSearchParams): Query {
  const kind = params.get('kind') ?? '';
  return {
    search: (params.get('search') ?? '').slice(0, MAX_SEARCH).toLowerCase(),
    state: oneOf('state', params.get('state') ?? 'all', STATES),
    kind: kind === '' ? undefined : oneOf('kind', kind, KINDS),
    sort: oneOf('sort', params.get('sort') ?? 'trouble', SORTS),
    offset: integer('offset', params.get('offset') ?? '0', 0, 10_000_000),
    limit: integer('limit', params.get('limit') ?? String(DEFAULT_LIMIT), 1, MAX_LIMIT),
  };
}

function oneOf<T extends string>(what: string, value: string, known: readonly T[]): T {
  const found = known.find((one) => one === value);
  if (found === undefined) throw new Refusal(400, `${what} must be one of ${known.join(', ')}`);
  return found;
}

function integer(what: string, text: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (!(value >= least && value <= most)) throw new Refusal(400, `${what} must be from ${least} to ${most}`);
  return value;
}

/** The result of a query. */
export interface Selection {
  /** The objects that match, in order. */
  readonly found: readonly Tracked[];
  /** How many objects each state has, among all objects. */
  readonly counts: Counts;
}

export function select(all: Iterable<Tracked>, { search, state, kind, sort }: Query): Selection {
  const found: Tracked[] = [];
  const counts = { all: 0, held: 0, waited: 0, trouble: 0, free: 0 };
  for (const one of all) {
    for (const each of STATES) if (IS[each](one)) counts[each]++;
    if (kind !== undefined && one.report.kind !== kind) continue;
    if (IS[state](one) && (search === '' || matches(one, search))) found.push(one);
  }
  return { found: found.sort((a, b) => COMPARE[sort](a, b) || byName(a, b)), counts };
}

/** Searches names, holders and waiters, so that a user finds where a process hangs. */
function matches({ report }: Tracked, search: string): boolean {
  if (report.name.toLowerCase().includes(search)) return true;
  return [...report.holders, ...(report.queue ?? [])].some(
    ({ owner, process: { host = '', pid = '', address = '' } }) =>
      owner.toLowerCase().includes(search) || `${host}:${pid} ${address}`.toLowerCase().includes(search),
  );
}

const IS: Readonly<Record<Query['state'], (one: Tracked) => boolean>> = {
  all: () => true,
  held: ({ report }) => report.verdict.kind !== 'free',
  waited: ({ report }) => report.waiters > 0,
  trouble: ({ report }) => levelOf(report.verdict) !== 'well',
  free: ({ report }) => report.verdict.kind === 'free',
};

/** What each order compares first. Equal objects are sorted by name. */
const COMPARE: Readonly<Record<Query['sort'], (a: Tracked, b: Tracked) => number>> = {
  // Trouble first, then the longest waits, then the longest holds.
  trouble: (a, b) =>
    LEVELS.indexOf(levelOf(a.report.verdict)) - LEVELS.indexOf(levelOf(b.report.verdict)) ||
    earlier(a.waitedSince, b.waitedSince) ||
    earlier(a.heldSince, b.heldSince),
  held: (a, b) => earlier(a.heldSince, b.heldSince),
  waited: (a, b) => b.report.waiters - a.report.waiters || earlier(a.waitedSince, b.waitedSince),
  ends: (a, b) => earlier(a.expiresAt, b.expiresAt),
  name: () => 0,
};

function byName({ report: a }: Tracked, { report: b }: Tracked): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

/** An object without a time comes last. */
function earlier(a: number | null | undefined, b: number | null | undefined): number {
  return (a ?? Number.MAX_SAFE_INTEGER) - (b ?? Number.MAX_SAFE_INTEGER);
}
