import type { JSX } from 'preact';
import type { LockRow } from '../../../lib/operators/dashboard/wire';
import { Badge, connectionOf, count, kindOf, LeaseBar, Name, processOf, span, useClock } from './format';
import { hashOf, type View } from './view';

interface ListProps {
  readonly rows: readonly LockRow[];
  readonly view: View;
  readonly stale: boolean;
}

/** The locks. Each is a link: users can reach it by keyboard, open it in a new tab, and share it. */
export function List({ rows, view, stale }: ListProps): JSX.Element {
  const now = useClock(500);
  return (
    <div class={stale ? 'list stale' : 'list'}>
      <div class="columns" aria-hidden="true">
        <span>Lock</span>
        <span>State</span>
        <span>Holder</span>
        <span class="number">Held for</span>
        <span>Lease</span>
        <span class="number">Waiters</span>
      </div>
      <ol aria-label="Locks">
        {rows.map((lock) => (
          <li key={lock.name}>
            <Row lock={lock} now={now} view={view} />
          </li>
        ))}
      </ol>
    </div>
  );
}

function Row({ lock, now, view }: { lock: LockRow; now: number; view: View }): JSX.Element {
  const isOpen = view.lock === lock.name;
  return (
    <a class="row" href={hashOf({ ...view, lock: lock.name })} aria-current={isOpen ? 'true' : undefined}>
      <span class="what">
        <Name text={lock.name} />
        <span class="kind">{kindOf(lock)}</span>
      </span>
      <span class="state">
        <Badge lock={lock} now={now} />
      </span>
      <span class="holder">
        <Holder lock={lock} />
      </span>
      <span class="held number">
        {lock.heldSince !== undefined && (
          <>
            <span class="label">Held for </span>
            <HeldFor lock={lock} now={now} />
          </>
        )}
      </span>
      <span class="ends">
        {lock.expiresAt !== null && <span class="label">Lease left </span>}
        <LeaseBar lock={lock} now={now} />
      </span>
      <span class={lock.waiters > 0 ? 'waiters number some' : 'waiters number'}>
        <span class="label">Waiters </span>
        {lock.waiters > 0 ? count(lock.waiters) : <span class="zero">0</span>}
        {lock.waitedSince !== undefined && (
          <span class="since" title={lock.exactWait ? undefined : 'At least: since a waiter was first seen'}>
            {' '}
            for {!lock.exactWait && <>≥&thinsp;</>}
            {span(now - lock.waitedSince)}
          </span>
        )}
      </span>
    </a>
  );
}

export function HeldFor({ lock, now }: { lock: LockRow; now: number }): JSX.Element {
  const text = span(now - (lock.heldSince ?? now));
  // Redis does not store when a lock was taken.
  if (lock.exact) return <>{text}</>;
  return (
    <span title="At least: since it was first seen held">
      <span class="least">≥</span>&thinsp;{text}
    </span>
  );
}

function Holder({ lock }: { lock: LockRow }): JSX.Element {
  const [first] = lock.holders;
  if (first === undefined) return <span class="muted">{valueOf(lock)}</span>;
  const state = connectionOf(first);
  const more = lock.holderCount - 1;
  return (
    <>
      <span class={`dot ${state}`} aria-hidden="true" />
      <span class="process">{processOf(first)}</span>
      {more > 0 && <span class="more"> +{count(more)}</span>}
      {state !== 'connected' && state !== 'silent' && <span class="label-inline"> {state}</span>}
    </>
  );
}

/** What a synchronizer shows in place of a holder. */
export function valueOf({ kind, value, acquired }: LockRow): string {
  if (value === undefined) return '';
  if (kind === 'countDownLatch') return `count ${value}`;
  if (kind === 'semaphore') return `${value} free`;
  if (kind === 'permitExpirableSemaphore') return `${value} free, ${acquired ?? 0} out`;
  return String(value);
}
