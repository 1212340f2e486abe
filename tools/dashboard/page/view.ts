import { useEffect, useState } from 'preact/hooks';
import { KIND_NAMES } from '../../../lib/operators/inspection/kindNames';

/** What the page shows. It is stored in the address after #, so users can share it, and it goes to no server. */
export interface View {
  readonly search: string;
  readonly state: string;
  readonly kind: string;
  readonly sort: string;
  readonly page: number;
  /** The lock that is shown in full. */
  readonly lock: string | undefined;
}

const DEFAULTS: View = { search: '', state: 'all', kind: '', sort: 'trouble', page: 0, lock: undefined };

export const STATES = ['all', 'trouble', 'waited', 'held', 'free'] as const;
export const SORTS = {
  trouble: 'Trouble first',
  held: 'Longest held',
  waited: 'Most waited for',
  ends: 'Ends first',
  name: 'Name',
} as const;
function read(): View {
  const params = new URLSearchParams(location.hash.slice(1));
  const known = (name: string, values: readonly string[], fallback: string): string => {
    const value = params.get(name) ?? fallback;
    return values.includes(value) ? value : fallback;
  };
  const page = Number(params.get('page') ?? 1) - 1;
  return {
    search: params.get('q') ?? '',
    state: known('state', STATES, DEFAULTS.state),
    kind: known('kind', Object.keys(KIND_NAMES), ''),
    sort: known('sort', Object.keys(SORTS), DEFAULTS.sort),
    page: Number.isSafeInteger(page) && page > 0 ? page : 0,
    lock: params.get('lock') || undefined,
  };
}

/** The address of a view. */
export function hashOf({ search, state, kind, sort, page, lock }: View): string {
  const params = new URLSearchParams();
  if (search !== '') params.set('q', search);
  if (state !== DEFAULTS.state) params.set('state', state);
  if (kind !== '') params.set('kind', kind);
  if (sort !== DEFAULTS.sort) params.set('sort', sort);
  if (page > 0) params.set('page', String(page + 1));
  if (lock !== undefined) params.set('lock', lock);
  return `#${params.toString()}`;
}

/** The view in the address, and a function that changes it. Back undoes opening a lock. */
export function useView(): [View, (change: Partial<View>) => void] {
  const [view, setView] = useState(read);
  useEffect(() => {
    const onChange = (): void => setView(read());
    addEventListener('hashchange', onChange);
    addEventListener('popstate', onChange);
    return () => {
      removeEventListener('hashchange', onChange);
      removeEventListener('popstate', onChange);
    };
  }, []);
  const change = (part: Partial<View>): void => {
    const next = { ...read(), ...part };
    if ('lock' in part) history.pushState(null, '', hashOf(next));
    else history.replaceState(null, '', hashOf(next));
    setView(next);
  };
  return [view, change];
}
