import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  HolderView,
  LockDetail,
  LockEvent,
  OwnerView,
  QueuedView,
  SessionView,
} from '../../../lib/dashboard/wire';
import { adviceOf } from '../../../lib/inspection/advice';
import {
  Badge,
  clock,
  connectionOf,
  count,
  kindOf,
  LeaseBar,
  Name,
  processOf,
  span,
  useClock,
  visible,
} from './format';
import { HeldFor, valueOf } from './list';
import { ReleaseDialog } from './release';

interface DetailProps {
  readonly name: string;
  /** `undefined`: not known yet; `null`: there is nothing by that name. */
  readonly lock: LockDetail | null | undefined;
  /** `undefined`: not known yet. */
  readonly session: SessionView | undefined;
  readonly stale: boolean;
  readonly onClose: () => void;
}

/** All about one lock. */
export function Detail({ name, lock, session, stale, onClose }: DetailProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  // Who opens it with the keyboard goes on there.
  useEffect(() => heading.current?.focus(), [name]);
  return (
    <aside class={stale ? 'detail stale' : 'detail'} aria-label="Lock">
      <header>
        <h2 ref={heading} tabIndex={-1}>
          <Name text={name} />
        </h2>
        <button type="button" class="quiet close" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      {lock === undefined && (
        <p class="muted" role="status">
          Looking…
        </p>
      )}
      {lock === null && (
        <section class="verdict v-free">
          <strong>Nothing by that name</strong>
          <p>Nobody holds a lock of this name now, and nobody waits for it.</p>
        </section>
      )}
      {lock && <Body lock={lock} session={session} />}
    </aside>
  );
}

function Body({ lock, session }: { lock: LockDetail; session: SessionView | undefined }): JSX.Element {
  const now = useClock(250);
  const isLock = ['lock', 'fair', 'fenced', 'readWrite', 'group'].includes(lock.kind);
  const value = valueOf(lock);
  const { verdict } = lock;
  return (
    <>
      <section class={`verdict v-${verdict.kind}`} aria-label="Verdict">
        <Badge lock={lock} />
        <p>
          <Sentence verdict={verdict} now={now} />
        </p>
        <Advice lock={lock} runbook={session?.runbook} />
      </section>
      {lock.expiresAt !== null && (
        <section aria-label="Lease">
          <LeaseBar lock={lock} now={now} large />
        </section>
      )}
      <dl class="facts">
        <Fact label="Kind">{kindOf(lock)}</Fact>
        {lock.heldSince !== undefined && (
          <Fact label="Held for">
            <HeldFor lock={lock} now={now} /> <span class="muted">since {clock(lock.heldSince)}</span>
          </Fact>
        )}
        <Fact label="Waiters">
          {count(lock.waiters)}
          {lock.waitedSince !== undefined && <span class="muted"> for at least {span(now - lock.waitedSince)}</span>}
        </Fact>
        {value !== '' && <Fact label={lock.kind === 'countDownLatch' ? 'Latch' : 'Permits'}>{value}</Fact>}
        {lock.token !== undefined && (
          <Fact label="Fencing token">
            <code>{lock.token}</code>
          </Fact>
        )}
        {visible(lock.key) !== visible(lock.name) && (
          <Fact label="Key">
            <Name text={lock.key} />
          </Fact>
        )}
      </dl>
      {lock.circle !== undefined && <Circle circle={lock.circle} now={now} />}
      {lock.holders.length > 0 && (
        <Part title={holdersTitle(lock)} size={lock.holderCount}>
          <ul class="owners">
            {lock.holders.map((holder) => (
              <li key={holder.owner}>
                <HolderCard holder={holder} now={now} />
              </li>
            ))}
          </ul>
          <More shown={lock.holders.length} all={lock.holderCount} />
        </Part>
      )}
      {lock.waiting !== undefined && lock.waiting.length > 0 && <Waiting waiting={lock.waiting} now={now} />}
      {lock.queue !== undefined && lock.queue.length > 0 && (
        <Part title="Queue, in order" size={lock.waiters}>
          <ol class="owners queue">
            {lock.queue.map((waiter, i) => (
              <li key={waiter.owner}>
                <QueuedCard waiter={waiter} place={i + 1} now={now} />
              </li>
            ))}
          </ol>
          <More shown={lock.queue.length} all={lock.waiters} />
        </Part>
      )}
      {lock.permits !== undefined && lock.permits.length > 0 && (
        <Part title="Permits that are out" size={lock.acquired ?? lock.permits.length}>
          <ul class="permits">
            {lock.permits.map(({ id, endsAt }) => (
              <li key={id}>
                <code>{id}</code> <span class="number">{endsAt === null ? 'no lease' : span(endsAt - now)}</span>
              </li>
            ))}
          </ul>
          <More shown={lock.permits.length} all={lock.acquired ?? lock.permits.length} />
        </Part>
      )}
      <Part title="Events" size={lock.events.length}>
        {lock.events.length === 0 ? (
          <p class="muted">Nothing has happened to it since this page looks.</p>
        ) : (
          <Events events={lock.events} />
        )}
      </Part>
      {isLock && lock.holders.length > 0 && <Release lock={lock} session={session} />}
    </>
  );
}

/** What to do, and where more of it is. */
function Advice({ lock, runbook }: { lock: LockDetail; runbook: string | undefined }): JSX.Element | null {
  const { kind } = lock.verdict;
  const advice = adviceOf(kind, lock.waiters > 0);
  if (advice === '') return null;
  return (
    <p>
      {advice}{' '}
      {runbook !== undefined && (
        <a href={`${runbook}#${kind}`} target="_blank" rel="noreferrer">
          What to do
        </a>
      )}
    </p>
  );
}

/** The sentence says when it ends as it was when it was seen: here that counts on. */
function Sentence({
  verdict: { sentence, endsAt },
  now,
}: {
  verdict: LockDetail['verdict'];
  now: number;
}): JSX.Element {
  const [before, after] = sentence.split(/ in [\d.]+ s, at \S+Z/);
  if (endsAt === undefined || before === undefined || after === undefined) return <>{sentence}</>;
  return (
    <>
      {before} <b class="ends-at">in {span(endsAt - now)}</b>, at {clock(endsAt)}
      {after}
    </>
  );
}

function holdersTitle({ kind, mode, holderCount }: LockDetail): string {
  if (kind === 'readWrite') return mode === 'read' ? 'Readers' : 'Writer';
  return holderCount === 1 ? 'Holder' : 'Holders';
}

function Part({ title, size, children }: { title: string; size: number; children: ComponentChildren }): JSX.Element {
  return (
    <section class="part">
      <h3>
        {title} {size > 1 && <span class="size">{count(size)}</span>}
      </h3>
      {children}
    </section>
  );
}

function Fact({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function More({ shown, all }: { shown: number; all: number }): JSX.Element | null {
  return all > shown ? <p class="muted">and {count(all - shown)} more; ioredisson inspect shows all</p> : null;
}

const UNKNOWN = {
  denied: 'Whether it is connected is not known: this user of Redis may not ask for CLIENT LIST.',
  java: 'Probably a Java client: its connections do not tell which they are.',
  unnamed: 'Whether it is connected is not known: some connections have no name.',
  'other-names': 'Whether it is connected is not known: some connections have names of their own.',
  ambiguous: 'Several processes claim this client id.',
  'just-changed': 'It has only just changed: looking again.',
  detached: 'It was detached: no process has it until somebody attaches its ticket.',
  foreign: 'This is no owner as Redisson writes them.',
} as const;

function Process({ owner, now }: { owner: OwnerView; now: number }): JSX.Element {
  const { process } = owner;
  const state = connectionOf(owner);
  return (
    <>
      <p class="process-line">
        <span class={`dot ${state}`} aria-hidden="true" />
        <b class="process">{processOf(owner)}</b>
        <span class={`connection ${state}`}>
          {state === 'connected' &&
            (process.connectedSince === undefined
              ? 'connected'
              : `connected for ${span(now - process.connectedSince)}`)}
          {state === 'gone' && 'not connected'}
          {state === 'unknown' && 'connection unknown'}
        </span>
      </p>
      {process.connected === 'unknown' && process.unknownBecause !== undefined && (
        <p class="muted why">{UNKNOWN[process.unknownBecause]}</p>
      )}
      <p class="owner">
        {process.address !== undefined && <span class="address">{process.address}</span>}
        <code>{visible(owner.owner)}</code>
      </p>
    </>
  );
}

function HolderCard({ holder, now }: { holder: HolderView; now: number }): JSX.Element {
  return (
    <>
      <Process owner={holder} now={now} />
      <p class="muted">
        {holder.mode === 'write' ? 'writes, ' : ''}
        {holder.mode === 'read' ? 'reads, ' : ''}
        {holder.holdCount === 1 ? '1 hold' : `${count(holder.holdCount)} holds`}
        {holder.endsAt?.map((at, i) => (
          <span key={i}>{at === null ? ', no expiry' : `, lease ends in ${span(at - now)}`}</span>
        ))}
        {holder.hold !== undefined && `, ${heldText(holder.hold)}`}
      </p>
      {holder.hold?.callSite !== undefined && (
        <p class="call-site">
          taken at <code>{visible(holder.hold.callSite)}</code>
        </p>
      )}
      {holder.silent && (
        <p class="silent">Has not answered within a second: it is frozen, or its event loop is busy.</p>
      )}
    </>
  );
}

/** What its client says: how the hold is kept alive, and whether the process can be asked in time. */
function heldText({ leaseMs, renewals, delayMs }: NonNullable<HolderView['hold']>): string {
  const kept =
    leaseMs === -1 ? `renewed ${count(renewals)} ${renewals === 1 ? 'time' : 'times'}` : `lease of ${span(leaseMs)}`;
  return `${kept}, event loop ${delayMs < 50 ? 'on time' : `${span(delayMs)} late`}`;
}

function Waiting({ waiting, now }: { waiting: NonNullable<LockDetail['waiting']>; now: number }): JSX.Element {
  return (
    <Part title="Who waits" size={waiting.length}>
      <ul class="owners">
        {waiting.map(({ clientId, host, pid, callers, since, callSite }) => (
          <li key={`${clientId} ${since}`}>
            <p class="process-line">
              <b class="process">
                {visible(host)} · {pid}
              </b>
              <span>
                {callers === 1 ? '1 caller' : `${count(callers)} callers`}, for {span(now - since)}
              </span>
            </p>
            {callSite !== undefined && (
              <p class="call-site">
                at <code>{visible(callSite)}</code>
              </p>
            )}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Circle({ circle, now }: { circle: NonNullable<LockDetail['circle']>; now: number }): JSX.Element {
  return (
    <Part title="Dead-lock" size={0}>
      <ol class="owners circle">
        {circle.map(({ name, owner, host, pid, waitsFor, since, callSite }) => (
          <li key={owner}>
            <p class="process-line">
              <b class="process">
                {visible(host)} · {pid}
              </b>
              <span>
                has <Name text={name} />, and has waited {span(now - since)} for <Name text={waitsFor} />
              </span>
            </p>
            {callSite !== undefined && (
              <p class="call-site">
                at <code>{visible(callSite)}</code>
              </p>
            )}
          </li>
        ))}
      </ol>
    </Part>
  );
}

function QueuedCard({ waiter, place, now }: { waiter: QueuedView; place: number; now: number }): JSX.Element {
  const kept = waiter.keptUntil;
  return (
    <div class="place">
      <span class="nth">{place}</span>
      <div>
        <Process owner={waiter} now={now} />
        <p class="muted">
          {waiter.listening ? 'listens for the release' : 'does not listen: it may have gone'}
          {kept !== null && (kept > now ? `, place kept for ${span(kept - now)}` : ', place is over')}
        </p>
      </div>
    </div>
  );
}

/** The times in texts of the server; the page has those of the reader. */
const UTC = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

function Events({ events }: { events: readonly LockEvent[] }): JSX.Element {
  const sources = { process: 'this process', seen: 'seen', page: 'from a page' } as const;
  return (
    <ol class="events">
      {events.map(({ at, source, level, text, owner }, i) => (
        <li key={`${at} ${events.length - i}`} class={level}>
          <time dateTime={new Date(at).toISOString()}>{clock(at)}</time>
          <span class="text">
            {visible(text).replace(UTC, (utc) => clock(Date.parse(utc)))}
            {owner !== undefined && <code> {visible(shortOwner(owner))}</code>}
          </span>
          <span class="source">{sources[source]}</span>
        </li>
      ))}
    </ol>
  );
}

/** The beginning of the client id tells clients apart well enough. */
function shortOwner(owner: string): string {
  return owner.replace(/^([0-9a-f]{8})-[0-9a-f-]{27}/, '$1…');
}

function Release({ lock, session }: { lock: LockDetail; session: SessionView | undefined }): JSX.Element {
  const [isOpen, open] = useState(false);
  const isPartial = lock.holderCount > lock.holders.length;
  if (session?.readOnly !== false || isPartial) {
    const url = session?.target.url;
    const where = url === undefined ? '--config <redisson.yaml>' : `--url ${quoted(url)}`;
    return (
      <Part title="Release it" size={0}>
        <p class="warning">
          Only where its holder is gone: it is not asked. If it is alive, it goes on, and two are inside at once.
        </p>
        <p class="muted">
          {isPartial ? 'It has more holders than are shown.' : 'This page is read-only.'} From a shell, with the
          password of this user where it has one:
        </p>
        <pre class="command" tabIndex={0} aria-label="Command">
          {`ioredisson unlock --force ${where} ${quoted(lock.name)}`}
        </pre>
      </Part>
    );
  }
  return (
    <Part title="Release it" size={0}>
      <button type="button" class="danger" onClick={() => open(true)}>
        Release by force…
      </button>
      {isOpen && <ReleaseDialog lock={lock} onClose={() => open(false)} />}
    </Part>
  );
}

/** For a shell. */
function quoted(name: string): string {
  if (/^[\w@%+=:,./-]+$/.test(name) && !name.startsWith('-')) return name;
  return visible(name) === name ? `${name.startsWith('-') ? '-- ' : ''}'${name.replace(/'/g, `'\\''`)}'` : '<name>';
}
