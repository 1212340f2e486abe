import { type JSX, render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Counts, SessionView, TargetView } from '../../../lib/operators/dashboard/wire';
import { lossText } from '../../../lib/operators/inspection/advice';
import { KIND_NAMES } from '../../../lib/operators/inspection/kindNames';
import { Detail } from './detail';
import { clock, count, span, useClock, visible } from './format';
import { List } from './list';
import { BASE, type Live, LiveStream, NOTHING, PAGE, paramsOf } from './live';
import { SORTS, STATES, useView, type View } from './view';

const STATE_NAMES = { all: 'All', held: 'Held', waited: 'Waited for', trouble: 'Trouble', free: 'Free' } as const;

function App(): JSX.Element {
  const [view, change] = useView();
  const [live, setLive] = useState<Live>(NOTHING);
  const [session, setSession] = useState<SessionView | undefined>(undefined);
  const params = paramsOf(view);
  useEffect(() => {
    const stream = new LiveStream(params, view.lock, setLive);
    return () => stream.close();
  }, [params, view.lock]);
  useEffect(() => void readSession().then((read) => read && setSession(read)), []);
  useKeys(view, change);
  const trouble = live.head?.counts.trouble ?? 0;
  const label = session?.target.label ?? 'ioredisson';
  useEffect(() => {
    document.title = `${trouble > 0 ? `(${trouble}) ` : ''}Locks · ${label}`;
  }, [trouble, label]);
  const stale =
    live.connection !== 'live' || !(live.health === undefined || ['ok', 'slow', 'refused'].includes(live.health.state));
  const lock = live.lock?.name === view.lock ? live.lock?.lock : undefined;
  return (
    <div class={view.lock === undefined ? 'app' : 'app open'}>
      <Header live={live} target={session?.target} />
      <div role="status" class="banner-place">
        <Trouble live={live} runbook={session?.runbook} />
      </div>
      <div class="body">
        <main>
          <Filters view={view} change={change} live={live} />
          {live.connection === 'refused' ? null : <Content live={live} view={view} change={change} stale={stale} />}
        </main>
        {view.lock !== undefined && (
          <Detail
            key={view.lock}
            name={view.lock}
            lock={lock}
            session={session}
            stale={stale}
            trouble={<Trouble live={live} runbook={session?.runbook} />}
            onClose={() => closeDetail(view, change)}
          />
        )}
      </div>
    </div>
  );
}

async function readSession(): Promise<SessionView | undefined> {
  try {
    const response = await fetch(`${BASE}api/session`);
    return response.ok ? ((await response.json()) as SessionView) : undefined;
  } catch {
    return undefined;
  }
}

function closeDetail(view: View, change: (part: Partial<View>) => void): void {
  const { lock } = view;
  change({ lock: undefined });
  // Keyboard users who came from the list continue there.
  requestAnimationFrame(() => {
    const rows = [...document.querySelectorAll<HTMLAnchorElement>('a.row')];
    rows.find((row) => new URLSearchParams(row.hash.slice(1)).get('lock') === lock)?.focus();
  });
}

/** `/` searches, arrows (or j and k) move through the list, Escape closes what is open. */
function useKeys(view: View, change: (part: Partial<View>) => void): void {
  const latest = useRef({ view, change });
  latest.current = { view, change };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
      const { target } = event;
      const isTyping = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
      if (event.key === 'Escape' && isTyping) return target.blur();
      if (event.key === 'Escape' && latest.current.view.lock !== undefined) {
        return closeDetail(latest.current.view, latest.current.change);
      }
      // From the search, the arrows lead into what it has found; in a list of choices they choose.
      const isSearching = target instanceof HTMLInputElement && target.id === 'search';
      if (isSearching && event.key === 'ArrowDown') return walk(event, 1);
      if (isTyping) return;
      if (event.key === '/') {
        event.preventDefault();
        document.querySelector<HTMLInputElement>('#search')?.focus();
      }
      const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
      if (step !== undefined && !(target instanceof Element && target.closest('.detail'))) walk(event, step);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

function walk(event: KeyboardEvent, step: number): void {
  const rows = [...document.querySelectorAll<HTMLAnchorElement>('a.row')];
  const at = rows.findIndex((row) => row === document.activeElement);
  const next = rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

function Header({ live: { health, connection }, target }: { live: Live; target: TargetView | undefined }): JSX.Element {
  const state =
    connection === 'live' ? (health?.state ?? 'connecting') : connection === 'loading' ? 'connecting' : 'down';
  const texts = {
    ok:
      health?.pingMs === undefined
        ? 'Redis answers'
        : `Redis answers in ${health.pingMs < 10 ? health.pingMs : Math.round(health.pingMs)} ms`,
    connecting: 'Connecting',
    down: connection === 'live' ? 'Redis is down' : 'Page is offline',
    silent: 'Redis does not answer',
    slow: 'Redis is slow',
    denied: 'Redis denies access',
    refused: 'Redis refuses locks',
    error: 'Redis refuses',
    closed: 'Client is shut down',
  } as const;
  return (
    <header class={target?.color === undefined ? 'top' : `top c-${target.color}`}>
      <h1>
        <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
          <path
            d="M4.5 7V5a3.5 3.5 0 0 1 7 0v2"
            fill="none"
            stroke="currentColor"
            stroke-width="1.6"
            stroke-linecap="round"
          />
          <rect x="2.75" y="7" width="10.5" height="7.25" rx="1.75" fill="currentColor" />
        </svg>
        ioredisson <span class="muted">locks</span>
        {target?.label !== undefined && <span class="environment">{visible(target.label)}</span>}
      </h1>
      {target !== undefined && (
        <p class="target">
          <code>{visible(target.server)}</code>
          <span>
            database <b>{target.database}</b>
            {target.user !== '' && (
              <>
                , user <b>{visible(target.user)}</b>
              </>
            )}
          </span>
        </p>
      )}
      <p class={`health ${state}`}>
        <span class="pulse" aria-hidden="true" />
        {texts[state]}
      </p>
    </header>
  );
}

/** Problems of Redis or of this page. */
function Trouble({ live, runbook }: { live: Live; runbook: string | undefined }): JSX.Element {
  const { connection, connectionNote, health, head } = live;
  const now = useClock(1_000);
  const isLost = connection === 'lost' || connection === 'refused';
  const isBad = connection === 'live' && health !== undefined && !['ok', 'connecting'].includes(health.state);
  const message = isLost ? connectionNote : isBad ? health.message : '';
  return (
    <>
      {message !== '' && (
        <div class={isBad && health.state === 'slow' ? 'banner slow' : 'banner'}>
          <p>
            <strong>{message}</strong>
          </p>
          {isBad && <p aria-live="off">For {span(now - health.since)}.</p>}
          {health?.state !== 'refused' && head !== undefined && head.counts.all > 0 && (
            <p>What is shown was true at {clock(head.now)}.</p>
          )}
          {isBad && <WhatToDo runbook={runbook} section="redis-does-not-answer-or-refuses" />}
        </div>
      )}
      {health?.lost !== undefined && (
        <div class={health.lost.certain ? 'banner' : 'banner slow'}>
          <p>
            <strong>
              {clock(health.lost.at)}: {lossText(health.lost, visible)}
            </strong>
          </p>
          <WhatToDo runbook={runbook} section="a-lock-was-lost" />
        </div>
      )}
      {head?.truncated === true && (
        <div class="banner slow">
          <p>There are more locks than are watched: the first {count(head.counts.all)} are shown.</p>
        </div>
      )}
    </>
  );
}

function WhatToDo({ runbook, section }: { runbook: string | undefined; section: string }): JSX.Element | null {
  if (runbook === undefined) return null;
  return (
    <p>
      <a href={`${runbook}#${section}`} target="_blank" rel="noreferrer">
        What to do
      </a>
    </p>
  );
}

function Filters({
  view,
  change,
  live,
}: {
  view: View;
  change: (part: Partial<View>) => void;
  live: Live;
}): JSX.Element {
  const counts = live.head?.counts;
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <input
        id="search"
        type="search"
        value={view.search}
        onInput={(event) => change({ search: event.currentTarget.value, page: 0 })}
        placeholder="Search names, hosts, owners"
        aria-label="Search names, hosts, owners"
        aria-keyshortcuts="/"
        maxLength={200}
        autocomplete="off"
        spellcheck={false}
      />
      <div class="chips" role="group" aria-label="Show">
        {STATES.map((state) => (
          <button
            type="button"
            key={state}
            class={state === 'trouble' && (counts?.trouble ?? 0) > 0 ? 'chip bad' : 'chip'}
            aria-pressed={view.state === state}
            onClick={() => change({ state, page: 0 })}
          >
            {STATE_NAMES[state]} <span class="size">{counts === undefined ? '–' : count(counts[state])}</span>
          </button>
        ))}
      </div>
      <div class="selects">
        <select
          aria-label="Kind"
          value={view.kind}
          onChange={(event) => change({ kind: event.currentTarget.value, page: 0 })}
        >
          <option value="">Every kind</option>
          {Object.entries(KIND_NAMES).map(([kind, text]) => (
            <option key={kind} value={kind}>
              {text[0]!.toUpperCase() + text.slice(1)}
            </option>
          ))}
        </select>
        <select
          aria-label="Order"
          value={view.sort}
          onChange={(event) => change({ sort: event.currentTarget.value, page: 0 })}
        >
          {Object.entries(SORTS).map(([sort, text]) => (
            <option key={sort} value={sort}>
              {text}
            </option>
          ))}
        </select>
      </div>
    </form>
  );
}

interface ContentProps {
  readonly live: Live;
  readonly view: View;
  readonly change: (part: Partial<View>) => void;
  readonly stale: boolean;
}

function Content({ live, view, change, stale }: ContentProps): JSX.Element {
  const { head, rows } = live;
  if (head === undefined || (rows.length === 0 && !head.complete && live.health?.state !== 'ok')) {
    const isTrying = live.connection !== 'lost' && ['ok', 'connecting', undefined].includes(live.health?.state);
    return isTrying ? <Loading /> : <></>;
  }
  if (rows.length === 0 && !head.complete) return <Loading />;
  if (rows.length === 0) return <Empty view={view} change={change} counts={head.counts} />;
  const first = view.page * PAGE + 1;
  const pages = Math.max(1, Math.ceil(head.matched / PAGE));
  return (
    <>
      <List rows={rows} view={view} stale={stale} />
      <nav class="pages" aria-label="Pages">
        <p class="muted">
          {count(first)}–{count(first + rows.length - 1)} of {count(head.matched)}
          {!head.complete && ', still looking'}
        </p>
        {pages > 1 && (
          <p>
            <button type="button" disabled={view.page === 0} onClick={() => change({ page: view.page - 1 })}>
              Previous
            </button>
            <button type="button" disabled={view.page >= pages - 1} onClick={() => change({ page: view.page + 1 })}>
              Next
            </button>
          </p>
        )}
      </nav>
    </>
  );
}

function Loading(): JSX.Element {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Looking at the locks in Redis…</span>
      {[0, 1, 2, 3, 4, 5].map((i) => (
        <span key={i} class="ghost" aria-hidden="true" />
      ))}
    </div>
  );
}

interface EmptyProps {
  readonly view: View;
  readonly change: (part: Partial<View>) => void;
  readonly counts: Counts;
}

function Empty({ view, change, counts }: EmptyProps): JSX.Element {
  const { all, trouble } = counts;
  const isFiltered = view.search !== '' || view.state !== 'all' || view.kind !== '' || view.page > 0;
  const isSearched = view.search !== '' || view.kind !== '';
  if (all === 0 || !isFiltered) {
    return (
      <div class="empty">
        <p class="large">No locks</p>
        <p>Nobody holds a lock or waits for one. A semaphore or latch is shown while somebody waits for it.</p>
      </div>
    );
  }
  // The count covers all locks, not only those that match the search.
  const isCalm = view.state === 'trouble' && trouble === 0 && !isSearched;
  return (
    <div class="empty">
      <p class="large">{isCalm ? 'No trouble' : 'Nothing matches'}</p>
      <p>
        {all === 1 ? 'The only lock does not match' : `None of the ${count(all)} locks matches`}.
        {trouble > 0 && ` ${count(trouble)} of them ${trouble === 1 ? 'is' : 'are'} in trouble.`}{' '}
        <button type="button" onClick={() => change({ search: '', state: 'all', kind: '', page: 0 })}>
          Show all
        </button>
      </p>
    </div>
  );
}

render(<App />, document.querySelector('#app')!);
